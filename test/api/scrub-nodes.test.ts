/**
 * Reports of scrub nodes and their inventory, field by field (docs/interface.md#scrub-inventory), over a real listener.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { ScrubInventoryWire } from "../../src/http/wire/scrub-node.ts";
import { BODY_DEPTH_MAX } from "../../src/limits.ts";
import { address } from "../fixtures/host-rows.ts";
import { ScrubChannel } from "../fixtures/scrub/scrub-channel.ts";
import { divertedBan, scrubbing } from "../fixtures/scrub/scrubbing.ts";

const REPORT = {
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

let channel: ScrubChannel;

beforeEach(() => {
  channel = new ScrubChannel();
});
afterEach(() => channel.stop());

describe("scrub report", () => {
  test("comes back as it was sent, with the time at which it came", async () => {
    channel.server.clock.advance(1500);
    expect((await channel.report(REPORT)).status).toBe(204);
    expect(await channel.node()).toMatchObject({ report: REPORT, reported_at: "2026-03-01T12:00:01.500Z" });
  });

  test("keeps the keys that nobody knows, and need not have any", async () => {
    const report = { kernel: { release: "6.1", modules: ["a", null, 1.5] }, ["__proto__x"]: true };
    await channel.report(report);
    expect((await channel.node())["report"]).toEqual(report);
    await channel.report({});
    expect((await channel.node())["report"]).toEqual({});
  });

  test("that came last counts", async () => {
    await channel.report(REPORT);
    await channel.report({ version: "2" });
    expect((await channel.node())["report"]).toEqual({ version: "2" });
  });

  test.each([
    [{ version: 1 }, "version must be a string"],
    [{ load_mbps: "9" }, "load_mbps must be a number"],
    [{ load_pps: -1 }, "load_pps: expected number to be greater or equal to 0"],
    [{ dry_run: "no" }, "dry_run: expected boolean"],
    [{ capabilities: "port_ranges" }, "capabilities: expected array"],
    [[], "not an object"],
    [null, "not an object"],
  ])("%j is refused, and the one before stays", async (report, error) => {
    await channel.report(REPORT);
    const answer = await channel.report(report);
    expect([answer.status, await answer.json()]).toEqual([400, { error: `invalid JSON body: ${error}` }]);
    expect((await channel.node())["report"]).toEqual(REPORT);
  });

  test.each([
    [BODY_DEPTH_MAX - 1, 204],
    [BODY_DEPTH_MAX, 204],
    [BODY_DEPTH_MAX + 1, 400],
    [20_000, 400],
  ])("may be nested %d levels deep: %d", async (levels, status) => {
    const body = `{"x":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
    expect((await channel.post("/api/v1/dataplane/nodes/s1/report", body)).status).toBe(status);
    expect((await channel.inventory()).nodes).toHaveLength(2);
  });
});

describe("scrub inventory", () => {
  test("has nodes_total, stale_after_seconds and each configured node with its config, in its order", async () => {
    const hops = { nextHop: address("198.51.100.9"), nextHop6: address("2001:db8::9") };
    channel.server.service.scrub.reconfigure({
      ...scrubbing({ name: "s9", ...hops, capacityMbps: 2500, hostgroups: ["web"] }, { name: "s1", nextHop: null }),
      staleAfterSeconds: 60,
    });
    expect(await channel.inventory()).toEqual({
      nodes_total: 2,
      stale_after_seconds: 60,
      nodes: [
        {
          name: "s9",
          next_hop: "198.51.100.9",
          next_hop6: "2001:db8::9",
          capacity_mbps: 2500,
          hostgroups: ["web"],
          alive: false,
          holding: false,
          active_bans: 0,
        },
        { name: "s1", alive: false, holding: false, active_bans: 0 },
      ],
    });
  });

  test("is as its schema says, and empty without nodes", async () => {
    await channel.report(REPORT);
    expect([...Value.Errors(ScrubInventoryWire, await channel.inventory())]).toEqual([]);
    channel.server.service.scrub.reconfigure(null);
    expect(await channel.inventory()).toEqual({ nodes_total: 0, stale_after_seconds: 15, nodes: [] });
  });

  test("has the count of bans diverted to a node", async () => {
    const bans = ["192.0.2.1", "192.0.2.2"].map((target) => divertedBan({ target, node: "s1" }));
    channel.change(...bans, divertedBan({ target: "192.0.2.3", node: "s2" }), divertedBan({ target: "192.0.2.4" }));
    const counts = async () => (await channel.inventory()).nodes.map((node) => node["active_bans"]);
    expect(await counts()).toEqual([2, 1]);
    channel.change({ ...divertedBan({ target: "192.0.2.1", node: "s2" }) });
    expect(await counts()).toEqual([1, 2]);
    channel.change(...bans.map((each) => ({ ...each, state: "withdrawn" as const })));
    expect(await counts()).toEqual([0, 1]);
  });

  test("has alive, holding and last_seen of a node's polls", async () => {
    const { answer } = await channel.parked();
    channel.server.clock.advance(20_000);
    expect(await channel.node()).toMatchObject({ alive: true, holding: true, last_seen: "2026-03-01T12:00:00.000Z" });
    channel.server.clock.advance(10_000);
    await answer;
    expect(await channel.node()).toMatchObject({ alive: true, holding: false, last_seen: "2026-03-01T12:00:30.000Z" });
    channel.server.clock.advance(15_000);
    expect(await channel.node()).toMatchObject({ alive: true });
    channel.server.clock.advance(1);
    expect(await channel.node()).toMatchObject({ alive: false, last_seen: "2026-03-01T12:00:30.000Z" });
  });

  test("forgets reports and presence of nodes that a reload removes", async () => {
    await channel.report(REPORT);
    await channel.poll();
    channel.configure("s2");
    channel.configure("s1", "s2");
    expect(await channel.node()).toEqual({
      name: "s1",
      next_hop: "198.51.100.1",
      alive: false,
      holding: false,
      active_bans: 0,
    });
  });
});

test("ban node is the scrub node that a divert ban is frozen to, and absent of one that goes elsewhere", async () => {
  const bans = [divertedBan({ node: "s1" }), divertedBan({ target: "192.0.2.2" })];
  channel.server.service.banViews = bans.map((ban) => ({ ban, routeState: null }));
  const headers = { authorization: "Bearer eyes" };
  const answer = await fetch(`${channel.server.base}/api/v1/bans`, { headers });
  const wire = (await answer.json()) as { bans: Record<string, unknown>[] };
  expect(wire.bans.map(({ node, method }) => [node, method])).toEqual([
    ["s1", "divert"],
    [undefined, "divert"],
  ]);
});
