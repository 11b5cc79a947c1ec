/** The table of endpoints, its general rules and the reads (docs/interface.md#endpoints), over a real listener. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { attack, ban, host, NOON } from "../fixtures/browser/views.ts";
import { address } from "../fixtures/host-rows.ts";
import {
  ACME_HOST,
  admitCallers,
  as,
  type Caller,
  OTHER_HOST,
  tenancyOf,
  UNOWNED_HOST,
} from "../fixtures/http/callers.ts";
import { TestServer } from "../fixtures/http/http.ts";

const READS = [
  "status",
  "attacks",
  "hosts",
  "hosts?limit=1",
  "session",
  "hostgroups",
  "config",
  "bans",
  `bans/preview?ip=${ACME_HOST}`,
  `traffic?key=${ACME_HOST}`,
  "audit",
  "openapi.json",
  "edge/nodes",
  "edge/zones/status",
  "edge/history?zone=www.example.net",
  "edge/history/sources?zone=www.example.net",
  "edge/events",
];

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
});
afterEach(() => server.http.stop());

const get = (path: string, caller: Caller = "viewer") => fetch(server.base + path, { headers: as(caller) });
const post = (path: string, body: string, caller: Caller = "operator") =>
  fetch(server.base + path, { method: "POST", headers: { ...as(caller), "content-type": "application/json" }, body });

describe("answers are JSON:", () => {
  test.each(READS)("GET /api/v1/%s is JSON", async (name) => {
    const answer = await get(`/api/v1/${name}`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(await answer.json()).toBeObject();
  });

  test.each([
    ["GET", "/api/v1/nowhere", 404],
    ["GET", "/api/v1/attacks/none", 404],
    ["GET", "/api/v1/audit?from=x", 400],
    ["POST", "/api/v1/ban", 415],
  ])("%s %s is an error in JSON: %d", async (method, path, status) => {
    const answer = await fetch(server.base + path, { method, headers: as("operator") });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([status, "application/json"]);
    expect(await answer.json()).toEqual({ error: expect.any(String) });
  });
});

test.each([
  "/api/v1/ban",
  "/api/v1/unban",
  "/api/v1/config/reload",
  "/api/v1/dataplane/sources",
  "/api/v1/dataplane/sources/unblock",
  "/api/v1/dataplane/nodes/s1/report",
  "/api/v1/edge/nodes/e1/report",
])("content type: POST %s without the JSON content type is 415, also without a body", async (path) => {
  for (const type of [null, "text/plain", "application/x-www-form-urlencoded"]) {
    const headers = type === null ? as("operator") : { ...as("operator"), "content-type": type };
    expect((await fetch(server.base + path, { method: "POST", headers })).status).toBe(415);
  }
});

test("token check: every route under /api/v1 goes through it", async () => {
  const guarded = server.http.routes.filter(({ path }) => path.startsWith("/api/v1/"));
  expect(guarded.length).toBeGreaterThan(9);
  for (const { method, path } of guarded) {
    const answer = await fetch(server.base + path, { method });
    expect(`${method} ${path} ${answer.status}`).toBe(`${method} ${path} 401`);
  }
});

test("GET /api/v1/status is the status object", async () => {
  expect(await (await get("/api/v1/status")).json()).toMatchObject({ version: "1.2.3", role: "viewer" });
});

test("GET /api/v1/attacks is {active, recent}", async () => {
  const over = attack({ id: "a0", endedAt: NOON });
  server.service.attacksView = { active: [{ attack: attack(), ban: null }], recent: [{ attack: over, ban: null }] };
  const wire = (await (await get("/api/v1/attacks")).json()) as Record<string, { id: string }[]>;
  expect(Object.keys(wire)).toEqual(["active", "recent"]);
  expect([wire["active"]?.map(({ id }) => id), wire["recent"]?.map(({ id }) => id)]).toEqual([["a1"], ["a0"]]);
});

describe("GET /api/v1/attacks/{id}", () => {
  test("finds an attack in progress, one that is over, and one of the history", async () => {
    const view = (id: string) => ({ attack: attack({ id }), ban: null });
    server.service.attacksView = { active: [view("a1")], recent: [view("a2")] };
    server.service.storedAttacks.set("a3", view("a3"));
    for (const id of ["a1", "a2", "a3"]) {
      const answer = await get(`/api/v1/attacks/${id}`);
      expect([answer.status, await answer.json()]).toMatchObject([200, { id, target: "192.0.2.1", tenant: "acme" }]);
    }
  });

  test("of another tenant is as unknown as one that never was, to the byte", async () => {
    server.service.attacksView = {
      active: [{ attack: attack({ id: "theirs", target: address(OTHER_HOST) }), ban: null }],
      recent: [{ attack: attack({ id: "ours", target: address(ACME_HOST), endedAt: NOON }), ban: null }],
    };
    const answers = await Promise.all(
      ["theirs", "none", "%20", "x".repeat(3000)].map(async (id) => {
        const answer = await get(`/api/v1/attacks/${id}`, "tenantViewer");
        return `${answer.status} ${[...answer.headers.keys()].join()} ${await answer.text()}`;
      }),
    );
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toStartWith("404 ");
    expect(answers[0]).toEndWith('{"error":"unknown attack"}');
    expect((await get("/api/v1/attacks/ours", "tenantViewer")).status).toBe(200);
  });
});

test("GET /api/v1/hosts is {hosts}, all of them without parameters", async () => {
  server.service.hostViews = Array.from({ length: 1500 }, (_, i) => host({ target: `192.0.${i >> 8}.${i & 255}` }));
  const wire = (await (await get("/api/v1/hosts")).json()) as { hosts: unknown[] };
  expect(Object.keys(wire)).toEqual(["hosts"]);
  expect(wire.hosts).toHaveLength(1500);
});

describe("GET /api/v1/hosts with parameters", () => {
  test("is a page in the order asked for, with where to go on", async () => {
    server.service.hostViews = ["192.0.2.3", "192.0.2.1", "192.0.2.2"].map((target) => host({ target }));
    const first = (await (await get("/api/v1/hosts?limit=2")).json()) as { next: string };
    expect(first).toMatchObject({ hosts: [{ target: "192.0.2.1" }, { target: "192.0.2.2" }], total: 3 });
    const rest = await (await get(`/api/v1/hosts?limit=2&after=${first.next}`)).json();
    expect(rest).toMatchObject({ hosts: [{ target: "192.0.2.3" }], total: 3 });
    expect(rest).not.toHaveProperty("next");
  });

  test("that are wrong is 400 and names the parameter", async () => {
    for (const name of ["limit", "sort", "after", "q", "group"]) {
      const answer = await get(`/api/v1/hosts?${name}=`);
      expect([answer.status, await answer.json()]).toEqual([400, { error: expect.stringContaining(name) }]);
    }
    expect(server.service.calls).toEqual([]);
  });
});

test("GET /api/v1/bans is {bans}, active and historical", async () => {
  server.service.banViews = [
    { ban: ban({ target: "192.0.2.2", state: "withdrawn", withdrawnAt: NOON }), routeState: null },
    { ban: ban({ target: "192.0.2.1" }), routeState: null },
  ];
  const wire = (await (await get("/api/v1/bans")).json()) as { bans: { target: string; state: string }[] };
  expect(Object.keys(wire)).toEqual(["bans"]);
  expect(wire.bans.map(({ target, state }) => `${target} ${state}`)).toEqual([
    "192.0.2.1 active",
    "192.0.2.2 withdrawn",
  ]);
});

test("GET /api/v1/bans shows a ban that was answered just before, also while the list is being read", async () => {
  server.service.banViews = Array.from({ length: 5000 }, (_, i) => ({
    ban: ban({ target: `10.0.${i >> 8}.${i & 255}` }),
    routeState: null,
  }));
  const early = get("/api/v1/bans");
  await get("/api/v1/status");
  server.service.banViews = [...server.service.banViews, { ban: ban({ target: "192.0.2.7" }), routeState: null }];
  expect(await (await get("/api/v1/bans")).text()).toContain("192.0.2.7");
  expect((await early).status).toBe(200);
});

test("GET /api/v1/openapi.json describes the API", async () => {
  expect(await (await get("/api/v1/openapi.json")).json()).toMatchObject({ openapi: "3.1.0" });
});

test("GET /metrics needs no token and is text in the exposition format", async () => {
  const answer = await fetch(`${server.base}/metrics`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(await answer.text()).toContain("# TYPE svc_api_requests_total counter");
});

test("GET /healthz is 503 starting until all components have started, then 200 ok, without a newline", async () => {
  server.service.ready = false;
  const starting = await fetch(`${server.base}/healthz`);
  expect([starting.status, await starting.text()]).toEqual([503, "starting"]);
  server.service.ready = true;
  const ready = await fetch(`${server.base}/healthz`);
  expect([ready.status, await ready.text()]).toEqual([200, "ok"]);
});

test.each(["/metrics", "/healthz", "/api/v1/status", "/api/v1/attacks", "/api/v1/openapi.json"])(
  "HEAD %s is GET without the body",
  async (path) => {
    const [full, head] = await Promise.all([
      get(path),
      fetch(server.base + path, { method: "HEAD", headers: as("viewer") }),
    ]);
    expect([head.status, head.headers.get("content-type")]).toEqual([full.status, full.headers.get("content-type")]);
    expect(await head.text()).toBe("");
  },
);

describe("tenants see only their own rows:", () => {
  const targets = [ACME_HOST, OTHER_HOST, UNOWNED_HOST];

  beforeEach(() => {
    const groups = ["web", "mail", "global"];
    server.service.hostViews = targets.map((target, i) => host({ target, group: groups[i] ?? "global" }));
    server.service.banViews = targets.map((target) => ({ ban: ban({ target, manual: true }), routeState: null }));
    server.service.attacksView = {
      active: targets.map((target) => ({ attack: attack({ target: address(target) }), ban: null })),
      recent: targets.map((target) => ({ attack: attack({ target: address(target), endedAt: NOON }), ban: null })),
    };
  });

  test.each([
    ["/api/v1/attacks", 2],
    ["/api/v1/hosts", 1],
    ["/api/v1/hosts?limit=10", 1],
    ["/api/v1/hosts?q=192.0.2.&sort=-pps", 1],
    ["/api/v1/hosts?group=mail", 0],
    ["/api/v1/bans", 1],
  ])("GET %s", async (path, rows) => {
    const text = await (await get(path, "tenantViewer")).text();
    expect(text.match(/"target":/g) ?? []).toHaveLength(rows);
    for (const foreign of [OTHER_HOST, UNOWNED_HOST, "mail", '"other"']) expect(text).not.toContain(foreign);
    const whole = await (await get(path)).text();
    expect((whole.match(/"target":/g) ?? []).length).toBeGreaterThan(rows);
  });

  test("whoever asked before", async () => {
    const all = await Promise.all(
      (["viewer", "tenantViewer", "operator", "tenantOperator"] as const).map(async (caller) => {
        const { bans } = (await (await get("/api/v1/bans", caller)).json()) as { bans: unknown[] };
        const { hosts } = (await (await get("/api/v1/hosts", caller)).json()) as { hosts: unknown[] };
        return [bans.length, hosts.length];
      }),
    );
    expect(all).toEqual([
      [3, 3],
      [1, 1],
      [3, 3],
      [1, 1],
    ]);
  });

  test("also after a reload that gave the address to another tenant", async () => {
    await get("/api/v1/hosts", "tenantViewer");
    server.service.ownership = tenancyOf(`networks: [192.0.2.0/24]
tenant: other
thresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}
`);
    for (const path of ["/api/v1/hosts", "/api/v1/bans", "/api/v1/attacks"]) {
      expect(await (await get(path, "tenantViewer")).text()).not.toContain(ACME_HOST);
    }
  });
});

test("POST /api/v1/config/reload is for unscoped operators, with an empty body", async () => {
  expect((await post("/api/v1/config/reload", "")).status).toBe(200);
  expect((await post("/api/v1/config/reload", "{}", "tenantOperator")).status).toBe(403);
});
