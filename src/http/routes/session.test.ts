import { afterEach, beforeEach, expect, test } from "bun:test";
import { admitCallers, as, type Caller } from "../../../test/fixtures/http/callers.ts";
import { TestServer } from "../../../test/fixtures/http/http.ts";

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
});
afterEach(() => server.http.stop());

test("on an open API everyone is an operator without a name #get-api-v1-session", async () => {
  const answer = await server.get("/api/v1/session");
  expect(await answer.json()).toEqual({ open: true, role: "operator", unscoped: true });
});

test.each([
  ["viewer", { open: false, role: "viewer", unscoped: true, name: "viewer" }],
  ["tenantOperator", { open: false, role: "operator", unscoped: false, name: "acme-operator", tenant: "acme" }],
] as const)("%s gets its identity", async (caller: Caller, identity) => {
  admitCallers(server);
  const answer = await fetch(`${server.base}/api/v1/session`, { headers: as(caller) });
  expect(await answer.json()).toEqual(identity);
});
