/**
 * The order of the checks (docs/interface.md#order-of-checks): each request has the fault of its line and every fault
 * below it that it can have at the same time, so the answer proves that the line's check comes before all of those.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import type { Call, CommandRoute } from "../../src/http/route.ts";
import { textAnswer } from "../../src/http/server/answer.ts";
import { fieldCheck } from "../../src/http/server/fields.ts";
import { BODY_BYTES_MAX } from "../../src/limits.ts";
import { RouteServer } from "../fixtures/bgp/route-server.ts";
import { admitCallers, as, OTHER_HOST } from "../fixtures/http/callers.ts";
import { TestServer } from "../fixtures/http/http.ts";

const TOO_LARGE = "x".repeat(BODY_BYTES_MAX + 1);

/** A route with everything that a route can ask for. */
function report(reached: string[]): CommandRoute<{ version: string }> {
  return {
    name: "report",
    method: "POST",
    path: "/nodes/:name/report",
    access: "agent_or_unscoped_operator",
    node: "path",
    checkPath: ({ params }: Call) => (params["name"] === "fra1" ? null : { kind: "no_active_ban", target: "a name" }),
    body: fieldCheck(Type.Object({ version: Type.String() }, { additionalProperties: false })),
    handle: (_, { version }) => {
      reached.push(version);
      return textAnswer(200, "stored");
    },
  };
}

describe("order of the checks, a node's command:", () => {
  let server: RouteServer;
  const reached: string[] = [];

  beforeEach(() => {
    reached.length = 0;
    server = new RouteServer([report(reached)]);
    server.admit(
      { name: "viewer", role: "viewer", tenant: "acme" },
      { name: "tenant", role: "operator", tenant: "acme" },
      { name: "bound", role: "agent", node: "ams1" },
      { name: "agent", role: "agent" },
    );
  });
  afterEach(() => server.stop());

  const UNKNOWN = "/nodes/x/report";
  const BROKEN = "/nodes/%ff/report";
  const KNOWN = "/nodes/fra1/report";
  const J = "application/json";
  const LINES: readonly [string, string, string, boolean, string, string, number, string][] = [
    ["path", "/nodes/x/reports", "", false, "", TOO_LARGE, 404, "not found"],
    ["token", BROKEN, "nobody", false, "", TOO_LARGE, 401, "missing or invalid bearer token"],
    ["role", BROKEN, "viewer", false, "", TOO_LARGE, 403, "this token's role may not perform this action"],
    ["tenant of the token", BROKEN, "tenant", false, "", TOO_LARGE, 403, "restricted to unscoped tokens"],
    ["node binding", BROKEN, "bound", false, "", TOO_LARGE, 403, "this token is bound to another node"],
    ["readiness", BROKEN, "agent", false, "", TOO_LARGE, 503, "the service is starting"],
    ["media type", BROKEN, "agent", true, "", TOO_LARGE, 415, "Content-Type must be application/json"],
    ["spelling of the path", BROKEN, "agent", true, J, TOO_LARGE, 400, "invalid URL: an escape is broken or not UTF-8"],
    ["name in the path", UNKNOWN, "agent", true, J, TOO_LARGE, 404, "no active ban for a name"],
    ["size", KNOWN, "agent", true, J, TOO_LARGE, 413, "request body exceeds 64 KiB"],
    ["JSON", KNOWN, "agent", true, J, '{"version":', 400, "invalid JSON body: "],
    ["fields", KNOWN, "agent", true, J, '{"version":7}', 400, "invalid JSON body: version must be a string"],
  ];

  // By check: path, caller, readiness, media type and body, and the answer.
  test.each(LINES)("%s", async (_, path, caller, ready, type, body, status, error) => {
    server.isReady = ready;
    const answer = await server.ask(path, { as: caller, type, body });
    const told = (await answer.json()) as { error: string };
    expect([answer.status, Object.keys(told)]).toEqual([status, ["error"]]);
    expect(told.error).toStartWith(error);
    expect(reached).toEqual([]);
  });

  test("without a fault it is carried out", async () => {
    const answer = await server.ask(KNOWN, { as: "agent", body: '{"version":"1"}' });
    expect([answer.status, reached]).toEqual([200, ["1"]]);
  });
});

describe("order of the checks, a command on a target:", () => {
  let server: TestServer;

  beforeEach(() => {
    server = TestServer.started();
    admitCallers(server);
  });
  afterEach(() => server.http.stop());

  test.each([
    ["fields before the target's tenant", { ip: OTHER_HOST, ttl: 5 }, 400, 'invalid JSON body: unknown field "ttl"'],
    ["the address before its tenant", { ip: "192.0.2.0129" }, 400, "invalid ip: 192.0.2.0129"],
    ["the target's tenant before the state", { ip: OTHER_HOST }, 403, "target is outside your tenant"],
    ["the state last", { ip: "192.0.2.2" }, 404, "no active ban for 192.0.2.2"],
  ])("%s", async (_, body, status, error) => {
    const answer = await fetch(`${server.base}/api/v1/unban`, {
      method: "POST",
      headers: { ...as("tenantOperator"), "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect([answer.status, await answer.json()]).toEqual([status, { error }]);
    expect(server.backend.calls.length).toBe(status === 404 ? 1 : 0);
  });
});
