/** What every history driver does with audit events, attacks, traffic and age. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { EdgeEvent } from "../../src/edge/reports/edge-history.ts";
import type { TrafficQuery } from "../../src/traffic/traffic-history.ts";
import { attack, NOON } from "../fixtures/browser/views.ts";
import { address } from "../fixtures/host-rows.ts";
import { auditEvent, edgeWindow, identified, snapshot } from "../fixtures/storage/history.ts";
import { type HistoryPlace, historyDrivers } from "../fixtures/storage/history-drivers.ts";

const HOUR = { fromMs: NOON - 3_600_000, toMs: NOON + 3_600_000 };
const NO_FILTERS = { action: null, target: null };
const SECONDS = NOON / 1000;

describe.each(historyDrivers())("$title", ({ skipped, place: newPlace }) => {
  let place: HistoryPlace;
  beforeEach(async () => {
    place = await newPlace();
    await place.driver.open();
  });
  afterEach(() => place.remove());
  const contract = test.skipIf(skipped !== null);

  describe("audit", () => {
    const ask = (filters = {}, tenant: string | null = null) =>
      place.driver.ask("auditEvents", { range: HOUR, filters: { ...NO_FILTERS, ...filters }, tenant });

    contract("comes back as it went in, newest first, after a reopening too", async () => {
      const odd = `a "quoted" 'name' \\ with \t tab, \n line, \0 nul, ünï and 🧱`;
      const events = [
        auditEvent({ operator: odd, reason: odd.repeat(3), wallMs: NOON }),
        auditEvent({
          action: "config_reload",
          result: "ok",
          targetType: "global",
          target: "",
          dryRun: true,
          wallMs: NOON + 1,
        }),
        auditEvent({ target: "2001:db8::1", wallMs: NOON + 1 }),
      ];
      await place.driver.write({ kind: "audit", records: events.slice(0, 1).map(identified) });
      await place.driver.write({ kind: "audit", records: events.slice(1).map(identified) });
      await place.reopen();
      expect(await ask()).toEqual(events.toReversed());
    });

    contract("is kept once when its write is repeated", async () => {
      const records = [identified(auditEvent())];
      await place.driver.write({ kind: "audit", records });
      await place.driver.write({ kind: "audit", records });
      expect(await ask()).toHaveLength(1);
    });

    contract("is filtered by range, action, target and tenant", async () => {
      const pair = "198.51.100.7->2001:db8::1";
      const events = [
        auditEvent({ wallMs: HOUR.fromMs - 1 }),
        auditEvent({ wallMs: HOUR.fromMs, target: "first" }),
        auditEvent({ wallMs: HOUR.toMs, target: "last" }),
        auditEvent({ wallMs: HOUR.toMs + 1 }),
        auditEvent({ action: "source_block", target: pair, targetType: "source", tenant: "acme" }),
        auditEvent({ action: "unban", target: "192.0.2.10", tenant: "other" }),
      ];
      await place.driver.write({ kind: "audit", records: events.map(identified) });
      const targets = async (filters = {}, tenant: string | null = null) =>
        (await ask(filters, tenant)).map(({ target }) => target);
      expect(await targets()).toEqual(["last", "192.0.2.10", pair, "first"]);
      expect(await targets({ action: "unban" })).toEqual(["192.0.2.10"]);
      expect(await targets({ target: address("198.51.100.7") })).toEqual([pair]);
      expect(await targets({ target: address("2001:DB8:0::1") })).toEqual([pair]);
      expect(await targets({ target: address("192.0.2.10") })).toEqual(["192.0.2.10"]);
      expect(await targets({ target: address("192.0.2.1") })).toEqual([]);
      expect(await targets({ target: address("1.0.0.7") })).toEqual([]);
      expect(await targets({}, "acme")).toEqual([pair]);
      expect(await targets({ action: "unban" }, "acme")).toEqual([]);
    });

    contract("is told up to 1001 rows, the newest", async () => {
      const records = Array.from({ length: 1003 }, (_, i) => identified(auditEvent({ wallMs: NOON + i })));
      await place.driver.write({ kind: "audit", records });
      const events = await ask();
      expect(events).toHaveLength(1001);
      expect([events[0]?.wallMs, events.at(-1)?.wallMs]).toEqual([NOON + 1002, NOON + 2]);
    });
  });

  describe("attacks", () => {
    const saved = (changes: Parameters<typeof attack>[0]) => ({ attack: attack(changes), tenant: "acme" });

    contract("come back whole once they have ended, newest end first, up to a limit", async () => {
      const share = { key: "198.51.100.1", packets: 2, bytes: 120 };
      const lists = { topSources: [share], topSourcePorts: [], topDestinationPorts: [], protocols: [share] };
      const sampled = attack({
        id: "a1",
        endedAt: NOON + 5,
        sample: { totalPackets: 2, ...lists, flows: [], origins: null },
      });
      await place.driver.write({ kind: "attacks", records: [saved({ id: "a1" }), saved({ id: "a2" })] });
      await place.driver.write({ kind: "attacks", records: [{ attack: sampled, tenant: null }] });
      await place.driver.write({ kind: "attacks", records: [saved({ id: "a3", endedAt: NOON + 9 })] });
      await place.reopen();
      const ended = await place.driver.ask("endedAttacks", { limit: 100 });
      expect(ended).toEqual([attack({ id: "a3", endedAt: NOON + 9 }), sampled]);
      expect((await place.driver.ask("endedAttacks", { limit: 1 })).map(({ id }) => id)).toEqual(["a3"]);
    });

    contract("are found by their id when they are over", async () => {
      const over = attack({ id: "a'2", endedAt: NOON + 5 });
      await place.driver.write({ kind: "attacks", records: [saved({ id: "a1" }), saved({ id: "a'2" })] });
      await place.driver.write({ kind: "attacks", records: [{ attack: over, tenant: null }] });
      expect(await place.driver.ask("endedAttack", { id: "a'2" })).toEqual(over);
      for (const id of ["a1", "a9", "", "' OR 1=1 --"])
        expect(await place.driver.ask("endedAttack", { id })).toBeNull();
    });

    contract("are kept as last saved, also within one write", async () => {
      const records = [saved({ endedAt: null }), saved({ endedAt: NOON + 3 }), saved({ endedAt: NOON + 4 })];
      await place.driver.write({ kind: "attacks", records });
      expect((await place.driver.ask("endedAttacks", { limit: 9 })).map(({ endedAt }) => endedAt)).toEqual([NOON + 4]);
    });
  });

  describe("traffic", () => {
    const ask = (changes: Partial<TrafficQuery> = {}) =>
      place.driver.ask("trafficPoints", {
        key: address("192.0.2.1"),
        direction: "incoming",
        fromMs: NOON,
        toMs: NOON + 120_000,
        stepSeconds: 60,
        ...changes,
      });
    const write = (...records: ReturnType<typeof snapshot>[]) => place.driver.write({ kind: "traffic", records });

    contract("comes back for one host in one direction, as it was measured", async () => {
      await write(
        snapshot(
          SECONDS,
          10,
          { host: "192.0.2.1", pps: 1000.5, mbps: 12.25, flows: 3, inAttack: true, baseline: 400 },
          { host: "192.0.2.1", pps: 7, outgoing: true },
          { host: "2001:db8::1", pps: 8 },
        ),
      );
      const point = { atSeconds: SECONDS, pps: 1000.5, mbps: 12.25, flowsPerSec: 3, inAttack: true, baselinePps: 400 };
      expect(await ask()).toEqual([point]);
      const plain = { ...point, mbps: 0, flowsPerSec: 0, inAttack: false, baselinePps: null };
      expect(await ask({ direction: "outgoing" })).toEqual([{ ...plain, pps: 7 }]);
      expect(await ask({ key: address("2001:db8::1") })).toEqual([{ ...plain, pps: 8 }]);
      expect(await ask({ key: address("192.0.2.2") })).toEqual([]);
    });

    contract("is averaged over a bucket, a snapshot without the host counting as silence", async () => {
      await write(snapshot(SECONDS, 10, { host: "192.0.2.1", pps: 600, mbps: 6, flows: 60, baseline: 100 }));
      await write(snapshot(SECONDS + 10, 10, { host: "192.0.2.1", pps: 300, inAttack: true, baseline: 300 }));
      await write(snapshot(SECONDS + 20, 10, { host: "192.0.2.9", pps: 5 }));
      await write(snapshot(SECONDS + 70, 10));
      const mean = { pps: 300, mbps: 2, flowsPerSec: 20, inAttack: true, baselinePps: 200 };
      expect(await ask()).toEqual([{ atSeconds: SECONDS, ...mean }]);
    });

    contract("weighs a snapshot by the time that it stands for", async () => {
      await write(snapshot(SECONDS, 30, { host: "192.0.2.1", pps: 100 }));
      await write(snapshot(SECONDS + 10, 10, { host: "192.0.2.1", pps: 500 }));
      expect((await ask())[0]?.pps).toBe(200);
    });

    contract("has buckets that begin at multiples of the step, of the range asked for only", async () => {
      for (let i = -1; i <= 12; i++) await write(snapshot(SECONDS + i * 10, 10, { host: "192.0.2.1", pps: i + 1 }));
      const points = await ask({ fromMs: NOON + 5000, toMs: NOON + 90_000, stepSeconds: 30 });
      expect(points.map(({ atSeconds, pps }) => [atSeconds - SECONDS, pps])).toEqual([
        [0, 2.5],
        [30, 5],
        [60, 8],
      ]);
      expect((await ask({ stepSeconds: 86_400 })).map(({ atSeconds }) => atSeconds)).toEqual([SECONDS - 43_200]);
    });

    contract("counts a snapshot once when its write is repeated", async () => {
      const one = snapshot(SECONDS, 10, { host: "192.0.2.1", pps: 600 });
      await write(one);
      await write(one);
      await write(snapshot(SECONDS + 10, 10, { host: "192.0.2.1", pps: 300 }));
      expect((await ask())[0]?.pps).toBe(450);
    });
  });
  contract("old records leave, others stay", async () => {
    const day = 86_400_000;
    const old = NOON - 40 * day;
    const edge = (atMs: number) =>
      edgeWindow({ atMs, sources: [{ source: address("198.51.100.1"), state: "denied", requests: 1 }] });
    const event = (atMs: number) =>
      identified<EdgeEvent>({ atMs, node: "ams1", zone: null, kind: "node_lost", detail: "" });
    for (const atMs of [old, NOON]) {
      await place.driver.write({ kind: "audit", records: [identified(auditEvent({ wallMs: atMs }))] });
      const ended = attack({ id: String(atMs), startedAt: atMs, endedAt: atMs });
      await place.driver.write({ kind: "attacks", records: [{ attack: ended, tenant: null }] });
      await place.driver.write({ kind: "edge_windows", records: [edge(atMs)] });
      await place.driver.write({ kind: "edge_events", records: [event(atMs)] });
      await place.driver.write({
        kind: "traffic",
        records: [snapshot(atMs / 1000, 10, { host: "192.0.2.1", pps: 1 })],
      });
    }
    await place.driver.maintain(NOON);
    const all = { fromMs: 0, toMs: NOON + day };
    const zone = "www.example.com";
    expect(
      (await place.driver.ask("auditEvents", { range: all, filters: NO_FILTERS, tenant: null })).map((e) => e.wallMs),
    ).toEqual([NOON]);
    expect((await place.driver.ask("endedAttacks", { limit: 9 })).map(({ endedAt }) => endedAt)).toEqual([NOON]);
    expect(
      (await place.driver.ask("edgeEvents", { ...all, node: null, zone: null, kind: null })).map((e) => e.atMs),
    ).toEqual([NOON]);
    expect(await place.driver.ask("edgePoints", { ...all, zone, node: null, stepSeconds: 60 })).toHaveLength(1);
    expect((await place.driver.ask("edgeSources", { ...all, zone, node: null, state: null }))[0]?.windows).toBe(1);
    const traffic: TrafficQuery = { ...all, key: address("192.0.2.1"), direction: "incoming", stepSeconds: 60 };
    expect((await place.driver.ask("trafficPoints", traffic)).map(({ atSeconds }) => atSeconds)).toEqual([SECONDS]);
  });
});
