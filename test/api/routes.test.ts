/**
 * Every route that there is, asked by everyone and in every wrong way that all routes have in common: a route without a
 * row here fails (docs/interface.md#endpoints, docs/interface.md#errors).
 */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import type { Route } from "../../src/http/route.ts";
import { ErrorWire } from "../../src/http/route-description.ts";
import { BODY_BYTES_MAX, EDGE_ORDER_BYTES_MAX } from "../../src/limits.ts";
import { edgeConfig } from "../fixtures/edge/edge.ts";
import { address } from "../fixtures/host-rows.ts";
import {
  ACME_HOST,
  admitCallers,
  as,
  bearer,
  type Caller,
  OTHER_HOST,
  OUTSIDE_HOST,
  UNOWNED_HOST,
} from "../fixtures/http/callers.ts";
import { expectError, JSON_TYPE, TestServer } from "../fixtures/http/http.ts";
import { scrubbing } from "../fixtures/scrub/scrubbing.ts";
import { attack, NO_OWN_TARGETS, TO_NONE } from "../fixtures/views.ts";

const ROLE = "this token's role may not perform this action";
const UNSCOPED = "restricted to unscoped tokens";
const NO_CALLER = "missing or invalid bearer token";

/** By caller, the status, or the text of the 403. */
type Answers = Readonly<Record<Caller, number | string>>;

const READ = { viewer: 200, operator: 200, agent: ROLE, tenantViewer: 200, tenantOperator: 200 } as const;
const UNSCOPED_READ = { ...READ, tenantViewer: UNSCOPED, tenantOperator: UNSCOPED };
const COMMAND = { viewer: ROLE, operator: 200, agent: ROLE, tenantViewer: ROLE, tenantOperator: 200 } as const;
/** There is nothing to lift: who gets that far gets a 404 or 409 that says so. */
const LIFT = { ...COMMAND, operator: 404, tenantOperator: 404 };
/** A node's, and an admin's to look at what a node sees. */
const NODE = { viewer: ROLE, operator: 200, agent: 200, tenantViewer: ROLE, tenantOperator: UNSCOPED } as const;
const REPORT = { ...NODE, operator: 204, agent: 204 };
const AGENT = { viewer: ROLE, operator: ROLE, agent: 200, tenantViewer: ROLE, tenantOperator: ROLE } as const;

const PAIR = { source: OUTSIDE_HOST, victim: ACME_HOST } as const;
const [OWN, FOREIGN] = ["own.example.net", "foreign.example.net"];
const CHALLENGE = { zone: FOREIGN, token: "t", key_authorization: "t.k" };
const STREAM = "GET /api/v1/events";
const CAPTURE_FILE = "GET /api/v1/attacks/a1/pcap";
const ATTACK_PAGE = "GET /api/v1/attacks/a1/report";
const RANGE_PAGE = "GET /api/v1/report";
/** Whose answers are not JSON. */
const NOT_JSON_LINES = [CAPTURE_FILE, ATTACK_PAGE, RANGE_PAGE];
const MATRIX: readonly (readonly [string, Answers, object?])[] = [
  ["GET /api/v1/status", READ],
  ["GET /api/v1/attacks", READ],
  ["GET /api/v1/attacks/history", READ],
  // The attack is on another tenant's address: as unknown as one that never was.
  ["GET /api/v1/attacks/a1", { ...READ, tenantViewer: 404, tenantOperator: 404 }],
  ["GET /api/v1/attacks/a1/series", { ...READ, tenantViewer: 404, tenantOperator: 404 }],
  ["GET /api/v1/attacks/a1/timeline", { ...READ, tenantViewer: 404, tenantOperator: 404 }],
  ["GET /api/v1/attacks/a1/sources", { ...READ, tenantViewer: 404, tenantOperator: 404 }],
  [ATTACK_PAGE, { ...READ, tenantViewer: 404, tenantOperator: 404 }],
  [RANGE_PAGE, READ],
  [CAPTURE_FILE, { ...READ, tenantViewer: 404, tenantOperator: 404 }],
  ["GET /api/v1/incidents", READ],
  ["GET /api/v1/incidents/i0001", { ...READ, tenantViewer: 404, tenantOperator: 404 }],
  ["POST /api/v1/incidents/i0001", { ...COMMAND, tenantOperator: 404 }, { owner: "take" }],
  ["POST /api/v1/incidents/i0001/notes", { ...COMMAND, tenantOperator: 404 }, { text: "seen" }],
  ["GET /api/v1/shared-links", READ],
  [
    "POST /api/v1/shared-links",
    { ...COMMAND, operator: 201, tenantOperator: 404 },
    { incident: "i0001", ttl_seconds: 60 },
  ],
  ["DELETE /api/v1/shared-links/none", LIFT],
  // It takes no token.
  ["GET /api/v1/shared", { viewer: 401, operator: 401, agent: 401, tenantViewer: 401, tenantOperator: 401 }],
  ["GET /api/v1/session", READ],
  // Tokens have no session to end, and see none: none is open.
  ["POST /api/v1/sign-out", { ...READ, viewer: 409, operator: 409, tenantViewer: 409, tenantOperator: 409 }],
  ["GET /api/v1/sign-ins", READ],
  ["DELETE /api/v1/sign-ins/none", { ...READ, viewer: 404, operator: 404, tenantViewer: 404, tenantOperator: 404 }],
  ["GET /api/v1/hosts", READ],
  ["GET /api/v1/hostgroups", READ],
  ["GET /api/v1/prefix-sets", UNSCOPED_READ],
  ["GET /api/v1/cluster", UNSCOPED_READ],
  ["GET /api/v1/notify/targets", READ],
  ["GET /api/v1/notify/route?event=test", UNSCOPED_READ],
  [
    "PUT /api/v1/notify/targets/noc",
    { ...COMMAND, operator: 409 },
    { kind: "slack", url: "https://hooks.example.net" },
  ],
  ["DELETE /api/v1/notify/targets/noc", COMMAND],
  ["POST /api/v1/notify/targets/noc/test", COMMAND],
  ["GET /api/v1/telemetry", UNSCOPED_READ],
  ["GET /api/v1/config", READ],
  ["GET /api/v1/bgp/routes", UNSCOPED_READ],
  ["GET /api/v1/diversions", UNSCOPED_READ],
  ["GET /api/v1/dry-run/report", UNSCOPED_READ],
  ["GET /api/v1/thresholds/suggested", UNSCOPED_READ],
  ["GET /api/v1/bans", READ],
  [`GET /api/v1/bans/preview?ip=${ACME_HOST}`, READ],
  [`GET /api/v1/traffic?key=${ACME_HOST}`, READ],
  ["GET /api/v1/traffic/total", READ],
  ["GET /api/v1/traffic/top?by=asn", UNSCOPED_READ],
  ["GET /api/v1/traffic/part?by=country&key=DE", UNSCOPED_READ],
  ["GET /api/v1/audit", READ],
  [STREAM, READ],
  ["GET /api/v1/openapi.json", READ],
  ["POST /api/v1/ban", COMMAND, { ip: ACME_HOST }],
  ["POST /api/v1/unban", LIFT, { ip: ACME_HOST }],
  ["POST /api/v1/bans", COMMAND, { ban: [{ ip: ACME_HOST }] }],
  ["GET /api/v1/maintenance", UNSCOPED_READ],
  ["POST /api/v1/maintenance", { ...COMMAND, tenantOperator: UNSCOPED }, { name: "w", quiet: true, ttl_seconds: 60 }],
  ["DELETE /api/v1/maintenance/none", { ...LIFT, tenantOperator: UNSCOPED }],
  ["POST /api/v1/bans/preview", COMMAND, { ip: ACME_HOST }],
  ["GET /api/v1/dataplane/sources", READ],
  ["POST /api/v1/dataplane/sources", COMMAND, { ...PAIR, ttl_seconds: 60 }],
  ["POST /api/v1/dataplane/sources/unblock", LIFT, PAIR],
  ["POST /api/v1/dataplane/sources/preview", COMMAND, { ...PAIR, ttl_seconds: 60 }],
  ["GET /api/v1/protection", READ],
  [`GET /api/v1/protection/${ACME_HOST}`, READ],
  // Tenants may choose nothing, unless the operator allows it.
  [`PUT /api/v1/protection/${ACME_HOST}`, { ...COMMAND, tenantOperator: 409 }, { profile: "web" }],
  ["DELETE /api/v1/protection/192.0.2.2", LIFT],
  // Nothing is set by the fake service: who gets that far gets a 404 that says so.
  ["PUT /api/v1/hostgroups/web/settings", { ...LIFT, tenantOperator: UNSCOPED }, { thresholds: { pps: 9 } }],
  ["DELETE /api/v1/hostgroups/web/settings", { ...LIFT, tenantOperator: UNSCOPED }],
  ["GET /api/v1/filter-rules", UNSCOPED_READ],
  [
    "POST /api/v1/filter-rules",
    { ...COMMAND, tenantOperator: UNSCOPED },
    { name: "a", action: "drop", ttl_seconds: 60 },
  ],
  [
    "POST /api/v1/filter-rules/preview",
    { ...COMMAND, tenantOperator: UNSCOPED },
    { name: "a", action: "drop", ttl_seconds: 60 },
  ],
  ["DELETE /api/v1/filter-rules/none", { ...LIFT, tenantOperator: UNSCOPED }],
  ["GET /api/v1/dataplane/rules", NODE],
  ["POST /api/v1/dataplane/nodes/scrub1/report", REPORT, { version: "1" }],
  ["GET /api/v1/dataplane/nodes", UNSCOPED_READ],
  ["GET /api/v1/edge/zones", NODE],
  ["POST /api/v1/edge/nodes/edge1/report", REPORT, { version: "1" }],
  ["GET /api/v1/edge/nodes", UNSCOPED_READ],
  ["GET /api/v1/edge/zones/status", READ],
  [`GET /api/v1/edge/history?zone=${OWN}`, READ],
  [`GET /api/v1/edge/history/sources?zone=${OWN}`, READ],
  ["GET /api/v1/edge/events", UNSCOPED_READ],
  ["POST /api/v1/edge/nodes/edge1/acme/slot", AGENT, { zone: OWN }],
  // It has no slot: who gets that far gets a 404 or 409 that says so.
  ["POST /api/v1/edge/nodes/edge1/acme/challenges", { ...AGENT, agent: 409 }, CHALLENGE],
  [`POST /api/v1/edge/zones/${OWN}/challenge`, COMMAND, { mode: "auto", ttl_seconds: 60 }],
  [`DELETE /api/v1/edge/zones/${FOREIGN}/challenge`, { ...COMMAND, tenantOperator: 404 }],
  ["POST /api/v1/config/reload", { ...COMMAND, tenantOperator: UNSCOPED }],
  ["POST /api/v1/config/reload/preview", { ...COMMAND, tenantOperator: UNSCOPED }],
];
/** Without a token (docs/interface.md#open-without-a-token). */
const OPEN = ["GET /api/v1/sign-in", "GET /metrics", "GET /healthz", "GET /", "GET /assets/main.js"];
/** By which people sign in: there is no provider here. */
const SIGN_IN = ["GET /api/v1/sign-in/begin", "GET /api/v1/sign-in/callback"];
const LINES = MATRIX.map(([line]) => line);
/** `GET /api/v1/shared` takes no token. */
const BY_TOKEN = LINES.filter((line) => !line.endsWith("/shared"));
const COMMANDS = LINES.filter((line) => /^(POST|PUT) /.test(line));
const ANSWERS = new Map(MATRIX.map(([line, answers]) => [line, answers]));
const BODIES = new Map(MATRIX.map(([line, , body]) => [line, body]));

let server: TestServer;

/** Who may ask for it. */
function callerOf(line: string): Caller {
  const callers: readonly Caller[] = ["viewer", "operator", "agent"];
  return callers.find((caller) => typeof ANSWERS.get(line)?.[caller] === "number") ?? "viewer";
}

function ask(line: string, headers: Readonly<Record<string, string>>, init: RequestInit = {}): Promise<Response> {
  const [method = "", target = ""] = line.split(" ");
  const body = BODIES.get(line);
  const given = body === undefined ? {} : { body: JSON.stringify(body) };
  return fetch(server.base + target, { method, headers: { ...JSON_TYPE, ...headers }, ...given, ...init });
}

/** By the caller who may. */
const properly = (line: string, init: RequestInit = {}, headers = {}) =>
  ask(line, { ...as(callerOf(line)), ...headers }, init);

function routeOf(line: string): Route | undefined {
  const [method, path = ""] = line.replace(/\?.*/, "").split(" ");
  const isIts = (route: Route) => new RegExp(`^${route.path.replaceAll(/:\w+/g, "[^/]+")}$`).test(path);
  return server.http.routes.find((route) => route.method === method && isIts(route));
}

beforeAll(() => {
  server = TestServer.started();
  admitCallers(server);
  const { backend } = server;
  backend.scrub.reconfigure(scrubbing({ name: "scrub1" }));
  backend.notifyTargets = () => ({ list: () => [], test: () => true, own: NO_OWN_TARGETS, route: TO_NONE });
  const zones = [{ name: OWN, tenant: "acme" }, { name: FOREIGN }];
  backend.edge.reconfigure(edgeConfig({ nodes: [{ name: "edge1" }], zones }));
  backend.packetsOfAttacks.add("a1", [{ atMs: 0, wireBytes: 60, frame: new Uint8Array(60), outcome: null }]);
  backend.incidents.recorded({ kind: "started", attack: attack({ target: address(UNOWNED_HOST) }) });
  backend.attacksView = { active: [{ attack: attack({ target: address(OTHER_HOST) }), ban: null }], recent: [] };
});
afterAll(() => server.http.stop());
beforeEach(() => {
  server.backend.calls.length = 0;
  server.backend.ready = true;
});

test("the matrix of roles has every route, and no other #role-matrix", () => {
  const names = (lines: readonly string[]) => lines.map((line) => routeOf(line)?.name ?? "");
  expect(names([...LINES, ...OPEN, ...SIGN_IN]).toSorted()).toEqual(
    server.http.routes.map(({ name }) => name).toSorted(),
  );
  const open = server.http.routes.filter(({ access }) => access === "open").map(({ name }) => name);
  expect(names([...OPEN, ...SIGN_IN]).toSorted()).toEqual(open.toSorted());
});

test.each(OPEN)("%s answers anyone #role-matrix", async (line) => {
  for (const headers of [{}, bearer("wrong"), as("agent")]) expect((await ask(line, headers)).status).toBe(200);
});

test.each(SIGN_IN)("%s answers anyone that there is no provider #role-matrix", async (line) => {
  for (const headers of [{}, bearer("wrong"), as("agent")]) await expectError(ask(line, headers), 404, "not found");
});

const EACH = MATRIX.flatMap(([line, answers]) =>
  Object.entries(answers).map(([caller, answer]) => [line, caller as Caller, answer] as const),
);
test.each(EACH)("%s by %s is answered %s #role-matrix", async (line, caller, expected) => {
  const answer = await ask(line, as(caller));
  if (typeof expected === "number") {
    expect(answer.status).toBe(expected);
    await answer.body?.cancel();
    return;
  }
  await expectError(answer, 403, expected);
  expect(server.backend.calls).toEqual([]);
});

test.each(LINES.filter((line) => line !== STREAM && !NOT_JSON_LINES.includes(line)))(
  "%s answers a JSON object as the route says #answers-are-json",
  async (line) => {
    const answer = await properly(line);
    const { schema = ErrorWire } = routeOf(line)?.about?.answers[answer.status] ?? {};
    const text = await answer.text();
    if (schema === null) return expect(text).toBe("");
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(JSON.parse(text)).toBeObject();
    expect([...Value.Errors(schema, JSON.parse(text))]).toEqual([]);
  },
);

test.each([...BY_TOKEN, ...OPEN].filter((line) => line.startsWith("GET ")))(
  "HEAD of %s is GET without the body #head",
  async (line) => {
    const statusOf = async (headers: Readonly<Record<string, string>>) => {
      const answer = await ask(line, headers, { method: "HEAD" });
      expect(await answer.text()).toBe("");
      return answer.status;
    };
    const agent = ANSWERS.get(line)?.agent === ROLE ? 403 : 200;
    expect([await statusOf(as(callerOf(line))), await statusOf(as("agent"))]).toEqual([200, agent]);
    expect(await statusOf({})).toBe(OPEN.includes(line) ? 200 : 401);
  },
);

test.each(LINES)("%s needs a valid token #token-check", async (line) => {
  for (const headers of [{}, bearer("wrong")]) await expectError(ask(line, headers), 401, NO_CALLER);
  expect(server.backend.calls).toEqual([]);
});

const NOT_JSON = ["text/plain", "application/x-www-form-urlencoded", "application/json, text/plain"];
test.each(COMMANDS)("%s takes JSON alone #content-type", async (line) => {
  for (const type of NOT_JSON) {
    const answer = properly(line, {}, { "content-type": type });
    await expectError(answer, 415, "Content-Type must be application/json");
  }
  expect(server.backend.calls).toEqual([]);
});

test.each(COMMANDS)("%s is 415 without a media type, also without a body #error-415", async (line) => {
  for (const init of [{}, { body: null }])
    expect((await properly(line, init, { "content-type": "" })).status).toBe(415);
});

test.each(BY_TOKEN)("%s is 503 while the service starts, once the caller may ask #error-503", async (line) => {
  server.backend.ready = false;
  await expectError(properly(line), 503, "the service is starting");
  await expectError(ask(line, {}), 401, NO_CALLER);
});

test.each(COMMANDS)(
  "%s is 413 for a body that is too large #error-413 #limit-report-body #limit-request-body",
  async (line) => {
    const bytesMax = /\/(acme\/|zones\/)/.test(line) ? EDGE_ORDER_BYTES_MAX : BODY_BYTES_MAX;
    const name = line.endsWith("/report") ? "report" : "request body";
    expect((await properly(line, { body: "x".repeat(bytesMax) })).status).toBe(400);
    const tooLarge = properly(line, { body: "x".repeat(bytesMax + 1) });
    await expectError(tooLarge, 413, `${name} exceeds ${bytesMax / 1024} KiB`);
  },
);

test.each(COMMANDS)("%s is 400 for what is no JSON #error-400", async (line) => {
  await expectError(properly(line, { body: '{"ip"' }), 400, expect.stringContaining("invalid JSON body: "));
  expect(server.backend.calls).toEqual([]);
});

test.each(LINES)("%s is 404 by another method #error-404", async (line) => {
  const isNone = (method: string) => routeOf(line.replace(/^\w+/, method)) === undefined;
  const others = ["GET", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"].filter(isNone);
  for (const method of others)
    await expectError(ask(line, as(callerOf(line)), { method, body: null }), 404, "not found");
  expect(server.backend.calls).toEqual([]);
});
