/** Texts of callers and nodes that would mislead their readers. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { leverCheck } from "../../src/http/wire/edge/lever.ts";
import { expectError, JSON_TYPE, TestServer } from "../fixtures/http/http.ts";

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
});
afterEach(() => server.http.stop());

const BLOCK = { source: "198.51.100.9", victim: "192.0.2.1", ttl_seconds: 60 };
const send = (method: string, path: string, body: object) =>
  fetch(server.base + path, { method, headers: JSON_TYPE, body: JSON.stringify(body) });

test.each([
  ["POST", "/api/v1/dataplane/sources", { ...BLOCK, reason: "\u202eok" }, "reason"],
  ["POST", "/api/v1/dataplane/sources/unblock", { ...BLOCK, reason: "a\nb" }, "reason"],
  ["POST", "/api/v1/ban", { ip: "192.0.2.1", reason: "a\u009bb" }, "reason"],
  ["POST", "/api/v1/unban", { ip: "192.0.2.1", reason: "\u2028" }, "reason"],
  ["PUT", "/api/v1/protection/192.0.2.1", { profile: "web", note: "\u2066x" }, "note"],
  ["POST", "/api/v1/filter-rules", { name: "r", action: "drop", ttl_seconds: 60, reason: "\u001b[31m" }, "reason"],
] as const)(
  "%s %s with a control character or one that turns the direction of writing is refused #plain-text",
  async (...one) => {
    const [method, path, body, field] = one;
    const detail = `${field} has control characters, or ones that turn the direction of writing`;
    await expectError(send(method, path, body), 400, `invalid JSON body: ${detail}`);
  },
);

test.each([[{ mode: "manual", ttl_seconds: 60, reason: "\u202eok" }], [{ mode: "off", reason: "a\nb" }]])(
  "a lever's reason with such characters is refused: %j #plain-text",
  (body) => {
    const detail = "reason has control characters, or ones that turn the direction of writing";
    expect(leverCheck.check(body, JSON.stringify(body))).toEqual({ kind: "invalid_body", detail });
    expect(leverCheck.check({ ...body, reason: "a word" }, "")).toMatchObject({ kind: "fields" });
  },
);
