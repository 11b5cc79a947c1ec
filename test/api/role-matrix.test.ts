/** Every route that there is, asked by everyone: a route without a row here fails. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Route } from "../../src/http/route.ts";
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
import { TestServer } from "../fixtures/http/http.ts";
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

let server: TestServer;

beforeAll(() => {
  server = TestServer.started();
  admitCallers(server);
  server.service.scrub.reconfigure(scrubbing({ name: "scrub1" }));
  const zones = [{ name: "own.example.net", tenant: "acme" }, { name: "foreign.example.net" }];
  server.service.edge.reconfigure(edgeConfig({ nodes: [{ name: "edge1" }], zones }));
  server.service.attacksView = { active: [{ attack: attack({ target: address(OTHER_HOST) }), ban: null }], recent: [] };
});
afterAll(() => server.http.stop());
beforeEach(() => {
  server.service.calls.length = 0;
});

function lineOf({ method, path }: Pick<Route, "method" | "path">): string {
  return `${method} ${path}`;
}

function ask(line: string, headers: Readonly<Record<string, string>>): Promise<Response> {
  const [method = "", template = ""] = line.split(" ");
  const { path = template.replace(":name", "main.js"), body }: Partial<Row> = MATRIX[line] ?? {};
  return fetch(server.base + path, {
    method,
    headers: { ...headers, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

test("role matrix has every route, and no other", () => {
  const routes = server.http.routes.map(lineOf);
  expect(routes.toSorted()).toEqual([...Object.keys(MATRIX), ...OPEN].toSorted());
  expect(server.http.routes.filter(({ access }) => access === "open").map(lineOf)).toEqual(OPEN);
});

describe.each(OPEN)("role matrix %s", (line) => {
  test.each([{}, bearer("wrong"), as("agent")])("answers anyone, as %j", async (headers) => {
    expect((await ask(line, headers)).status).toBe(200);
  });
});

describe.each(Object.entries(MATRIX))("role matrix %s", (line, { answers, isStream }) => {
  test.each([
    ["no token", {}],
    ["a wrong token", bearer("wrong")],
  ])("%s: 401", async (_, headers) => {
    const answer = await ask(line, headers);
    expect([answer.status, await answer.json()]).toEqual([401, { error: NOBODY }]);
    expect(server.service.calls).toEqual([]);
  });

  test.each(Object.entries(answers) as [Caller, number | string][])("%s: %s", async (caller, expected) => {
    const answer = await ask(line, as(caller));
    if (typeof expected === "number") {
      expect(answer.status).toBe(expected);
      await (isStream === true ? answer.body?.cancel() : answer.text());
    } else {
      expect([answer.status, await answer.json()]).toEqual([403, { error: expected }]);
      expect(server.service.calls).toEqual([]);
    }
  });

  test("HEAD is as guarded as GET", async () => {
    if (!line.startsWith("GET ")) return;
    const head = line.replace("GET ", "HEAD ");
    expect((await fetch(server.base + pathOf(line), { method: "HEAD" })).status).toBe(401);
    expect((await ask(head, as("agent"))).status).toBe(answers.agent === ROLE ? 403 : 200);
  });
});

function pathOf(line: string): string {
  return MATRIX[line]?.path ?? line.slice(line.indexOf(" ") + 1);
}
