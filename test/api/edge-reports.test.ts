/**
 * Reports of edge nodes and their inventory, statement by statement (docs/interface.md#edge-report), over a real
 * listener.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { EdgeInventoryWire } from "../../src/http/wire/edge/node.ts";
import { BODY_BYTES_MAX } from "../../src/limits.ts";
import { zoneWire } from "../fixtures/edge/edge-reports.ts";
import { EDGE_TOKENS, EDGE_WORLD, EdgeWorld } from "../fixtures/edge/edge-world.ts";
import { RawHttp } from "../fixtures/http/raw-http.ts";
import { scrubbing } from "../fixtures/scrub/scrubbing.ts";

/** All that docs/interface.md#edge-report names. */
const REPORT = {
  version: "3.2.1",
  dry_run: false,
  zones_etag: '"abc"',
  terminator: {
    kind: "nginx",
    version: "1.27.4",
    alive: true,
    generation: 12,
    test_ok: true,
    h3: {
      state: "ready",
      module: "built in",
      tls_library: "OpenSSL 3.5",
      early_data_capable: false,
      advisory: "",
      serving: ["shop.example"],
      unsupported: [],
      listening: true,
    },
  },
  certs: [{ zone: "shop.example", not_after: "2026-06-01T00:00:00Z", issuer: "CA" }],
  certs_truncated: 0,
  zones: [
    zoneWire("shop.example", {
      decided: 90,
      denied: 5,
      challenged: 4,
      cleared: 3,
      would_deny: 2,
      would_challenge: 1,
      status_2xx: 80,
      status_3xx: 1,
      status_4xx: 12,
      status_5xx: 7,
      h3_requests: 40,
      dry_run: false,
      rung_dry_run: true,
      challenge_active: { reason: "auto", until: "2026-03-01T12:05:00Z", dry_run: true },
      top_sources: [
        { source: "192.0.2.7", rps: 0.2, requests: 2, state: "would-deny" },
        { source: "192.0.2.8", rps: 0.5, requests: 5, state: "denied" },
        { source: "192.0.2.9", rps: 9, requests: 90, state: "allow" },
      ],
      sources_truncated: 0,
    }),
  ],
  zones_truncated: 0,
  sources_truncated: 0,
};
const PATH = "/api/v1/edge/nodes/e1/report";

let world: EdgeWorld;

beforeEach(() => {
  world = new EdgeWorld();
});
afterEach(() => world.stop());

describe("edge report", () => {
  test("is stored and returned by the inventory as it came, with the time at which it came", async () => {
    world.server.clock.advance(1500);
    expect(await world.report("e1", REPORT)).toEqual({ status: 204, body: null });
    expect(await world.node()).toMatchObject({ report: REPORT, reported_at: "2026-03-01T12:00:01.500Z" });
  });

  test("keeps the keys that nobody knows, and need not have any", async () => {
    const report = { kernel: { modules: ["a", null, 1.5] }, zones: [{ zone: "shop.example", weight: 3 }] };
    await world.report("e1", report);
    expect((await world.node())["report"]).toEqual(report);
    await world.report("e1", {});
    expect((await world.node())["report"]).toEqual({});
  });

  test("that came last counts, of each node", async () => {
    await world.report("e1", REPORT);
    await world.report("e2", { version: "9" });
    await world.report("e1", { version: "4" });
    expect([(await world.node("e1"))["report"], (await world.node("e2"))["report"]]).toEqual([
      { version: "4" },
      { version: "9" },
    ]);
  });

  test.each([
    [{ version: 1 }, "version must be a string"],
    [
      { zones: [{ zone: "shop.example", requests: -1 }] },
      "zones/0/requests: expected integer to be greater or equal to 0",
    ],
    ['{"zones":[{"zone":"shop.example","rps":1e999}]}', "zones/0/rps must be a number"],
    ['{"zones":[{"zone":"shop.example","rps":NaN}]}', 'Unexpected identifier "NaN"'],
    [[], "not an object"],
  ])("%j is refused, and the one before stays", async (report, error) => {
    await world.report("e1", REPORT);
    expect(await world.report("e1", report)).toEqual({ status: 400, body: { error: `invalid JSON body: ${error}` } });
    expect((await world.node())["report"]).toEqual(REPORT);
  });

  test("of thousands of zones is taken", async () => {
    const zones = Array.from({ length: 3000 }, (_, i) => ({ zone: `z${i}` }));
    expect((await world.report("e1", { zones })).status).toBe(204);
    expect(await world.zone()).toMatchObject({ nodes: 0 });
  });
});

describe("POST /api/v1/edge/nodes/{name}/report", () => {
  test("is answered 204 without a body", async () => {
    expect(await world.report("e1", REPORT)).toEqual({ status: 204, body: null });
  });

  test("is 404 for an unknown name", async () => {
    expect(await world.report("e9", REPORT, "admin")).toEqual({ status: 404, body: { error: "unknown edge node" } });
  });

  test("is 404 for a node that a reload has removed while the body came", async () => {
    const body = JSON.stringify(REPORT);
    const request = await RawHttp.connect(world.server.port);
    const head = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer n1\r\nContent-Type: application/json\r\n`;
    await request.write(`${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, 100)}`);
    await world.get("/api/v1/edge/nodes");
    world.configure({ ...EDGE_WORLD, nodes: [{ name: "e2" }] });
    await request.write(body.slice(100));
    expect((await request.answer()).status).toBe(404);
    request.close();
  });

  test("that says it is too long is 413 with nothing read", async () => {
    const request = await RawHttp.connect(world.server.port);
    const head = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer n1\r\nContent-Type: application/json\r\n`;
    await request.write(`${head}Content-Length: ${BODY_BYTES_MAX + 1}\r\n\r\n`);
    expect(await request.answer()).toEqual({ status: 413, body: '{"error":"report exceeds 64 KiB"}' });
    request.close();
    expect(await world.node()).not.toHaveProperty("report");
  });

  test("is never a liveness signal", async () => {
    await world.report("e1", REPORT);
    expect(await world.node()).toMatchObject({ alive: false });
    expect(await world.node()).not.toHaveProperty("last_seen");
  });

  test("of a bound token for another node, known or not, is a uniform 403 that stores nothing", async () => {
    const refused = { status: 403, body: { error: "this token is bound to another node" } };
    expect(await world.report("e2", REPORT, "n1")).toEqual(refused);
    expect(await world.report("e9", REPORT, "n1")).toEqual(refused);
    expect(await world.node("e2")).not.toHaveProperty("report");
    expect(await world.metric('svc_api_node_binding_refused_total{route="edge_report"}')).toBe(2);
  });

  test("of an unbound agent, or of an operator without a tenant, is taken for any node", async () => {
    world.admit(...EDGE_TOKENS, { name: "any", tokenEnv: "any", role: "agent", tenant: null, node: null });
    expect((await world.report("e2", REPORT, "any")).status).toBe(204);
    expect((await world.report("e1", REPORT, "admin")).status).toBe(204);
    expect((await world.report("e1", REPORT, "eyes")).status).toBe(403);
    expect((await world.report("e1", REPORT, "acme-op")).status).toBe(403);
  });
});

describe("edge inventory", () => {
  test("has nodes_total, stale_after_seconds and each configured node with its config, in its order", async () => {
    world.configure({
      ...EDGE_WORLD,
      nodes: [{ name: "e3", hostgroups: ["web"] }, { name: "e1" }],
      staleAfterSeconds: 60,
    });
    expect(await world.inventory()).toEqual({
      status: 200,
      body: {
        nodes_total: 2,
        stale_after_seconds: 60,
        nodes: [
          { name: "e3", alive: false, holding: false, hostgroups: ["web"], zones_placed: 4, tokens: ["n3"] },
          { name: "e1", alive: false, holding: false, hostgroups: ["global"], zones_placed: 3, tokens: ["n1"] },
        ],
      },
    });
  });

  test("is as its schema says, and empty without nodes", async () => {
    await world.report("e1", REPORT);
    await world.poll("e1", "e2");
    expect([...Value.Errors(EdgeInventoryWire, (await world.inventory()).body)]).toEqual([]);
    world.server.service.edge.reconfigure(null);
    expect((await world.inventory()).body).toEqual({ nodes_total: 0, stale_after_seconds: 15, nodes: [] });
  });

  test("has alive, holding, last_seen and last_token of a node's polls, and none of the latter before the first", async () => {
    expect(Object.keys(await world.node())).toEqual([
      "name",
      "alive",
      "holding",
      "hostgroups",
      "zones_placed",
      "tokens",
    ]);
    await world.poll("e1");
    world.server.clock.advance(15_000);
    const seen = { last_seen: "2026-03-01T12:00:00.000Z", last_token: "n1" };
    expect(await world.node()).toMatchObject({ alive: true, holding: false, ...seen });
    world.server.clock.advance(1);
    expect(await world.node()).toMatchObject({ alive: false, ...seen });
  });

  test("has a node's hostgroups and zones_placed always, and follows a reload", async () => {
    expect(await world.node("e3")).toMatchObject({ hostgroups: ["web"], zones_placed: 4 });
    world.configure({ ...EDGE_WORLD, zones: [] });
    expect(await world.node("e3")).toMatchObject({ hostgroups: ["web"], zones_placed: 0 });
  });

  test("names the tokens that are bound to a node, and leaves them out where there is none", async () => {
    world.admit(
      { name: "n1", tokenEnv: "n1", role: "agent", tenant: null, node: "e1" },
      { name: "next1", tokenEnv: "next1", role: "agent", tenant: null, node: "e1" },
      { name: "eyes", tokenEnv: "eyes", role: "viewer", tenant: null, node: null },
    );
    expect((await world.node("e1"))["tokens"]).toEqual(["n1", "next1"]);
    expect(await world.node("e2")).not.toHaveProperty("tokens");
  });

  test("has unbound_agent_tokens only while an agent's token is unbound and there are nodes to bind it to", async () => {
    const unbound = async () => (await world.inventory()).body["unbound_agent_tokens"];
    expect(await unbound()).toBeUndefined();
    world.admit(...EDGE_TOKENS, { name: "any", tokenEnv: "any", role: "agent", tenant: null, node: null });
    expect(await unbound()).toEqual(["any"]);
    world.server.service.edge.reconfigure(null);
    expect(await unbound()).toBeUndefined();
    world.server.service.scrub.reconfigure(scrubbing({ name: "s1" }));
    expect(await unbound()).toEqual(["any"]);
  });

  test("never holds a secret", async () => {
    for (const token of EDGE_TOKENS) world.server.secrets.set(token.tokenEnv, `secret-${token.name}`);
    await fetch(`${world.server.base}/api/v1/edge/zones?node=e1`, { headers: { authorization: "Bearer secret-n1" } });
    const { body } = await world.inventory("secret-eyes");
    expect(JSON.stringify(body)).toContain('"last_token":"n1"');
    expect(JSON.stringify(body)).not.toContain("secret-");
  });

  test("forgets reports of nodes that a reload removes", async () => {
    await world.report("e1", REPORT);
    await world.report("e2", REPORT);
    world.configure({ ...EDGE_WORLD, nodes: [{ name: "e2" }] });
    world.configure(EDGE_WORLD);
    expect(await world.node("e1")).not.toHaveProperty("report");
    expect(await world.node("e2")).toHaveProperty("report");
  });
});

describe("GET /api/v1/edge/nodes", () => {
  test.each([
    ["eyes", 200],
    ["admin", 200],
    ["n1", 403],
    ["acme", 403],
    ["acme-op", 403],
    ["nobody", 401],
  ])("is answered to %s with %d", async (token, status) => {
    expect((await world.inventory(token)).status).toBe(status);
  });
});

test.each([
  [BODY_BYTES_MAX, 204],
  [BODY_BYTES_MAX + 1, 413],
])("limit report body of %d bytes is answered %d", async (bytes, status) => {
  const report = `{"x":"${"a".repeat(bytes - 8)}"}`;
  expect(report).toHaveLength(bytes);
  const answer = await world.report("e1", report);
  expect(answer).toEqual({ status, body: status === 413 ? { error: "report exceeds 64 KiB" } : null });
  expect(await world.node()).toMatchObject(status === 413 ? { name: "e1" } : { report: JSON.parse(report) });
});
