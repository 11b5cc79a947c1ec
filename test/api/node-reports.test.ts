/**
 * Reports of scrub and edge nodes and their inventories, statement by statement (docs/interface.md#edge-report), over a
 * real listener. Whatever holds of both channels is tested on both.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { EdgeInventoryWire } from "../../src/http/wire/edge/node.ts";
import { ScrubInventoryWire } from "../../src/http/wire/scrub-node.ts";
import { EdgeChannelServer } from "../fixtures/edge/edge-channel.ts";
import { zoneWire } from "../fixtures/edge/edge-reports.ts";
import { address } from "../fixtures/host-rows.ts";
import { agent, channelTokens, type NodeChannel } from "../fixtures/http/node-channel.ts";
import { ScrubChannel } from "../fixtures/scrub/scrub-channel.ts";
import { divertedBan, scrubbing } from "../fixtures/scrub/scrubbing.ts";

const SCRUB_REPORT = {
  ...{ version: "1.4.0", xdp_mode: "native", dry_run: false, load_pps: 1200.5, load_mbps: 9.75 },
  ...{ dropped_packets: 1000, dropped_bytes: 64_000, rules_etag: '"abc"', capabilities: ["port_ranges"] },
};
/** All that docs/interface.md#edge-report names. */
const EDGE_REPORT = {
  ...{ version: "3.2.1", dry_run: false, zones_etag: '"abc"', zones_truncated: 0, sources_truncated: 0 },
  terminator: {
    ...{ kind: "nginx", version: "1.27.4", alive: true, generation: 12, test_ok: true },
    h3: {
      ...{ state: "ready", module: "built in", tls_library: "OpenSSL 3.5", early_data_capable: false, advisory: "" },
      ...{ serving: ["shop.example"], unsupported: [], listening: true },
    },
  },
  ...{ certs: [{ zone: "shop.example", not_after: "2026-06-01T00:00:00Z", issuer: "CA" }], certs_truncated: 0 },
  zones: [
    zoneWire("shop.example", {
      ...{ decided: 90, denied: 5, challenged: 4, cleared: 3, would_deny: 2, would_challenge: 1, h3_requests: 40 },
      ...{ status_2xx: 80, status_3xx: 1, status_4xx: 12, status_5xx: 7, dry_run: false, rung_dry_run: true },
      challenge_active: { reason: "auto", until: "2026-03-01T12:05:00Z", dry_run: true },
      ...{ top_sources: [{ source: "192.0.2.7", rps: 0.2, requests: 2, state: "would-deny" }], sources_truncated: 0 },
    }),
  ],
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

const WRONG = [
  ['{"version":1}', "version must be a string"],
  ["[]", "not an object"],
] as const;
const KINDS = [
  {
    ...{ kind: "scrub", path: "/api/v1/dataplane/nodes", open: openScrub, schema: ScrubInventoryWire },
    ...{ report: SCRUB_REPORT, first: "s1", second: "s2", unknown: "unknown scrubbing node" },
    configure: (...names: readonly string[]) => scrub.configure(...names),
    close: () => scrub.server.backend.scrub.reconfigure(null),
    wrong: [
      ...WRONG,
      ['{"load_mbps":"9"}', "load_mbps must be a number"],
      ['{"load_pps":-1}', "load_pps: expected number to be greater or equal to 0"],
      ['{"dry_run":"no"}', "dry_run: expected boolean"],
      ['{"capabilities":"port_ranges"}', "capabilities: expected array"],
    ],
  },
  {
    ...{ kind: "edge", path: "/api/v1/edge/nodes", open: openEdge, schema: EdgeInventoryWire },
    ...{ report: EDGE_REPORT, first: "e1", second: "e2", unknown: "unknown edge node" },
    configure: (...names: readonly string[]) => edge.configure({ nodes: names.map((name) => ({ name })) }),
    close: () => edge.edge.reconfigure(null),
    wrong: [
      ...WRONG,
      ['{"zones":[{"zone":"a","requests":-1}]}', "zones/0/requests: expected integer to be greater or equal to 0"],
      ['{"zones":[{"zone":"shop.example","rps":1e999}]}', "zones/0/rps must be a number"],
      ['{"zones":[{"zone":"shop.example","rps":NaN}]}', 'Unexpected identifier "NaN"'],
    ],
  },
] as const;

const reportOf = async (node?: string) => (await channel.node(node))["report"];

describe.each(KINDS)("POST $path/{name}/report", ({ open, report, first, second, unknown, configure }) => {
  beforeEach(open);

  test("is 404 for an unknown name, also by an admin, and for a node that a reload removes while the body comes #post-api-v1-edge-nodes-name-report #post-api-v1-dataplane-nodes-name-report", async () => {
    const refused = { status: 404, body: { error: unknown } };
    for (const token of ["unbound", "admin"]) expect(await channel.report("x9", report, token)).toEqual(refused);
    const remove = () => configure(second);
    const answer = await channel.postSlowly(channel.reportPath(), JSON.stringify(report), "bound1", remove);
    expect(answer).toEqual({ status: 404, body: JSON.stringify({ error: unknown }) });
    configure(first, second);
    expect(await reportOf()).toBeUndefined();
  });
});

describe.each(KINDS)("$kind", ({ open, report, first, second, wrong, configure, close, schema, kind }) => {
  beforeEach(open);
  const said = kind === "scrub" ? "comes back as it was sent" : "is stored and returned by the inventory as it came";

  test(`report ${said}, with the time at which it came #scrub-report-comes-back #edge-report-is-stored`, async () => {
    channel.server.clock.advance(1500);
    expect(await channel.report(first, report)).toEqual({ status: 204, body: null });
    expect(await channel.node()).toMatchObject({ report, reported_at: "2026-03-01T12:00:01.500Z" });
    expect([...Value.Errors(schema, (await channel.inventory()).body)]).toEqual([]);
  });

  test("report keeps the keys that are not known, and need not have any #scrub-report-keeps-the-keys #edge-report-keeps-the-keys", async () => {
    const odd = { kernel: { modules: ["a", null, 1.5] }, ["__proto__x"]: true, zones: [{ zone: "a", weight: 3 }] };
    for (const sent of [odd, {}]) {
      await channel.report(first, sent);
      expect(await reportOf()).toEqual(sent);
    }
  });

  test("report that came last counts, of each node #scrub-report-that-came-last #edge-report-that-came-last", async () => {
    for (const version of ["1", "2"]) await channel.report(first, { version });
    await channel.report(second, { version: "9" }, "bound2");
    expect([await reportOf(), await reportOf(second)]).toEqual([{ version: "2" }, { version: "9" }]);
  });

  test.each<readonly [string, string]>([...wrong])(
    "report %j is refused, and the one before stays",
    async (sent, error) => {
      await channel.report(first, report);
      const refused = { status: 400, body: { error: `invalid JSON body: ${error}` } };
      expect([await channel.report(first, sent), await reportOf()]).toEqual([refused, report]);
    },
  );

  test("inventory forgets reports and presence of nodes that a reload removes #scrub-inventory-forgets #edge-inventory-forgets-reports", async () => {
    for (const [node, token] of [
      [first, "bound1"],
      [second, "bound2"],
    ] as const) {
      await channel.report(node, report, token);
      await channel.poll({ node, token });
    }
    const unseen = Object.keys(await channel.node()).filter((field) => !/^(report|reported_at|last_.*)$/.test(field));
    configure(second);
    configure(first, second);
    expect(await channel.node(second)).toMatchObject({ alive: true, report });
    expect(await channel.node()).toMatchObject({ alive: false, holding: false });
    expect(Object.keys(await channel.node())).toEqual(unseen);
  });

  test("inventory is empty without nodes", async () => {
    close();
    expect((await channel.inventory()).body).toEqual({ nodes_total: 0, stale_after_seconds: 15, nodes: [] });
  });
});

describe("scrub inventory", () => {
  beforeEach(openScrub);

  test("has nodes_total, stale_after_seconds and each configured node with its config, in its order #scrub-inventory-has-nodes-total #get-api-v1-dataplane-nodes", async () => {
    const hops = { nextHop: address("198.51.100.9"), nextHop6: address("2001:db8::9") };
    const nodes = scrubbing(
      { name: "s9", description: "Frankfurt", ...hops, capacityMbps: 2500, hostgroups: ["web"] },
      { name: "s1", nextHop: null },
    );
    scrub.server.backend.scrub.reconfigure({ ...nodes, staleAfterSeconds: 60 });
    const state = { alive: false, holding: false, active_bans: 0 };
    const config = {
      description: "Frankfurt",
      next_hop: "198.51.100.9",
      next_hop6: "2001:db8::9",
      capacity_mbps: 2500,
      hostgroups: ["web"],
    };
    const rows = [config, {}].map((own, i) => ({ name: ["s9", "s1"][i] as string, ...own, ...state }));
    expect((await scrub.inventory()).body).toEqual({ nodes_total: 2, stale_after_seconds: 60, nodes: rows });
  });

  test("has the count of bans diverted to a node #scrub-inventory-has-the-count-of-bans", async () => {
    const bans = ["192.0.2.1", "192.0.2.2"].map((target) => divertedBan({ target, node: "s1" }));
    const counts = async () => (await scrub.inventory()).body.nodes.map((node) => node["active_bans"]);
    scrub.change(...bans, divertedBan({ target: "192.0.2.3", node: "s2" }), divertedBan({ target: "192.0.2.4" }));
    expect(await counts()).toEqual([2, 1]);
    scrub.change({ ...divertedBan({ target: "192.0.2.1", node: "s2" }) });
    expect(await counts()).toEqual([1, 2]);
    scrub.change(...bans.map((each) => ({ ...each, state: "withdrawn" as const })));
    expect(await counts()).toEqual([0, 1]);
  });
});

describe("edge inventory", () => {
  beforeEach(openEdge);
  const unbound = async () => (await edge.inventory()).body["unbound_agent_tokens"];

  test("has nodes_total, stale_after_seconds and each configured node with its config, in its order #edge-inventory-has-nodes-total #get-api-v1-edge-nodes", async () => {
    edge.configure({ nodes: [{ name: "e2", hostgroups: ["web"] }, { name: "e1" }], staleAfterSeconds: 60 });
    const state = { alive: false, holding: false };
    const nodes = [
      { name: "e2", ...state, hostgroups: ["web"], zones_placed: 3, tokens: ["bound2"] },
      { name: "e1", ...state, hostgroups: ["global"], zones_placed: 2, tokens: ["bound1"] },
    ];
    const head = { nodes_total: 2, stale_after_seconds: 60, unbound_agent_tokens: ["unbound"] };
    expect((await edge.inventory()).body).toEqual({ ...head, nodes });
  });

  test("has a node's hostgroups and zones_placed always, and follows a reload #edge-inventory-has-a-nodes-hostgroups", async () => {
    edge.configure({ zones: [] });
    expect(await edge.node("e2")).toMatchObject({ hostgroups: ["mail"], zones_placed: 0 });
  });

  test("names the tokens that are bound to a node, and leaves them out where there is none #edge-inventory-names-the-tokens", async () => {
    edge.admit(agent("n1", "e1"), agent("next1", "e1"), { ...agent("eyes"), role: "viewer" });
    expect((await edge.node("e1"))["tokens"]).toEqual(["n1", "next1"]);
    expect(await edge.node("e2")).not.toHaveProperty("tokens");
    expect(await unbound()).toBeUndefined();
  });

  test("has unbound_agent_tokens only while there are nodes of some kind to bind them to #edge-inventory-has-unbound-agent-tokens", async () => {
    edge.edge.reconfigure(null);
    expect(await unbound()).toBeUndefined();
    edge.server.backend.scrub.reconfigure(scrubbing({ name: "s1" }));
    expect(await unbound()).toEqual(["unbound"]);
  });

  test("never holds a secret #edge-inventory-never-holds-a-secret", async () => {
    for (const { name } of channelTokens("e1", "e2")) edge.server.secrets.set(name, `secret-${name}`);
    await edge.poll({ token: "secret-bound1" });
    const text = JSON.stringify(await edge.inventory("secret-eyes"));
    expect([text.includes('"last_token":"bound1"'), text.includes("secret-")]).toEqual([true, false]);
  });
});
