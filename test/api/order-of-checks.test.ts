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
  const lines = [
    {
      check: "path",
      path: "/nodes/x/reports",
      as: "",
      ready: false,
      type: "",
      body: TOO_LARGE,
      status: 404,
      error: "not found",
    },
    {
      check: "token",
      path: BROKEN,
      as: "nobody",
      ready: false,
      type: "",
      body: TOO_LARGE,
      status: 401,
      error: "missing or invalid bearer token",
    },
    {
      check: "role",
      path: BROKEN,
      as: "viewer",
      ready: false,
      type: "",
      body: TOO_LARGE,
      status: 403,
      error: "this token's role may not perform this action",
    },
    {
      check: "tenant of the token",
      path: BROKEN,
      as: "tenant",
      ready: false,
      type: "",
      body: TOO_LARGE,
      status: 403,
      error: "restricted to unscoped tokens",
    },
    {
      check: "node binding",
      path: BROKEN,
      as: "bound",
      ready: false,
      type: "",
      body: TOO_LARGE,
      status: 403,
      error: "this token is bound to another node",
    },
    {
      check: "readiness",
      path: BROKEN,
      as: "agent",
      ready: false,
      type: "",
      body: TOO_LARGE,
      status: 503,
      error: "the service is starting",
    },
    {
      check: "media type",
      path: BROKEN,
      as: "agent",
      ready: true,
      type: "",
      body: TOO_LARGE,
      status: 415,
      error: "Content-Type must be application/json",
    },
    {
      check: "spelling of the path",
      path: BROKEN,
      as: "agent",
      ready: true,
      type: "application/json",
      body: TOO_LARGE,
      status: 400,
      error: "invalid URL: an escape is broken or not UTF-8",
    },
    {
      check: "name in the path",
      path: UNKNOWN,
      as: "agent",
      ready: true,
      type: "application/json",
      body: TOO_LARGE,
      status: 404,
      error: "no active ban for a name",
    },
    {
      check: "size",
      path: KNOWN,
      as: "agent",
      ready: true,
      type: "application/json",
      body: TOO_LARGE,
      status: 413,
      error: "request body exceeds 64 KiB",
    },
    {
      check: "JSON",
      path: KNOWN,
      as: "agent",
      ready: true,
      type: "application/json",
      body: '{"version":',
      status: 400,
      error: "invalid JSON body: ",
    },
    {
      check: "fields",
      path: KNOWN,
      as: "agent",
      ready: true,
      type: "application/json",
      body: '{"version":7}',
      status: 400,
      error: "invalid JSON body: version must be a string",
    },
  ];

  test.each(lines)("$check: $status", async ({ path, as: caller, ready, type, body, status, error }) => {
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
    expect(server.service.calls.length).toBe(status === 404 ? 1 : 0);
  });

  test("one fault at a time changes nothing: a wrong method is an unknown path, with any token", async () => {
    for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const answer = await fetch(`${server.base}/api/v1/unban`, { method });
      expect([answer.status, await answer.json()]).toEqual([404, { error: "not found" }]);
    }
  });
});
