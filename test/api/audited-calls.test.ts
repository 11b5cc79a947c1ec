/** Which calls leave a row of the audit trail, and what it says (docs/interface.md#audit-trail). */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { BackendFault } from "../../src/http/backend.ts";
import type { AuditedAnswer, CommandRoute } from "../../src/http/route.ts";
import { textAnswer } from "../../src/http/server/answer.ts";
import { BODY_BYTES_MAX } from "../../src/limits.ts";
import { hostPrefix } from "../../src/net/prefix.ts";
import { address } from "../fixtures/host-rows.ts";
import { ACME_HOST, admitCallers, as, bearer, type Caller, OTHER_HOST } from "../fixtures/http/callers.ts";
import { JSON_TYPE, TestServer } from "../fixtures/http/http.ts";
import { RouteServer } from "../fixtures/http/route-server.ts";
import { attack, ban, NOON } from "../fixtures/views.ts";

const RELOAD = "config/reload";
const target = (ip: string) => JSON.stringify({ ip });
const OWN = target(ACME_HOST);

describe("audited calls #audited-calls", () => {
  let server: TestServer;

  beforeEach(() => {
    server = TestServer.started();
    admitCallers(server);
  });
  afterEach(() => server.http.stop());

  /** The status; `headers` instead of those of an operator who sends JSON. */
  async function order(
    path: string,
    body: string,
    caller: Caller = "operator",
    headers: object = as(caller),
  ): Promise<number> {
    const init = { method: "POST", headers: { ...JSON_TYPE, ...headers }, body };
    return (await fetch(`${server.base}/api/v1/${path}`, init)).status;
  }

  test("a ban is a row with all that is to be known", async () => {
    expect(await order("ban", OWN, "tenantOperator")).toBe(200);
    const caller = { operator: "acme-operator", role: "operator", tenant: "acme" };
    const what = { action: "ban", target: ACME_HOST, targetType: "host", result: "active", banState: "active" };
    const rest = { wallMs: NOON, reason: "", source: "api", dryRun: false };
    expect<unknown>(server.audited).toEqual([{ ...caller, ...what, ...rest }]);
  });

  test("a ban that policy refuses is rejected, an unban withdrawn, each with its reason and the address's one spelling", async () => {
    const view = (changes: Parameters<typeof ban>[0]) => () => ({ ban: ban(changes), routeState: null });
    server.backend.onBan = view({ state: "rejected", reason: "whitelisted", dryRun: true });
    server.backend.onUnban = view({ state: "withdrawn", reason: "manual unban" });
    for (const path of ["ban", "unban"]) await order(path, target("2001:DB8::0:1"));
    const row = { target: "2001:db8::1", operator: "operator", tenant: "" };
    expect(server.audited).toMatchObject([
      { ...row, action: "ban", result: "rejected", reason: "whitelisted", banState: "rejected", dryRun: true },
      { ...row, action: "unban", result: "withdrawn", reason: "manual unban", banState: "withdrawn" },
    ]);
  });

  test("a reload is ok, one of an invalid file is an error", async () => {
    expect(await order(RELOAD, "")).toBe(200);
    expect(await order(RELOAD, '{"reason":"ticket 7"}')).toBe(200);
    server.backend.reloadOutcome = { kind: "invalid", problems: ["floodwall.yaml:1: a", "floodwall.yaml:2: b"] };
    expect(await order(RELOAD, "{}")).toBe(400);
    const row = { action: "config_reload", target: "", targetType: "global", operator: "operator", dryRun: true };
    const reason = "floodwall.yaml:1: a\nfloodwall.yaml:2: b";
    expect(server.audited).toMatchObject([
      { ...row, result: "ok", reason: "" },
      { ...row, result: "ok", reason: "ticket 7" },
      { ...row, result: "error", reason },
    ]);
  });

  const [rejected, error] = [{ result: "rejected" }, { result: "error", target: "" }];
  const WIDE = JSON.stringify({ prefix: "198.51.100.0/24" });
  const wide = { ...rejected, target: "198.51.100.0", targetType: "prefix" };
  const FOREIGN_PREFIX = { ...wide, action: "ban", reason: "198.51.100.0/24: target is outside your tenant" };
  const NO_BAN_OF_PREFIX = { ...wide, action: "unban", reason: "198.51.100.0/24: no active ban for 198.51.100.0/24" };
  const foreign = { ...rejected, target: OTHER_HOST, tenant: "acme", reason: "target is outside your tenant" };
  test.each<[string, Caller, string, string, number, object]>([
    ["a role that may not", "viewer", "ban", OWN, 403, { ...rejected, target: "", operator: "viewer" }],
    ["an agent", "agent", "unban", OWN, 403, { ...rejected, role: "agent" }],
    ["a tenant that reloads", "tenantOperator", RELOAD, "", 403, { ...rejected, tenant: "acme" }],
    ["too large a body", "operator", "ban", "x".repeat(BODY_BYTES_MAX + 1), 413, error],
    ["what is no JSON", "operator", "ban", "{", 400, error],
    ["an unknown field", "operator", "ban", '{"ip":"192.0.2.1","x":1}', 400, error],
    ["a bad address", "operator", "ban", target("x"), 400, { ...error, reason: "invalid ip: x" }],
    ["a body for a reload", "operator", RELOAD, '{"x":1}', 400, { ...error, action: "config_reload" }],
    ["a foreign target", "tenantOperator", "ban", target(OTHER_HOST), 403, foreign],
    ["a foreign prefix among many", "tenantOperator", "bans", `{"ban":[${OWN},${WIDE}]}`, 403, FOREIGN_PREFIX],
    ["no ban of a prefix among many", "operator", "bans", `{"ban":[${OWN}],"unban":[${WIDE}]}`, 404, NO_BAN_OF_PREFIX],
    ["no ban", "operator", "unban", OWN, 404, { ...rejected, target: ACME_HOST, dryRun: true }],
  ])("%s is one row", async (_, caller, path, body, status, row) => {
    server.backend.bannedPrefix = (of) => (typeof of === "string" ? hostPrefix(of) : null);
    expect(await order(path, body, caller)).toBe(status);
    expect(server.audited).toEqual([expect.objectContaining({ reason: expect.stringMatching(/./), ...row })]);
  });

  const KEPT = "the state database cannot be written; nothing was changed";
  test.each<[string, Error | null, number, string]>([
    ["a failure of the world, with its text,", new BackendFault(KEPT), 503, KEPT],
    ["a bug, with none,", new Error("undefined is not a function"), 500, "internal error"],
    ["a call while the service starts", null, 503, "the service is starting"],
  ])("%s is an error", async (_, fault, status, reason) => {
    if (fault === null) server.backend.ready = false;
    server.backend.fault = fault;
    expect(await order("ban", OWN)).toBe(status);
    expect(server.audited).toMatchObject([{ result: "error", reason }]);
  });

  const PCAP = "attacks/a1/pcap";
  const download = (path: string, caller: Caller, headers: object = as(caller)) =>
    fetch(`${server.base}/api/v1/${path}`, { headers: { ...headers } }).then(({ status }) => status);

  test("a download of packets is a row, of the attack's host or prefix, with the attack and the request #pcap-is-audited", async () => {
    const [frame, atMs, wireBytes] = [new Uint8Array(60), 0, 60];
    server.backend.packetsOfAttacks.add("a1", [{ frame, atMs, wireBytes, outcome: "dropped" }]);
    const show = (changes: Parameters<typeof attack>[0]) => {
      server.backend.attacksView = { active: [{ attack: attack(changes), ban: null }], recent: [] };
    };
    show({ target: address(ACME_HOST) });
    expect(await download(PCAP, "tenantViewer")).toBe(200);
    expect(await download(`${PCAP}?outcome=dropped`, "viewer")).toBe(200);
    show({ target: null, carpet: { prefix: "203.0.113.0/24", hosts: 3 } });
    expect(await download(PCAP, "viewer")).toBe(200);
    show({ target: null });
    expect(await download(PCAP, "viewer")).toBe(200);
    const row = { action: "packet_download", result: "ok", operator: "viewer", source: "api", reason: "attack a1" };
    const host = { target: ACME_HOST, targetType: "host" };
    expect(server.audited).toMatchObject([
      { ...row, ...host, operator: "acme-viewer", tenant: "acme" },
      { ...row, ...host, reason: "attack a1, dropped" },
      { ...row, target: "203.0.113.0", targetType: "prefix" },
      { ...row, target: "", targetType: "global" },
    ]);
  });

  test("a download of packets that is refused is a row; one without a token is none", async () => {
    server.backend.attacksView = {
      active: [{ attack: attack({ target: address(OTHER_HOST) }), ban: null }],
      recent: [],
    };
    expect(await download(PCAP, "viewer", {})).toBe(401);
    expect(await download(PCAP, "tenantViewer")).toBe(404);
    expect(await download(PCAP, "viewer")).toBe(404);
    expect(await download(`${PCAP}?outcome=lost`, "viewer")).toBe(400);
    expect(await download(PCAP, "agent")).toBe(403);
    const row = { action: "packet_download", targetType: "host" };
    expect(server.audited).toMatchObject([
      { ...row, result: "rejected", target: "", reason: "unknown attack", tenant: "acme" },
      { ...row, result: "rejected", target: OTHER_HOST, reason: expect.stringMatching(/^no packets of this attack/) },
      { ...row, result: "error", target: "", reason: "unknown outcome: lost" },
      { ...row, result: "rejected", target: "", role: "agent" },
    ]);
  });

  test("no token, a wrong one, another media type, another method and reads leave no row", async () => {
    const plain = { ...as("operator"), "content-type": "text/plain" };
    const refused = [{}, bearer("x"), plain].map((headers) => order("ban", OWN, "operator", headers));
    expect(await Promise.all(refused)).toEqual([401, 401, 415]);
    for (const [method, path] of [
      ["PUT", "ban"],
      ["GET", "status"],
    ] as const)
      await fetch(`${server.base}/api/v1/${path}`, { method, headers: as("agent") });
    expect(server.audited).toEqual([]);
  });
});

describe("the row and the answer #audited-calls", () => {
  let server: RouteServer;
  let answer: () => AuditedAnswer;
  const route: CommandRoute = {
    ...{ name: "lever", method: "DELETE", path: "/zones/:name", access: "operator", body: null },
    audit: { action: "edge_challenge", targetType: "zone", target: ({ params }) => params["name"] ?? "" },
    handle: () => answer(),
  };

  beforeEach(() => {
    server = new RouteServer([route]);
    answer = () => textAnswer(200, "done");
    server.admit({ name: "noc", role: "operator" }, { name: "web", role: "viewer" });
  });
  afterEach(() => server.stop());

  const drop = (caller = "noc", body = "") =>
    server.ask("/zones/a.example", { as: caller, method: "DELETE", type: "", body });

  test("no answer goes out before the row is stored", async () => {
    const [stored, reached] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    server.storeRow = () => {
      reached.resolve();
      return stored.promise;
    };
    const asked = drop();
    await reached.promise;
    // Another request is answered meanwhile: this one would have been, too.
    const first = await Promise.race([asked, server.ask("/nowhere")]);
    expect(first.status).toBe(404);
    stored.resolve();
    expect((await asked).status).toBe(200);
  });

  test("a plain answer is ok, rejected where it is a no of policy or state, and an error where it is another", async () => {
    server.isDryRun = true;
    for (const status of [200, 403, 404, 409, 400, 502]) {
      answer = () => textAnswer(status, "no");
      await drop();
    }
    expect(server.audited[0]).toMatchObject({ target: "a.example", targetType: "zone", dryRun: true });
    const results = server.audited.map(({ result }) => result);
    expect(results).toEqual(["ok", "rejected", "rejected", "rejected", "error", "error"]);
  });

  test("an outcome says it itself", async () => {
    server.isDryRun = true;
    const response = textAnswer(200, "cleared");
    answer = () => ({ kind: "outcome", response, result: "cleared", reason: "done with it", dryRun: false });
    expect(await (await drop()).text()).toBe("cleared");
    expect(server.audited).toMatchObject([{ result: "cleared", reason: "done with it", banState: "", dryRun: false }]);
  });

  test("a call that a node binding refuses leaves none", async () => {
    const bound = new RouteServer([{ ...route, access: "agent", node: "path" }]);
    try {
      bound.admit({ name: "node", role: "agent", node: "fra1" });
      for (const node of ["ams1", "fra1"]) await bound.ask(`/zones/${node}`, { as: "node", method: "DELETE" });
      expect(bound.audited).toMatchObject([{ operator: "node", target: "fra1", result: "ok" }]);
    } finally {
      await bound.stop();
    }
  });

  test("a name in the path is known before the body is: also of a call that was refused for its role", async () => {
    expect((await drop("web")).status).toBe(403);
    expect(server.audited).toMatchObject([{ result: "rejected", target: "a.example", operator: "web" }]);
  });

  test("a DELETE needs no media type and no body; an empty object is no body, a field is one", async () => {
    const bodies = ["{}", '{"mode":"off"}', "x".repeat(BODY_BYTES_MAX + 1)];
    expect(await Promise.all(bodies.map(async (body) => (await drop("noc", body)).status))).toEqual([200, 400, 413]);
  });
});
