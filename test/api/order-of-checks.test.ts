/**
 * The order of the checks (docs/interface.md#order-of-checks): each request has the fault of its line and every fault
 * below it that it can have at the same time, so the answer proves that the line's check comes before all of those.
 */
import { expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import type { Call, CommandRoute } from "../../src/http/route.ts";
import { textAnswer } from "../../src/http/server/answer.ts";
import { fieldCheck } from "../../src/http/server/fields.ts";
import { BODY_BYTES_MAX } from "../../src/limits.ts";
import { admitCallers, as, OTHER_HOST } from "../fixtures/http/callers.ts";
import { expectError, JSON_TYPE, TestServer } from "../fixtures/http/http.ts";
import { RouteServer } from "../fixtures/http/route-server.ts";

const J = "application/json";
const TOO_LARGE = "x".repeat(BODY_BYTES_MAX + 1);
/** A route with everything that a route can ask for. */
const REPORT: CommandRoute<{ version: string }> = {
  ...{
    name: "report",
    method: "POST",
    path: "/nodes/:name/report",
    access: "agent_or_unscoped_operator",
    node: "path",
  },
  checkPath: ({ params }: Call) => (params["name"] === "fra1" ? null : { kind: "no_active_ban", target: "a name" }),
  body: fieldCheck(Type.Object({ version: Type.String() }, { additionalProperties: false })),
  handle: (_, { version }) => textAnswer(200, `stored ${version}`),
};
const TOKENS = [
  { name: "viewer", role: "viewer", tenant: "acme" },
  { name: "tenant", role: "operator", tenant: "acme" },
  { name: "bound", role: "agent", node: "ams1" },
  { name: "agent", role: "agent" },
] as const;

// By check: name in the path, caller, readiness, media type and body, and the answer.
test.each<[string, string, string, boolean, string, string, number, string]>([
  ["path", "x/reports?", "", false, "", TOO_LARGE, 404, "not found"],
  ["token", "%ff", "absent", false, "", TOO_LARGE, 401, "missing or invalid bearer token"],
  ["role", "%ff", "viewer", false, "", TOO_LARGE, 403, "this token's role may not perform this action"],
  ["tenant of the token", "%ff", "tenant", false, "", TOO_LARGE, 403, "restricted to unscoped tokens"],
  ["node binding", "%ff", "bound", false, "", TOO_LARGE, 403, "this token is bound to another node"],
  ["readiness", "%ff", "agent", false, "", TOO_LARGE, 503, "the service is starting"],
  ["media type", "%ff", "agent", true, "", TOO_LARGE, 415, "Content-Type must be application/json"],
  ["spelling of the path", "%ff", "agent", true, J, TOO_LARGE, 400, "invalid URL: an escape is broken or not UTF-8"],
  ["name in the path", "x", "agent", true, J, TOO_LARGE, 404, "no active ban for a name"],
  ["size", "fra1", "agent", true, J, TOO_LARGE, 413, "request body exceeds 64 KiB"],
  ["JSON", "fra1", "agent", true, J, '{"version":', 400, "invalid JSON body: "],
  ["fields", "fra1", "agent", true, J, '{"version":7}', 400, "invalid JSON body: version must be a string"],
  ["no fault", "fra1", "agent", true, J, '{"version":"1"}', 200, "stored 1"],
])("a node's command is checked in order: %s #order-of-the-checks", async (...row) => {
  const [, name, caller, isReady, type, body, status, expected] = row;
  const server = new RouteServer([REPORT]);
  try {
    server.admit(...TOKENS);
    server.isReady = isReady;
    const answer = await server.ask(`/nodes/${name}/report`, { as: caller, type, body });
    const text = await answer.text();
    expect([answer.status, status === 200 ? text : (JSON.parse(text) as { error: string }).error]).toEqual([
      status,
      expect.stringMatching(new RegExp(`^${expected}`)),
    ]);
  } finally {
    await server.stop();
  }
});

test.each([
  ["fields before the target's tenant", { ip: OTHER_HOST, ttl: 5 }, 400, 'invalid JSON body: unknown field "ttl"'],
  ["the address before its tenant", { ip: "192.0.2.0129" }, 400, "invalid ip: 192.0.2.0129"],
  ["the target's tenant before the state", { ip: OTHER_HOST }, 403, "target is outside your tenant"],
  ["the state last", { ip: "192.0.2.2" }, 404, "no active ban for 192.0.2.2"],
])("a command on a target is checked in order: %s #order-of-the-checks", async (_, body, status, error) => {
  const server = TestServer.started();
  try {
    admitCallers(server);
    const headers = { ...as("tenantOperator"), ...JSON_TYPE };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    await expectError(fetch(`${server.base}/api/v1/unban`, init), status, error);
    expect(server.backend.calls.length).toBe(status === 404 ? 1 : 0);
  } finally {
    await server.http.stop();
  }
});
