/** Which calls leave a row of the audit trail, and what it says (docs/interface.md#audit-trail). */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { BackendFault } from "../../src/http/backend.ts";
import type { CommandAnswer, CommandRoute } from "../../src/http/route.ts";
import { textAnswer } from "../../src/http/server/answer.ts";
import { BODY_BYTES_MAX } from "../../src/limits.ts";
import { RouteServer } from "../fixtures/bgp/route-server.ts";
import { ban, NOON } from "../fixtures/browser/views.ts";
import { ACME_HOST, admitCallers, as, bearer, type Caller, OTHER_HOST } from "../fixtures/http/callers.ts";
import { TestServer } from "../fixtures/http/http.ts";

describe("audited calls:", () => {
  let server: TestServer;

  beforeEach(() => {
    server = TestServer.started();
    admitCallers(server);
  });
  afterEach(() => server.http.stop());

  function order(path: string, caller: Caller, body: string, headers: Readonly<Record<string, string>> = {}) {
    const type = { "content-type": "application/json" };
    return fetch(`${server.base}/api/v1/${path}`, {
      method: "POST",
      headers: { ...type, ...as(caller), ...headers },
      body,
    });
  }

  const target = (ip: string) => JSON.stringify({ ip });

  test("a ban is a row with all that is to be known", async () => {
    expect((await order("ban", "tenantOperator", target(ACME_HOST))).status).toBe(200);
    const caller = { operator: "acme-operator", role: "operator", tenant: "acme" };
    const what = { action: "ban", target: ACME_HOST, targetType: "host", result: "active", banState: "active" };
    const rest = { wallMs: NOON, reason: "", source: "api", dryRun: false };
    expect<unknown>(server.audited).toEqual([{ ...caller, ...what, ...rest }]);
  });

  test("a ban that policy refuses is rejected, an unban withdrawn, each with its reason and the address's one spelling", async () => {
    const view = (changes: Parameters<typeof ban>[0]) => () => ({ ban: ban(changes), routeState: null });
    server.backend.onBan = view({ state: "rejected", reason: "whitelisted", dryRun: true });
    server.backend.onUnban = view({ state: "withdrawn", reason: "manual unban" });
    for (const path of ["ban", "unban"]) await order(path, "operator", target("2001:DB8::0:1"));
    const row = { target: "2001:db8::1", tenant: "" };
    expect(server.audited).toMatchObject([
      { ...row, action: "ban", result: "rejected", reason: "whitelisted", banState: "rejected", dryRun: true },
      { ...row, action: "unban", result: "withdrawn", reason: "manual unban", banState: "withdrawn" },
    ]);
  });

  test("a reload is ok, one of an invalid file is an error", async () => {
    expect((await order("config/reload", "operator", "")).status).toBe(200);
    server.backend.reloadOutcome = { kind: "invalid", problems: ["floodwall.yaml:1: a", "floodwall.yaml:2: b"] };
    expect((await order("config/reload", "operator", "{}")).status).toBe(400);
    const row = { action: "config_reload", target: "", targetType: "global", operator: "operator", dryRun: true };
    expect(server.audited).toMatchObject([
      { ...row, result: "ok", reason: "" },
      { ...row, result: "error", reason: "floodwall.yaml:1: a\nfloodwall.yaml:2: b" },
    ]);
  });

  const ENDS: readonly [string, string, Caller, string, number, object][] = [
    ["a role that may not", "ban", "viewer", target(ACME_HOST), 403, { result: "rejected", target: "" }],
    ["an agent", "unban", "agent", target(ACME_HOST), 403, { result: "rejected", role: "agent" }],
    ["a tenant that reloads", "config/reload", "tenantOperator", "", 403, { result: "rejected", tenant: "acme" }],
    ["too large a body", "ban", "operator", "x".repeat(BODY_BYTES_MAX + 1), 413, { result: "error", target: "" }],
    ["what is no JSON", "ban", "operator", "{", 400, { result: "error", target: "" }],
    ["an unknown field", "ban", "operator", '{"ip":"192.0.2.1","x":1}', 400, { result: "error", target: "" }],
    ["a bad address", "ban", "operator", target("x"), 400, { result: "error", target: "", reason: "invalid ip: x" }],
    ["a body for a reload", "config/reload", "operator", '{"x":1}', 400, { action: "config_reload", result: "error" }],
    [
      "a foreign target",
      "ban",
      "tenantOperator",
      target(OTHER_HOST),
      403,
      { result: "rejected", target: OTHER_HOST, tenant: "acme", reason: "target is outside your tenant" },
    ],
    ["no ban", "unban", "operator", target(ACME_HOST), 404, { result: "rejected", target: ACME_HOST, dryRun: true }],
  ];

  test.each(ENDS)("%s is one row: %s by %s", async (_, path, caller, body, status, row) => {
    expect((await order(path, caller, body)).status).toBe(status);
    expect(server.audited).toHaveLength(1);
    expect(server.audited).toMatchObject([row]);
    expect(server.audited[0]?.reason).not.toBe("");
  });

  test("a failure is an error: of the world with its text, of ours with none", async () => {
    server.backend.fault = new BackendFault("the state database cannot be written; nothing was changed");
    expect((await order("ban", "operator", target(ACME_HOST))).status).toBe(503);
    server.backend.fault = new Error("undefined is not a function");
    expect((await order("ban", "operator", target(ACME_HOST))).status).toBe(500);
    expect(server.audited).toMatchObject([
      { result: "error", target: ACME_HOST, reason: "the state database cannot be written; nothing was changed" },
      { result: "error", target: ACME_HOST, reason: "internal error" },
    ]);
  });

  test("while the service starts it is an error", async () => {
    server.backend.ready = false;
    expect((await order("ban", "operator", target(ACME_HOST))).status).toBe(503);
    expect(server.audited).toMatchObject([{ result: "error", reason: "the service is starting" }]);
  });

  test("no token, a wrong one, another media type and reads leave no row", async () => {
    const url = `${server.base}/api/v1/ban`;
    const json = { "content-type": "application/json" };
    const body = target(ACME_HOST);
    expect((await fetch(url, { method: "POST", headers: json, body })).status).toBe(401);
    expect((await fetch(url, { method: "POST", headers: { ...json, ...bearer("x") }, body })).status).toBe(401);
    expect((await order("ban", "operator", body, { "content-type": "text/plain" })).status).toBe(415);
    expect((await fetch(url, { method: "PUT", headers: as("operator") })).status).toBe(404);
    // Nor does a read.
    await fetch(`${server.base}/api/v1/status`, { headers: as("agent") });
    expect(server.audited).toEqual([]);
  });
});

describe("audited calls, the row and the answer:", () => {
  let server: RouteServer;
  let answer: () => CommandAnswer;
  const route: CommandRoute = {
    name: "lever",
    method: "DELETE",
    path: "/zones/:name",
    access: "operator",
    body: null,
    audit: { action: "edge_challenge", targetType: "zone", target: ({ params }) => params["name"] ?? "" },
    handle: () => answer(),
  };

  beforeEach(() => {
    server = new RouteServer([route]);
    answer = () => textAnswer(200, "done");
    server.admit({ name: "noc", role: "operator" }, { name: "web", role: "viewer" });
  });
  afterEach(() => server.stop());

  const drop = (as: string) => server.ask("/zones/a.example", { as, method: "DELETE", type: "" });

  test("no answer goes out before the row is stored", async () => {
    const stored = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    server.storeRow = () => {
      reached.resolve();
      return stored.promise;
    };
    let isAnswered = false;
    const asked = drop("noc").then((got) => {
      isAnswered = true;
      return got;
    });
    await reached.promise;
    // Another request is answered meanwhile: this one would have been, too.
    expect((await server.ask("/nowhere")).status).toBe(404);
    expect(isAnswered).toBe(false);
    stored.resolve();
    expect((await asked).status).toBe(200);
  });

  test("a plain answer is ok, and says whether the service runs dry", async () => {
    server.isDryRun = true;
    await drop("noc");
    expect(server.audited).toMatchObject([{ result: "ok", target: "a.example", targetType: "zone", dryRun: true }]);
  });

  test("a plain answer is rejected where it is a no of policy or state, and an error where it is another", async () => {
    for (const status of [403, 404, 409, 400, 502]) {
      answer = () => textAnswer(status, "no");
      await drop("noc");
    }
    const results = server.audited.map(({ result }) => result);
    expect(results).toEqual(["rejected", "rejected", "rejected", "error", "error"]);
  });

  test("a call that a node binding refuses leaves none", async () => {
    const bound = new RouteServer([{ ...route, access: "agent", node: "path" }]);
    try {
      bound.admit({ name: "node", role: "agent", node: "fra1" });
      expect((await bound.ask("/zones/ams1", { as: "node", method: "DELETE" })).status).toBe(403);
      expect(bound.audited).toEqual([]);
      expect((await bound.ask("/zones/fra1", { as: "node", method: "DELETE" })).status).toBe(200);
      expect(bound.audited).toMatchObject([{ operator: "node", result: "ok" }]);
    } finally {
      await bound.stop();
    }
  });

  test("an outcome says it itself", async () => {
    server.isDryRun = true;
    const response = textAnswer(200, "cleared");
    answer = () => ({ kind: "outcome", response, result: "cleared", reason: "done with it", dryRun: false });
    expect(await (await drop("noc")).text()).toBe("cleared");
    expect(server.audited).toMatchObject([{ result: "cleared", reason: "done with it", banState: "", dryRun: false }]);
  });

  test("a name in the path is known before the body is: also of a call that was refused for its role", async () => {
    expect((await drop("web")).status).toBe(403);
    expect(server.audited).toMatchObject([{ result: "rejected", target: "a.example", operator: "web" }]);
  });

  test("a DELETE needs no media type and no body; an empty object is no body, a field is one", async () => {
    const ask = (body: string) => server.ask("/zones/a.example", { as: "noc", method: "DELETE", type: "", body });
    expect((await ask("{}")).status).toBe(200);
    expect((await ask('{"mode":"off"}')).status).toBe(400);
    expect((await ask("x".repeat(BODY_BYTES_MAX + 1))).status).toBe(413);
  });
});
