/**
 * Reports of scrub and edge nodes and their inventories, statement by statement (docs/interface.md#edge-report), over a
 * real listener. Whatever holds of both channels is asked of both.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { EdgeInventoryWire } from "../../src/http/wire/edge/node.ts";
import { ScrubInventoryWire } from "../../src/http/wire/scrub-node.ts";
import { BODY_BYTES_MAX } from "../../src/limits.ts";
import { EdgeChannelServer } from "../fixtures/edge/edge-channel.ts";
import { zoneWire } from "../fixtures/edge/edge-reports.ts";
import { address } from "../fixtures/host-rows.ts";
import { agent, channelTokens, type NodeChannel } from "../fixtures/http/node-channel.ts";
import { ScrubChannel } from "../fixtures/scrub/scrub-channel.ts";
import { divertedBan, scrubbing } from "../fixtures/scrub/scrubbing.ts";

const SCRUB_REPORT = {
  version: "1.4.0",
  xdp_mode: "native",
  dry_run: false,
  load_pps: 1200.5,
  load_mbps: 9.75,
  dropped_packets: 1000,
  dropped_bytes: 64_000,
  rules_etag: '"abc"',
  capabilities: ["port_ranges"],
};
/** All that docs/interface.md#edge-report names. */
const EDGE_REPORT = {
  version: "3.2.1",
  dry_run: false,
  zones_etag: '"abc"',
  terminator: {
    ...{ kind: "nginx", version: "1.27.4", alive: true, generation: 12, test_ok: true },
    h3: {
      ...{ state: "ready", module: "built in", tls_library: "OpenSSL 3.5", early_data_capable: false, advisory: "" },
      ...{ serving: ["shop.example"], unsupported: [], listening: true },
    },
  },
  certs: [{ zone: "shop.example", not_after: "2026-06-01T00:00:00Z", issuer: "CA" }],
  certs_truncated: 0,
  zones: [
    zoneWire("shop.example", {
      ...{ decided: 90, denied: 5, challenged: 4, cleared: 3, would_deny: 2, would_challenge: 1, h3_requests: 40 },
      ...{ status_2xx: 80, status_3xx: 1, status_4xx: 12, status_5xx: 7, dry_run: false, rung_dry_run: true },
      challenge_active: { reason: "auto", until: "2026-03-01T12:05:00Z", dry_run: true },
      top_sources: [
        { source: "192.0.2.7", rps: 0.2, requests: 2, state: "would-deny" },
        { source: "192.0.2.9", rps: 9, requests: 90, state: "allow" },
      ],
      sources_truncated: 0,
    }),
  ],
  zones_truncated: 0,
  sources_truncated: 0,
};

let channel: NodeChannel<unknown>;
let scrub: ScrubChannel;
let edge: EdgeChannelServer;
afterEach(() => channel.stop());

function openScrub(): void {
  scrub = new ScrubChannel();
  channel = scrub;
}

function openEdge(): void {
  edge = new EdgeChannelServer();
  channel = edge;
}

const NOT_AN_OBJECT = [[], "not an object"] as const;
const KINDS = [
  {
    kind: "scrub",
    path: "/api/v1/dataplane/nodes",
    open: openScrub,
    schema: ScrubInventoryWire,
    report: SCRUB_REPORT,
    nodes: ["s1", "s2"],
    unknown: "unknown scrubbing node",
    configure: (...names: readonly string[]) => scrub.configure(...names),
    close: () => scrub.server.backend.scrub.reconfigure(null),
    wrong: [
      [{ load_mbps: "9" }, "load_mbps must be a number"],
      [{ load_pps: -1 }, "load_pps: expected number to be greater or equal to 0"],
      [{ dry_run: "no" }, "dry_run: expected boolean"],
      [{ capabilities: "port_ranges" }, "capabilities: expected array"],
    ],
  },
  {
    kind: "edge",
    path: "/api/v1/edge/nodes",
    open: openEdge,
    schema: EdgeInventoryWire,
    report: EDGE_REPORT,
    nodes: ["e1", "e2"],
    unknown: "unknown edge node",
    configure: (...names: readonly string[]) => edge.configure({ nodes: names.map((name) => ({ name })) }),
    close: () => edge.edge.reconfigure(null),
    wrong: [
      [{ zones: [{ zone: "a", requests: -1 }] }, "zones/0/requests: expected integer to be greater or equal to 0"],
      ['{"zones":[{"zone":"shop.example","rps":1e999}]}', "zones/0/rps must be a number"],
      ['{"zones":[{"zone":"shop.example","rps":NaN}]}', 'Unexpected identifier "NaN"'],
    ],
  },
] as const;

const advance = (ms: number) => channel.server.clock.advance(ms);

describe.each(KINDS)(
  "POST $path/{name}/report",
  ({ open, report, nodes: [first, second], unknown, configure, kind }) => {
    beforeEach(open);

    test("is answered 204 without a body", async () => {
      expect(await channel.report(first, report)).toEqual({ status: 204, body: null });
    });

    test("is 404 for an unknown name, also by an admin, and for a node that a reload removes while the body comes", async () => {
      const refused = { status: 404, body: { error: unknown } };
      for (const token of ["unbound", "admin"]) expect(await channel.report("x9", report, token)).toEqual(refused);
      const slowly = channel.postSlowly(channel.reportPath(), JSON.stringify(report), "bound1", () =>
        configure(second),
      );
      expect(await slowly).toEqual({ status: 404, body: JSON.stringify({ error: unknown }) });
      configure(first, second);
      expect(await channel.node()).not.toHaveProperty("report");
    });

    test("that says it is too long is 413 with nothing read", async () => {
      const request = await channel.postHead(channel.reportPath(), BODY_BYTES_MAX + 1);
      expect(await request.answer()).toEqual({ status: 413, body: '{"error":"report exceeds 64 KiB"}' });
      request.close();
      expect(await channel.node()).not.toHaveProperty("report");
    });

    test("of a bound token for another node, known or not, is a uniform 403 that stores nothing", async () => {
      const refused = { status: 403, body: { error: "this token is bound to another node" } };
      for (const node of [second, "x9"]) expect(await channel.report(node, report)).toEqual(refused);
      for (const node of (await channel.inventory()).body.nodes) expect(node).not.toHaveProperty("report");
      expect(await channel.metric(`svc_api_node_binding_refused_total{route="${kind}_report"}`)).toBe(2);
      expect(channel.server.audited).toEqual([]);
    });

    test("of an unbound agent, or of an operator without a tenant, is taken for any node", async () => {
      for (const token of ["unbound", "admin"]) expect((await channel.report(second, {}, token)).status).toBe(204);
      for (const token of ["eyes", "acme"]) expect((await channel.report(second, report, token)).status).toBe(403);
      expect((await channel.node(second))["report"]).toEqual({});
    });
  },
);

describe.each(KINDS)("$kind", ({ open, report, nodes: [first, second], wrong, configure, close, schema, kind }) => {
  beforeEach(open);
  const said = kind === "scrub" ? "comes back as it was sent" : "is stored and returned by the inventory as it came";

  test(`report ${said}, with the time at which it came`, async () => {
    advance(1500);
    await channel.report(first, report);
    expect(await channel.node()).toMatchObject({ report, reported_at: "2026-03-01T12:00:01.500Z" });
    expect([...Value.Errors(schema, (await channel.inventory()).body)]).toEqual([]);
  });

  test("report keeps the keys that nobody knows, and need not have any", async () => {
    const odd = { kernel: { modules: ["a", null, 1.5] }, ["__proto__x"]: true, zones: [{ zone: "a", weight: 3 }] };
    for (const sent of [odd, {}]) {
      await channel.report(first, sent);
      expect((await channel.node())["report"]).toEqual(sent);
    }
  });

  test("report that came last counts, of each node", async () => {
    for (const version of ["1", "2"]) await channel.report(first, { version });
    await channel.report(second, { version: "9" }, "bound2");
    expect([(await channel.node())["report"], (await channel.node(second))["report"]]).toEqual([
      { version: "2" },
      { version: "9" },
    ]);
  });

  test.each([[{ version: 1 }, "version must be a string"] as const, NOT_AN_OBJECT, ...wrong])(
    "report %j is refused, and the one before stays",
    async (sent, error) => {
      await channel.report(first, report);
      const refused = { status: 400, body: { error: `invalid JSON body: ${error}` } };
      expect(await channel.report(first, sent)).toEqual(refused);
      expect((await channel.node())["report"]).toEqual(report);
    },
  );

  test("inventory forgets reports and presence of nodes that a reload removes", async () => {
    for (const [node, token] of [
      [first, "bound1"],
      [second, "bound2"],
    ] as const) {
      await channel.report(node, report, token);
      await channel.poll({ node, token });
    }
    configure(second);
    configure(first, second);
    expect(await channel.node(second)).toMatchObject({ alive: true, report });
    const forgotten = await channel.node();
    expect(forgotten).toMatchObject({ alive: false, holding: false });
    for (const field of ["report", "reported_at", "last_seen", "last_token"])
      expect(forgotten).not.toHaveProperty(field);
  });

  test("inventory is empty without nodes", async () => {
    close();
    expect((await channel.inventory()).body).toEqual({ nodes_total: 0, stale_after_seconds: 15, nodes: [] });
  });
});

describe.each(KINDS)("limit report body of a $kind node", ({ open, nodes: [first] }) => {
  beforeEach(open);

  test.each([
    [BODY_BYTES_MAX - 1, 204],
    [BODY_BYTES_MAX, 204],
    [BODY_BYTES_MAX + 1, 413],
  ])("of %d bytes is answered %d", async (bytes, status) => {
    const report = { x: "a".repeat(bytes - 8) };
    expect((await channel.report(first, report)).status).toBe(status);
    expect<unknown>((await channel.node())["report"]).toEqual(status === 413 ? undefined : report);
  });
});

describe.each(KINDS)("GET $path", ({ open, nodes: [first, second] }) => {
  beforeEach(open);

  test("is the inventory, for viewers and operators without a tenant alone", async () => {
    for (const token of ["eyes", "admin"]) {
      expect((await channel.inventory(token)).body).toMatchObject({ nodes: [{ name: first }, { name: second }] });
    }
    for (const token of ["acme", "acme-eyes", "bound1"]) expect((await channel.inventory(token)).status).toBe(403);
  });
});

describe("scrub inventory", () => {
  beforeEach(openScrub);

  test("has nodes_total, stale_after_seconds and each configured node with its config, in its order", async () => {
    const hops = { nextHop: address("198.51.100.9"), nextHop6: address("2001:db8::9") };
    scrub.server.backend.scrub.reconfigure({
      ...scrubbing({ name: "s9", ...hops, capacityMbps: 2500, hostgroups: ["web"] }, { name: "s1", nextHop: null }),
      staleAfterSeconds: 60,
    });
    const state = { alive: false, holding: false, active_bans: 0 };
    const config = { next_hop: "198.51.100.9", next_hop6: "2001:db8::9", capacity_mbps: 2500, hostgroups: ["web"] };
    expect((await scrub.inventory()).body).toEqual({
      nodes_total: 2,
      stale_after_seconds: 60,
      nodes: [
        { name: "s9", ...config, ...state },
        { name: "s1", ...state },
      ],
    });
  });

  test("has the count of bans diverted to a node", async () => {
    const bans = ["192.0.2.1", "192.0.2.2"].map((target) => divertedBan({ target, node: "s1" }));
    scrub.change(...bans, divertedBan({ target: "192.0.2.3", node: "s2" }), divertedBan({ target: "192.0.2.4" }));
    const counts = async () => (await scrub.inventory()).body.nodes.map((node) => node["active_bans"]);
    expect(await counts()).toEqual([2, 1]);
    scrub.change({ ...divertedBan({ target: "192.0.2.1", node: "s2" }) });
    expect(await counts()).toEqual([1, 2]);
    scrub.change(...bans.map((each) => ({ ...each, state: "withdrawn" as const })));
    expect(await counts()).toEqual([0, 1]);
  });
});

test("ban node is the scrub node that a divert ban is frozen to, and absent of one that goes elsewhere", async () => {
  openScrub();
  const bans = [divertedBan({ node: "s1" }), divertedBan({ target: "192.0.2.2" })];
  scrub.server.backend.banViews = bans.map((ban) => ({ ban, routeState: null }));
  const { body } = await scrub.get<{ bans: Record<string, unknown>[] }>("/api/v1/bans");
  expect(body.bans.map(({ node, method }) => [node, method])).toEqual([
    ["s1", "divert"],
    [undefined, "divert"],
  ]);
});

describe("edge inventory", () => {
  beforeEach(openEdge);
  const unbound = async () => (await edge.inventory()).body["unbound_agent_tokens"];

  test("has nodes_total, stale_after_seconds and each configured node with its config, in its order", async () => {
    edge.configure({ nodes: [{ name: "e2", hostgroups: ["web"] }, { name: "e1" }], staleAfterSeconds: 60 });
    const state = { alive: false, holding: false };
    expect((await edge.inventory()).body).toEqual({
      nodes_total: 2,
      stale_after_seconds: 60,
      unbound_agent_tokens: ["unbound"],
      nodes: [
        { name: "e2", ...state, hostgroups: ["web"], zones_placed: 3, tokens: ["bound2"] },
        { name: "e1", ...state, hostgroups: ["global"], zones_placed: 2, tokens: ["bound1"] },
      ],
    });
  });

  test("has a node's hostgroups and zones_placed always, and follows a reload", async () => {
    edge.configure({ zones: [] });
    expect(await edge.node("e2")).toMatchObject({ hostgroups: ["mail"], zones_placed: 0 });
  });

  test("names the tokens that are bound to a node, and leaves them out where there is none", async () => {
    edge.admit(agent("n1", "e1"), agent("next1", "e1"), { ...agent("eyes"), role: "viewer" });
    expect((await edge.node("e1"))["tokens"]).toEqual(["n1", "next1"]);
    expect(await edge.node("e2")).not.toHaveProperty("tokens");
    expect(await unbound()).toBeUndefined();
  });

  test("has unbound_agent_tokens only while there are nodes of some kind to bind them to", async () => {
    expect(await unbound()).toEqual(["unbound"]);
    edge.edge.reconfigure(null);
    expect(await unbound()).toBeUndefined();
    edge.server.backend.scrub.reconfigure(scrubbing({ name: "s1" }));
    expect(await unbound()).toEqual(["unbound"]);
  });

  test("never holds a secret", async () => {
    for (const { name } of channelTokens("e1", "e2")) edge.server.secrets.set(name, `secret-${name}`);
    await edge.poll({ token: "secret-bound1" });
    const { body } = await edge.inventory("secret-eyes");
    expect(JSON.stringify(body)).toContain('"last_token":"bound1"');
    expect(JSON.stringify(body)).not.toContain("secret-");
  });
});

test("an edge report of thousands of zones is taken", async () => {
  openEdge();
  const zones = Array.from({ length: 3000 }, (_, i) => ({ zone: `z${i}` }));
  expect((await edge.report("e1", { zones })).status).toBe(204);
});
