/**
 * Every route that there is, asked by everyone and in every wrong way that all routes have in common: a route without a
 * row here fails (docs/interface.md#endpoints, docs/interface.md#errors).
 */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import type { Route } from "../../src/http/route.ts";
import { ErrorWire } from "../../src/http/route-description.ts";
import { BODY_BYTES_MAX } from "../../src/limits.ts";
import { attack } from "../fixtures/browser/views.ts";
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
} from "../fixtures/http/callers.ts";
import { expectError, JSON_TYPE, TestServer } from "../fixtures/http/http.ts";
import { scrubbing } from "../fixtures/scrub/scrubbing.ts";

const ROLE = "this token's role may not perform this action";
const UNSCOPED = "restricted to unscoped tokens";
const NOBODY = "missing or invalid bearer token";

interface Row {
  /** Where the route's path has a name, or the query is needed. */
  readonly path?: string;
  readonly body?: object;
  /** The answer has no end of its own. */
  readonly isStream?: true;
  /** The status, or the text of the 403. */
  readonly answers: Readonly<Record<Caller, number | string>>;
}

const READ = { viewer: 200, operator: 200, agent: ROLE, tenantViewer: 200, tenantOperator: 200 } as const;
const COMMAND = { viewer: ROLE, operator: 200, agent: ROLE, tenantViewer: ROLE, tenantOperator: 200 } as const;

/** A node's, and an admin's to look at what a node sees. */
const NODE = { viewer: ROLE, operator: 200, agent: 200, tenantViewer: ROLE, tenantOperator: UNSCOPED } as const;

/** A node's alone. */
const AGENT = { viewer: ROLE, operator: ROLE, tenantViewer: ROLE, tenantOperator: ROLE } as const;

const PAIR = { source: OUTSIDE_HOST, victim: ACME_HOST } as const;

const MATRIX: Readonly<Record<string, Row>> = {
  "GET /api/v1/status": { answers: READ },
  "GET /api/v1/attacks": { answers: READ },
  "GET /api/v1/attacks/:id": {
    path: "/api/v1/attacks/a1",
    // The attack is on another tenant's address: as unknown as one that never was.
    answers: { ...READ, tenantViewer: 404, tenantOperator: 404 },
  },
  "GET /api/v1/session": { answers: READ },
  "GET /api/v1/hosts": { answers: READ },
  "GET /api/v1/hostgroups": { answers: READ },
  "GET /api/v1/config": { answers: READ },
  "GET /api/v1/bans": { answers: READ },
  "GET /api/v1/bans/preview": { path: `/api/v1/bans/preview?ip=${ACME_HOST}`, answers: READ },
  "GET /api/v1/traffic": { path: `/api/v1/traffic?key=${ACME_HOST}`, answers: READ },
  "GET /api/v1/audit": { answers: READ },
  "GET /api/v1/events": { isStream: true, answers: READ },
  "GET /api/v1/openapi.json": { answers: READ },
  "POST /api/v1/ban": { body: { ip: ACME_HOST }, answers: COMMAND },
  // There is no ban: who gets that far is told so.
  "POST /api/v1/unban": { body: { ip: ACME_HOST }, answers: { ...COMMAND, operator: 404, tenantOperator: 404 } },
  "GET /api/v1/dataplane/sources": { answers: READ },
  "POST /api/v1/dataplane/sources": { body: { ...PAIR, ttl_seconds: 60 }, answers: COMMAND },
  // There is no block: who gets that far is told so.
  "POST /api/v1/dataplane/sources/unblock": {
    body: PAIR,
    answers: { ...COMMAND, operator: 404, tenantOperator: 404 },
  },
  "GET /api/v1/dataplane/rules": { answers: NODE },
  "POST /api/v1/dataplane/nodes/:name/report": {
    path: "/api/v1/dataplane/nodes/scrub1/report",
    body: { version: "1" },
    answers: { ...NODE, operator: 204, agent: 204 },
  },
  "GET /api/v1/dataplane/nodes": { answers: { ...READ, tenantViewer: UNSCOPED, tenantOperator: UNSCOPED } },
  "GET /api/v1/edge/zones": { answers: NODE },
  "POST /api/v1/edge/nodes/:name/report": {
    path: "/api/v1/edge/nodes/edge1/report",
    body: { version: "1" },
    answers: { ...NODE, operator: 204, agent: 204 },
  },
  "GET /api/v1/edge/nodes": { answers: { ...READ, tenantViewer: UNSCOPED, tenantOperator: UNSCOPED } },
  "GET /api/v1/edge/zones/status": { answers: READ },
  "GET /api/v1/edge/history": { path: "/api/v1/edge/history?zone=own.example.net", answers: READ },
  "GET /api/v1/edge/history/sources": { path: "/api/v1/edge/history/sources?zone=own.example.net", answers: READ },
  "GET /api/v1/edge/events": { answers: { ...READ, tenantViewer: UNSCOPED, tenantOperator: UNSCOPED } },
  "POST /api/v1/edge/nodes/:name/acme/slot": {
    path: "/api/v1/edge/nodes/edge1/acme/slot",
    body: { zone: "own.example.net" },
    answers: { ...AGENT, agent: 200 },
  },
  // It has no slot: who gets that far is told so.
  "POST /api/v1/edge/nodes/:name/acme/challenges": {
    path: "/api/v1/edge/nodes/edge1/acme/challenges",
    body: { zone: "foreign.example.net", token: "t", key_authorization: "t.k" },
    answers: { ...AGENT, agent: 409 },
  },
  "POST /api/v1/edge/zones/:name/challenge": {
    path: "/api/v1/edge/zones/own.example.net/challenge",
    body: { mode: "auto", ttl_seconds: 60 },
    answers: COMMAND,
  },
  "DELETE /api/v1/edge/zones/:name/challenge": {
    path: "/api/v1/edge/zones/foreign.example.net/challenge",
    answers: { ...COMMAND, tenantOperator: 404 },
  },
  "POST /api/v1/config/reload": { answers: { ...COMMAND, tenantOperator: UNSCOPED } },
};

/** Without a token (docs/interface.md#open-without-a-token). */
const OPEN = ["GET /metrics", "GET /healthz", "GET /", "GET /assets/:name"];
const LINES = Object.keys(MATRIX);
const COMMANDS = LINES.filter((line) => line.startsWith("POST "));

let server: TestServer;

function lineOf({ method, path }: Pick<Route, "method" | "path">): string {
  return `${method} ${path}`;
}

function routeOf(line: string): Route | undefined {
  return server.http.routes.find((route) => lineOf(route) === line);
}

/** Who may ask for it. */
function callerOf(line: string): Caller {
  return MATRIX[line]?.answers.operator === ROLE
    ? "agent"
    : MATRIX[line]?.answers.viewer === 200
      ? "viewer"
      : "operator";
}

function ask(line: string, headers: Readonly<Record<string, string>>, init: RequestInit = {}): Promise<Response> {
  const [method = "", template = ""] = line.split(" ");
  const { path = template.replace(":name", "main.js"), body }: Partial<Row> = MATRIX[line] ?? {};
  const given = body === undefined ? {} : { body: JSON.stringify(body) };
  return fetch(server.base + path, { method, headers: { ...JSON_TYPE, ...headers }, ...given, ...init });
}

beforeAll(() => {
  server = TestServer.started();
  admitCallers(server);
  const { backend } = server;
  backend.scrub.reconfigure(scrubbing({ name: "scrub1" }));
  const zones = [{ name: "own.example.net", tenant: "acme" }, { name: "foreign.example.net" }];
  backend.edge.reconfigure(edgeConfig({ nodes: [{ name: "edge1" }], zones }));
  backend.attacksView = { active: [{ attack: attack({ target: address(OTHER_HOST) }), ban: null }], recent: [] };
});
afterAll(() => server.http.stop());
beforeEach(() => {
  server.backend.calls.length = 0;
  server.backend.ready = true;
});

test("role matrix has every route, and no other", () => {
  const routes = server.http.routes.map(lineOf);
  expect(routes.toSorted()).toEqual([...LINES, ...OPEN].toSorted());
  expect(server.http.routes.filter(({ access }) => access === "open").map(lineOf)).toEqual(OPEN);
});

test.each(OPEN)("role matrix %s answers anyone", async (line) => {
  for (const headers of [{}, bearer("wrong"), as("agent")]) expect((await ask(line, headers)).status).toBe(200);
});

const EACH = Object.entries(MATRIX).flatMap(([line, { answers }]) =>
  Object.entries(answers).map(([caller, answer]) => [line, caller as Caller, answer] as const),
);
test.each(EACH)("role matrix %s by %s: %s", async (line, caller, expected) => {
  const answer = await ask(line, as(caller));
  if (typeof expected === "string") {
    await expectError(answer, 403, expected);
    expect(server.backend.calls).toEqual([]);
    return;
  }
  expect(answer.status).toBe(expected);
  if (MATRIX[line]?.isStream) await answer.body?.cancel();
  else await expectContract(line, answer);
});

/** The answer is what the route says of itself (docs/interface.md#answers-are-json). */
async function expectContract(line: string, answer: Response): Promise<void> {
  const { schema = ErrorWire } = routeOf(line)?.about?.answers[answer.status] ?? {};
  const text = await answer.text();
  if (schema === null) expect(text).toBe("");
  else expect([...Value.Errors(schema, JSON.parse(text))]).toEqual([]);
  if (schema !== null) expect(answer.headers.get("content-type")).toBe("application/json");
}

test.each(LINES.filter((line) => line.startsWith("GET ") && !MATRIX[line]?.isStream))(
  "answers are JSON objects: %s",
  async (line) => {
    const answer = await ask(line, as(callerOf(line)));
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(await answer.json()).toBeObject();
  },
);

test.each([...LINES, ...OPEN].filter((line) => line.startsWith("GET ")))(
  "HEAD of %s is GET without the body",
  async (line) => {
    const answer = await ask(line, MATRIX[line] === undefined ? {} : as(callerOf(line)), { method: "HEAD" });
    expect([answer.status, await answer.text()]).toEqual([200, ""]);
    if (MATRIX[line] === undefined) return;
    expect((await ask(line, {}, { method: "HEAD" })).status).toBe(401);
    expect((await ask(line, as("agent"), { method: "HEAD" })).status).toBe(
      MATRIX[line]?.answers.agent === ROLE ? 403 : 200,
    );
  },
);

test.each(LINES)("token check: %s", async (line) => {
  for (const headers of [{}, bearer("wrong")]) await expectError(await ask(line, headers), 401, NOBODY);
  expect(server.backend.calls).toEqual([]);
});

test.each(COMMANDS)("content type: %s takes JSON alone", async (line) => {
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json, text/plain"]) {
    const answer = await ask(line, { ...as(callerOf(line)), "content-type": type });
    await expectError(answer, 415, "Content-Type must be application/json");
  }
  expect(server.backend.calls).toEqual([]);
});

test.each(COMMANDS)("error 415 of %s without a media type, also without a body", async (line) => {
  const headers = { ...as(callerOf(line)), "content-type": "" };
  for (const init of [{}, { body: null }]) expect((await ask(line, headers, init)).status).toBe(415);
});

test.each(LINES)("error 503 of %s while the service starts, once the caller may ask", async (line) => {
  server.backend.ready = false;
  await expectError(await ask(line, as(callerOf(line))), 503, "the service is starting");
  await expectError(await ask(line, {}), 401, NOBODY);
});

test.each(COMMANDS)("error 413 of %s for a body that is too large", async (line) => {
  const bodyBytesMax = /\/(acme\/|:name\/challenge)/.test(line) ? 4096 : BODY_BYTES_MAX;
  const bodyName = line.endsWith("/report") ? "report" : "request body";
  const answer = await ask(line, as(callerOf(line)), { body: "x".repeat(bodyBytesMax + 1) });
  expect((await ask(line, as(callerOf(line)), { body: "x".repeat(bodyBytesMax) })).status).toBe(400);
  await expectError(answer, 413, `${bodyName} exceeds ${bodyBytesMax / 1024} KiB`);
});

test.each(COMMANDS)("error 400 of %s for what is no JSON", async (line) => {
  const broken = await ask(line, as(callerOf(line)), { body: '{"ip"' });
  await expectError(broken, 400, expect.stringContaining("invalid JSON body: "));
  expect(server.backend.calls).toEqual([]);
});

test.each(LINES)("error 404 of %s by another method", async (line) => {
  for (const method of ["PUT", "PATCH", "OPTIONS"]) {
    await expectError(await ask(line, as(callerOf(line)), { method }), 404, "not found");
  }
});
