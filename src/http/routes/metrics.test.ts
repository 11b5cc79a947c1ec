import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { admitCallers, as, bearer, type Caller } from "../../../test/fixtures/http/callers.ts";
import { TestServer } from "../../../test/fixtures/http/http.ts";

let server: TestServer;
beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
});
afterEach(() => server.http.stop());

const statusFor = async (headers: Readonly<Record<string, string>>, method = "GET") =>
  (await fetch(`${server.base}/metrics`, { headers, method })).status;

describe("by configuration, from one request to the next", () => {
  beforeEach(() => {
    server.metricsToken = true;
  });

  test("are refused without a token and with a wrong one", async () => {
    expect(await statusFor({})).toBe(401);
    expect(await statusFor({}, "HEAD")).toBe(401);
    expect(await statusFor(bearer("wrong"))).toBe(401);
    server.metricsToken = false;
    expect(await statusFor({})).toBe(200);
  });

  test.each([
    ["viewer", 200],
    ["operator", 200],
    ["agent", 403],
    ["tenantViewer", 403],
    ["tenantOperator", 403],
  ] as const)("%s gets %d", async (caller: Caller, status: number) => {
    expect(await statusFor(as(caller))).toBe(status);
  });

  test("are open while the API has no tokens", async () => {
    server.tokens = [];
    expect(await statusFor({})).toBe(200);
  });
});
