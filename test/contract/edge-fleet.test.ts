/**
 * Nodes that come, go and report anything that the interface allows, through reloads: what the service tells of status and
 * history over HTTP is, on every history driver, what a second, naive reckoning makes of the same raw reports.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { EdgeWorld, type Json } from "../fixtures/edge/edge-world.ts";
import { NaiveEdge, type NaiveNode, type NaiveZone } from "../fixtures/edge/naive-edge.ts";
import { Chance, seededRandom } from "../fixtures/seeded-random.ts";
import { historyDrivers } from "../fixtures/storage/history-drivers.ts";

const FIRST_SEED = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1_000_000));
const SEEDS = Array.from({ length: Number(process.env["SEEDS"] ?? 5) }, (_, i) => FIRST_SEED + i);
const STEPS = 60;

const ZONES: readonly NaiveZone[] = [
  { name: "a.example", tenant: "acme" },
  { name: "b.example", tenant: "acme", hostgroup: "web" },
  { name: "c.example" },
  { name: "d.example", tenant: "other", hostgroup: "mail" },
];
const NODES: readonly NaiveNode[] = [
  { name: "e1" },
  { name: "e2", hostgroups: ["web"] },
  { name: "e3", hostgroups: ["web", "mail"] },
];
const ADDRESSES = ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:DB8::1", "2001:db8:0:0:0:0:0:1", "nobody"];
const WOULD_BE = ["would-deny", "would-challenge"];
const STATES = ["denied", "challenged", "would-deny", "would-challenge", "cleared", "marked", "allow"];

let world: EdgeWorld | null = null;
afterEach(() => world?.stop());

class FleetChance extends Chance {
  upTo(max: number): number {
    return this.below(max + 1);
  }

  happens(share: number): boolean {
    return this.random() < share;
  }

  some<T>(things: readonly T[]): T[] {
    return things.filter(() => this.happens(0.7));
  }

  /** Each of them is there or not. */
  fields(fields: Json): Json {
    return Object.fromEntries(Object.entries(fields).filter(() => this.happens(0.6)));
  }
}

function randomSource(chance: FleetChance): Json {
  const rare = `198.51.100.${chance.upTo(24)}`;
  const source = chance.happens(0.5) ? rare : chance.oneOf(ADDRESSES);
  const state = chance.oneOf(chance.happens(0.6) ? WOULD_BE : STATES);
  return { source, state, requests: chance.upTo(50) };
}

function randomClaim(chance: FleetChance, nowMs: number): Json {
  const name = chance.oneOf([...ZONES.map((zone) => zone.name), "A.Example", "gone.example"]);
  const lateSeconds = chance.oneOf([0, 1, 10, 20, 59, 60, 300, 599, 600, 601, 5000, -1, -59, -60, -61, -3600]);
  const count = chance.oneOf([0, 1, 5, 60]);
  return {
    zone: name,
    ...chance.fields({ window_seconds: chance.oneOf([10, 10, 10.5, 0]), rps: chance.upTo(40) / 4 }),
    ...(chance.happens(0.9) ? { at: new Date(nowMs - lateSeconds * 1000).toISOString() } : {}),
    ...chance.fields({
      requests: chance.upTo(1000) * 10,
      decided: chance.upTo(9),
      denied: chance.upTo(9),
      challenged: chance.upTo(9),
      cleared: chance.upTo(9),
      would_deny: chance.upTo(9),
      would_challenge: chance.upTo(9),
      status_2xx: chance.upTo(9),
      status_5xx: chance.upTo(9),
      h3_requests: chance.upTo(2),
      challenge: chance.oneOf(["off", "auto"]),
      dry_run: chance.happens(0.5),
      rung_dry_run: chance.happens(0.5),
      challenge_active: chance.fields({ reason: "rps", until: new Date(nowMs).toISOString(), dry_run: true }),
      top_sources: Array.from({ length: count }, () => randomSource(chance)),
      sources_truncated: chance.upTo(2),
    }),
  };
}

function randomReport(chance: FleetChance, nowMs: number): Json {
  const names = [...ZONES.map(({ name }) => name), "C.Example", "gone.example"];
  const not_after = new Date(nowMs + 86_400_000).toISOString();
  const told = chance.fields({
    version: "1",
    zones_truncated: chance.upTo(2),
    certs_truncated: chance.upTo(2),
    sources_truncated: chance.upTo(4),
    certs: chance.some(names).map((zone) => ({ zone, not_after, ...chance.fields({ issuer: "CA" }) })),
    terminator: { h3: chance.fields({ serving: chance.some(names), unsupported: chance.some(names) }) },
  });
  const zones = Array.from({ length: chance.upTo(7) }, () => randomClaim(chance, nowMs));
  return chance.happens(0.1) ? told : { ...told, zones };
}

async function step(chance: FleetChance, naive: NaiveEdge, edge: EdgeWorld): Promise<void> {
  edge.server.clock.advance(1 + chance.upTo(3000));
  const { name } = chance.oneOf(naive.nodes);
  if (chance.happens(0.04)) {
    await edge.recorded();
    const nodes = chance.some(NODES);
    const next = [nodes.length === 0 ? NODES : nodes, chance.some(ZONES)] as const;
    edge.configure({ nodes: next[0], zones: next[1] });
    naive.configure(...next);
  } else if (chance.happens(0.5)) {
    await edge.seen(name);
    naive.seenMs.set(name, edge.nowMs);
  } else {
    const before = naive.last.get(name);
    const report = before !== undefined && chance.happens(0.2) ? before : randomReport(chance, edge.nowMs);
    expect((await edge.report(name, report)).status).toBe(204);
    naive.report(name, report, edge.nowMs);
  }
}

async function compareHistory(edge: EdgeWorld, naive: NaiveEdge): Promise<void> {
  await edge.recorded();
  const range = [edge.nowMs - 3_600_000, edge.nowMs + 120_000] as const;
  const [from, to] = range.map((ms) => new Date(ms).toISOString());
  for (const { name } of naive.zones) {
    for (const seconds of [1, 60, 3600]) {
      const points = await edge.points(name, `&from=${from}&to=${to}&step=${seconds}`);
      expect(points).toEqual(naive.points(name, range, seconds));
    }
    expect(await edge.sources(name, `&from=${from}&to=${to}`)).toEqual(naive.sources(name, range));
  }
}

describe.each(historyDrivers())("$title", ({ skipped, place }) => {
  test.skipIf(skipped !== null).each(SEEDS)(
    "seed %d: status and history are what the raw reports say",
    async (seed) => {
      world = await EdgeWorld.withHistory(place());
      const chance = new FleetChance(seededRandom(seed));
      const naive = new NaiveEdge();
      world.configure({ nodes: NODES, zones: ZONES });
      naive.configure(NODES, ZONES);
      for (let i = 0; i < STEPS; i++) {
        await step(chance, naive, world);
        expect<unknown>(await world.status()).toEqual(naive.status(world.nowMs));
      }
      await compareHistory(world, naive);
      expect(naive.sent.length).toBeGreaterThan(5);
    },
  );
});
