/** What every history driver does with audit events, attacks, traffic and age. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { NO_ATTACK_FILTERS } from "../../src/detection/attack/attack.ts";
import type { EdgeEvent } from "../../src/edge/reports/edge-history.ts";
import type { TrafficQuery } from "../../src/traffic/traffic-history.ts";
import type { PartKind } from "../../src/traffic/traffic-parts.ts";
import { address } from "../fixtures/host-rows.ts";
import { prefix } from "../fixtures/networks.ts";
import { auditEvent, edgeWindow, identified, NO_AUDIT_FILTERS, snapshot } from "../fixtures/storage/history.ts";
import { type HistoryPlace, historyDrivers } from "../fixtures/storage/history-drivers.ts";
import { attack, NOON } from "../fixtures/views.ts";

const HOUR = { fromMs: NOON - 3_600_000, toMs: NOON + 3_600_000 };
const DAY_MS = 86_400_000;
const SECONDS = NOON / 1000;
const HOST = "192.0.2.1";

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
      place.driver.ask("auditEvents", { range: HOUR, filters: { ...NO_AUDIT_FILTERS, ...filters }, tenant });
    const write = (records: ReturnType<typeof identified<ReturnType<typeof auditEvent>>>[]) =>
      place.driver.write({ kind: "audit", records });

    contract(
      "comes back as it went in, newest first and once, after a reopening and when its write is repeated",
      async () => {
        const odd = `a "quoted" 'name' \\ with \t tab, \n line, \0 nul, ünï and 🧱`;
        const reload = {
          action: "config_reload",
          result: "ok",
          targetType: "global",
          target: "",
          dryRun: true,
        } as const;
        const events = [
          auditEvent({ operator: odd, reason: odd.repeat(3), wallMs: NOON }),
          auditEvent({ ...reload, wallMs: NOON + 1 }),
          auditEvent({ target: "2001:db8::1", wallMs: NOON + 1 }),
        ];
        const [first, ...others] = events.map(identified);
        if (first === undefined) throw new Error("the test has events");
        for (const records of [[first], others, others]) await write(records);
        await place.reopen();
        expect(await ask()).toEqual(events.toReversed());
      },
    );

    contract("is filtered by range, action, target and tenant", async () => {
      const pair = "198.51.100.7->2001:db8::1";
      const events = [
        auditEvent({ wallMs: HOUR.fromMs - 1 }),
        auditEvent({ wallMs: HOUR.fromMs, target: "first" }),
        auditEvent({ wallMs: HOUR.toMs, target: "last" }),
        auditEvent({ wallMs: HOUR.toMs + 1 }),
        auditEvent({ action: "source_block", target: pair, targetType: "source", tenant: "acme" }),
        auditEvent({ action: "unban", target: "192.0.2.10", tenant: "other", operator: "anna", result: "withdrawn" }),
      ];
      await write(events.map(identified));
      const targets = async (filters = {}, tenant: string | null = null) =>
        (await ask(filters, tenant)).map(({ target }) => target);
      expect(await targets()).toEqual(["last", "192.0.2.10", pair, "first"]);
      expect(await targets({ action: "unban" })).toEqual(["192.0.2.10"]);
      expect(await targets({}, "acme")).toEqual([pair]);
      expect(await targets({ action: "unban" }, "acme")).toEqual([]);
      expect(await targets({ operator: "anna", result: "withdrawn" })).toEqual(["192.0.2.10"]);
      expect(await targets({ operator: "ann" })).toEqual([]);
      expect(await targets({ tenant: "other" })).toEqual(["192.0.2.10"]);
      expect(await targets({ tenant: "other" }, "acme")).toEqual([]);
      for (const [text, found] of [
        ["198.51.100.7", [pair]],
        ["2001:DB8:0::1", [pair]],
        ["192.0.2.10", ["192.0.2.10"]],
        ["192.0.2.1", []],
        ["1.0.0.7", []],
      ] as const)
        expect<readonly string[]>(await targets({ target: address(text) })).toEqual(found);
      for (const [text, found] of [
        ["198.51.100.0/28", [pair]],
        ["198.51.100.8/29", []],
        ["2001:db8::/64", [pair]],
        ["192.0.2.10/31", ["192.0.2.10"]],
        ["192.0.2.8/31", []],
        ["0.0.0.0/1", []],
        ["::/1", [pair]],
      ] as const)
        expect<readonly string[]>(await targets({ target: prefix(text) })).toEqual(found);
    });

    contract("comes back up to 1001 rows, the newest", async () => {
      await write(Array.from({ length: 1003 }, (_, i) => identified(auditEvent({ wallMs: NOON + i }))));
      const events = await ask();
      expect([events.length, events[0]?.wallMs, events.at(-1)?.wallMs]).toEqual([1001, NOON + 1002, NOON + 2]);
    });
  });

  describe("attacks", () => {
    const saved = (changes: Parameters<typeof attack>[0]) => ({ attack: attack(changes), tenant: "acme" });
    const write = (...records: { attack: ReturnType<typeof attack>; tenant: string | null }[]) =>
      place.driver.write({ kind: "attacks", records });
    const ended = (limit: number) => place.driver.ask("endedAttacks", { limit });

    contract("come back whole once they have ended, newest end first, up to a limit, and by their id", async () => {
      const share = { key: "198.51.100.1", packets: 2, bytes: 120 };
      const lists = { topSources: [share], topSourcePorts: [], topDestinationPorts: [], protocols: [share] };
      const sample = { totalPackets: 2, ...lists, flows: [], origins: null };
      const [sampled, last] = [
        attack({ id: "a'1", endedAt: NOON + 5, sample }),
        attack({ id: "a3", endedAt: NOON + 9 }),
      ];
      await write(saved({ id: "a'1" }), saved({ id: "a2" }));
      await write({ attack: sampled, tenant: null });
      await write({ attack: last, tenant: "acme" });
      await place.reopen();
      expect([await ended(100), await ended(1)]).toEqual([[last, sampled], [last]]);
      expect(await place.driver.ask("endedAttack", { id: "a'1" })).toEqual(sampled);
      for (const id of ["a2", "a9", "", "' OR 1=1 --"])
        expect(await place.driver.ask("endedAttack", { id })).toBeNull();
    });

    contract("are found by the time of their end, their address and their owner", async () => {
      const of = (id: string, target: string, endedAt: number, tenant: string | null) => ({
        attack: attack({ id, target: address(target), endedAt }),
        tenant,
      });
      await write(of("a1", "192.0.2.1", NOON + 1, "acme"), of("a2", "192.0.2.2", NOON + 2, null));
      await write(of("a3", "192.0.2.1", NOON + 3, null), of("a4", "192.0.2.1", NOON + 4, "acme"));
      const ids = async (question: object) =>
        (await place.driver.ask("endedAttacks", { limit: 9, ...question })).map(({ id }) => id);
      expect(await ids({ range: { fromMs: NOON + 2, toMs: NOON + 3 } })).toEqual(["a3", "a2"]);
      const asked = (filters: object) => ids({ filters: { ...NO_ATTACK_FILTERS, ...filters } });
      expect(await asked({ target: address("192.0.2.1") })).toEqual(["a4", "a3", "a1"]);
      expect(await asked({ target: prefix("192.0.2.2/31") })).toEqual(["a2"]);
      expect(await asked({ target: prefix("2001:db8::/32") })).toEqual([]);
      expect(await asked({ group: "web" })).toEqual([]);
      expect(await asked({ group: "global", tenant: "acme" })).toEqual(["a4", "a1"]);
      expect(await ids({ tenant: "acme" })).toEqual(["a4", "a1"]);
      expect(
        await ids({
          range: { fromMs: NOON, toMs: NOON + 3 },
          filters: { ...NO_ATTACK_FILTERS, target: address("192.0.2.1") },
          tenant: "acme",
        }),
      ).toEqual(["a1"]);
      expect(await ids({ tenant: null, limit: 2 })).toEqual(["a4", "a3"]);
      await write(of("a5", "192.0.2.1", NOON + 4, null), of("a6", "192.0.2.1", NOON + 4, null));
      const range = { fromMs: NOON + 3, toMs: NOON + 4 };
      expect(await ids({ range, limit: 2 })).toEqual(["a6", "a5"]);
      expect(await ids({ range, toId: "a5" })).toEqual(["a5", "a4", "a3"]);
    });

    contract("are kept as last saved, also within one write", async () => {
      await write(saved({ endedAt: null }), saved({ endedAt: NOON + 3 }), saved({ endedAt: NOON + 4 }));
      expect((await ended(9)).map(({ endedAt }) => endedAt)).toEqual([NOON + 4]);
    });
  });

  describe("traffic", () => {
    const query = {
      key: address(HOST),
      direction: "incoming",
      fromMs: NOON,
      toMs: NOON + 120_000,
      stepSeconds: 60,
    } as const;
    const ask = (changes: Partial<TrafficQuery> = {}) => place.driver.ask("trafficPoints", { ...query, ...changes });
    const write = (...records: ReturnType<typeof snapshot>[]) => place.driver.write({ kind: "traffic", records });
    /** A snapshot that long after noon of the host alone. */
    const of = (afterSeconds: number, seconds: number, pps: number, more = {}) =>
      snapshot(SECONDS + afterSeconds, seconds, { host: HOST, pps, ...more });

    contract("comes back for one host in one direction, as it was measured", async () => {
      const means = { host: HOST, pps: 1000.5, mbps: 12.25, flows: 3 };
      const highest3 = { max: [9000.25, 99.5, 30], deviations: [900.5, 9.5, 3] } as const;
      const full = { ...means, inAttack: true, baseline: 400, ...highest3 } as const;
      const others = [
        { host: HOST, pps: 7, outgoing: true },
        { host: "2001:db8::1", pps: 8 },
      ];
      await write(snapshot(SECONDS, 10, full, ...others));
      const exact = { deviationPps: 0, deviationMbps: 0, deviationFlowsPerSec: 0 };
      const still = { mbps: 0, flowsPerSec: 0, maxMbps: 0, maxFlowsPerSec: 0, ...exact };
      const plain = { atSeconds: SECONDS, seconds: 10, ...still, inAttack: false, baselinePps: null };
      const deviations = { deviationPps: 900.5, deviationMbps: 9.5, deviationFlowsPerSec: 3 };
      const highest = { maxPps: 9000.25, maxMbps: 99.5, maxFlowsPerSec: 30, ...deviations };
      const rest = { pps: 1000.5, mbps: 12.25, flowsPerSec: 3, ...highest, inAttack: true, baselinePps: 400 };
      expect(await ask()).toEqual([{ ...plain, ...rest }]);
      expect(await ask({ direction: "outgoing" })).toEqual([{ ...plain, pps: 7, maxPps: 7 }]);
      expect(await ask({ key: address("2001:db8::1") })).toEqual([{ ...plain, pps: 8, maxPps: 8 }]);
      expect(await ask({ key: address("192.0.2.2") })).toEqual([]);
    });

    contract("is averaged over a bucket, a snapshot without the host counting as silence", async () => {
      await write(of(0, 10, 600, { mbps: 6, flows: 60, baseline: 100, max: [5000, 6, 60], deviations: [70, 2, 0] }));
      await write(of(10, 10, 300, { inAttack: true, baseline: 300, deviations: [100, 1, 0] }));
      await write(of(20, 10, 5, { host: "192.0.2.9" }), snapshot(SECONDS + 70, 10));
      const mean = { seconds: 30, pps: 300, mbps: 2, flowsPerSec: 20, inAttack: true, baselinePps: 200 };
      const deviations = { deviationPps: 100, deviationMbps: 2, deviationFlowsPerSec: 0 };
      const highest = { maxPps: 5000, maxMbps: 6, maxFlowsPerSec: 60, ...deviations };
      expect(await ask()).toEqual([{ atSeconds: SECONDS, ...mean, ...highest }]);
    });

    contract(
      "weighs a snapshot by the time that it stands for, and counts it once when its write is repeated",
      async () => {
        for (const one of [of(0, 30, 100), of(0, 30, 100), of(10, 10, 500)]) await write(one);
        expect((await ask())[0]?.pps).toBe(200);
      },
    );

    contract("keeps totals beside the hosts, by their names", async () => {
      const values = [100, 2, 3, Number.NaN, 1000, 20, 30, 40, 0, 0] as const;
      const totals = [{ series: "total udp of o'neill", outgoing: true, values }];
      await write({ ...of(0, 10, 7), totals });
      const named = { key: "total udp of o'neill", direction: "outgoing" } as const;
      expect(await ask(named)).toMatchObject([{ seconds: 10, pps: 100, mbps: 2, maxPps: 1000, deviationPps: 40 }]);
      expect(await ask({ ...named, direction: "incoming" })).toEqual([]);
      expect(await ask()).toMatchObject([{ pps: 7 }]);
    });

    contract("has the largest parts by each kind, as means over the recorded time, in a range", async () => {
      const part = (series: string, pps: number, mbps: number, outgoing = false) =>
        ({ series, outgoing, values: [pps, mbps, 0, Number.NaN, pps, mbps, 0, 0, 0, 0] }) as const;
      const at = (afterSeconds: number, ...totals: ReturnType<typeof part>[]) => ({
        ...of(afterSeconds, 10, 7),
        totals,
      });
      const [own, small, odd] = ["by asn: AS1 Own Net", "by asn: AS2", "by asn: AS3 o'neill's %"];
      await write(at(-10, part(own, 1e6, 1e6)));
      await write(
        at(0, part("total", 9000, 90), part(own, 1000, 30), part(small, 5000, 1), part("by country: DE", 1, 1)),
      );
      await write(at(10, part("total", 9000, 90), part(own, 500, 10), part(odd, 10, 6), part(small, 9, 99, true)));
      const top = (by: PartKind, limit = 9) =>
        place.driver.ask("trafficTop", { by, fromMs: NOON, toMs: NOON + 120_000, limit });
      expect(await top("asn")).toEqual([
        { key: "AS1 Own Net", pps: 750, mbps: 20 },
        { key: "AS3 o'neill's %", pps: 5, mbps: 3 },
        { key: "AS2", pps: 2500, mbps: 0.5 },
      ]);
      expect(await top("asn", 1)).toHaveLength(1);
      expect(await top("country")).toEqual([{ key: "DE", pps: 0.5, mbps: 0.5 }]);
      expect(await top("prefix")).toEqual([]);
    });

    contract(
      "has the daily peaks of hosts and hostgroups outside of attacks, but for the highest tenth of the days",
      async () => {
        const DAY = 86_400;
        const first = Math.floor(SECONDS / DAY) * DAY;
        for (let day = 0; day < 10; day++) {
          const at = first + day * DAY + 600;
          // One day in ten is not like the others, and one has an attack.
          await write(snapshot(at, 10, { host: HOST, pps: day === 3 ? 9000 : 100 + day }));
          await write(snapshot(at + 10, 10, { host: HOST, pps: 50_000, inAttack: true }));
        }
        const peaks = await place.driver.ask("trafficPeaks", { fromMs: first * 1000, toMs: (first + 10 * DAY) * 1000 });
        expect(peaks.days.map(({ day }) => day - first / DAY)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        expect(peaks.days[0]?.seconds).toBe(20);
        expect(peaks).toMatchObject({ leftOut: 0, hosts: [{ key: HOST, outgoing: false, pps: 109 }] });
        const short = await place.driver.ask("trafficPeaks", { fromMs: first * 1000, toMs: (first + 4 * DAY) * 1000 });
        expect(short.hosts).toMatchObject([{ pps: 9000 }]);
      },
    );

    contract("has buckets that begin at multiples of the step, of the requested range only", async () => {
      for (let i = -1; i <= 12; i++) await write(of(i * 10, 10, i + 1));
      const points = await ask({ fromMs: NOON + 5000, toMs: NOON + 90_000, stepSeconds: 30 });
      const rows = points.map(({ atSeconds, pps }) => `${atSeconds - SECONDS}: ${pps}`);
      expect(rows).toEqual(["0: 2.5", "30: 5", "60: 8"]);
      expect((await ask({ stepSeconds: 86_400 })).map(({ atSeconds }) => atSeconds)).toEqual([SECONDS - 43_200]);
    });
  });

  contract("old records leave, others stay", async () => {
    const { driver } = place;
    const sources = [{ source: address("198.51.100.1"), state: "denied" as const, requests: 1 }];
    for (const atMs of [NOON - 40 * DAY_MS, NOON]) {
      const event: EdgeEvent = { atMs, node: "ams1", zone: null, kind: "node_lost", detail: "" };
      const over = { attack: attack({ id: String(atMs), startedAt: atMs, endedAt: atMs }), tenant: null };
      await driver.write({ kind: "audit", records: [identified(auditEvent({ wallMs: atMs }))] });
      await driver.write({ kind: "attacks", records: [over] });
      await driver.write({ kind: "edge_windows", records: [edgeWindow({ atMs, sources })] });
      await driver.write({ kind: "edge_events", records: [identified(event)] });
      await driver.write({ kind: "traffic", records: [snapshot(atMs / 1000, 10, { host: HOST, pps: 1 })] });
    }
    await driver.maintain(NOON);
    const all = { fromMs: 0, toMs: NOON + DAY_MS };
    const edge = { ...all, zone: "www.example.com", node: null };
    const filters = NO_AUDIT_FILTERS;
    const host = { key: address(HOST), direction: "incoming", stepSeconds: 60 } as const;
    expect(await driver.ask("auditEvents", { range: all, filters, tenant: null })).toMatchObject([{ wallMs: NOON }]);
    expect(await driver.ask("endedAttacks", { limit: 9 })).toMatchObject([{ endedAt: NOON }]);
    expect(await driver.ask("edgeEvents", { ...all, node: null, zone: null, kind: null })).toMatchObject([
      { atMs: NOON },
    ]);
    expect(await driver.ask("edgePoints", { ...edge, stepSeconds: 60 })).toHaveLength(1);
    expect(await driver.ask("edgeSources", { ...edge, state: null })).toMatchObject([{ windows: 1 }]);
    expect(await driver.ask("trafficPoints", { ...all, ...host })).toMatchObject([{ atSeconds: SECONDS }]);
  });
});
