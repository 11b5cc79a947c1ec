/**
 * Floods shorter than a step of the history, counted by the addon from a capture: whatever their length, and at every
 * phase of a step, the history has what was sent. Each flood has a host of its own.
 */
import { Database } from "bun:sqlite";
import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { loadAddon } from "../../src/dataplane/addon.ts";
import type { IpAddress } from "../../src/net/address.ts";
import { aggregateTraffic } from "../../src/storage/sqlite/traffic-aggregation.ts";
import {
  TRAFFIC_DEVIATIONS,
  TRAFFIC_MAXIMA,
  TRAFFIC_SCHEMA,
  TrafficTables,
} from "../../src/storage/sqlite/traffic-tables.ts";
import { nextTurn } from "../../src/system/timers.ts";
import { HistoryRecorder, type HistoryRecorderOptions } from "../../src/traffic/history-recorder.ts";
import { allocateHostRows } from "../../src/traffic/host-rows.ts";
import { joined, storedQuery } from "../../src/traffic/recent-traffic.ts";
import type { TrafficPoint } from "../../src/traffic/traffic-history.ts";
import { type CapturedFrame, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { folder } from "../fixtures/folders.ts";
import { address } from "../fixtures/host-rows.ts";
import { ManualClock, ManualTimers } from "../fixtures/manual-clock.ts";
import { networksOf } from "../fixtures/networks.ts";
import { datagram } from "../fixtures/replay-command.ts";

const PPS = 200;
const INTERVAL_SECONDS = 10;
const WINDOW_SECONDS = 1;
const START_MS = Date.parse("2026-03-01T12:00:00.000Z");
const LENGTHS = [0.2, 0.5, 1, 2.3, 5, 9.7];
const PHASES = Array.from({ length: 25 }, (_, i) => i * 0.4);
const ALL_SECONDS = 40;
const GLOBAL = [{ name: "global", tenant: null }];

interface Flood {
  readonly host: IpAddress;
  readonly atSeconds: number;
  readonly lengthSeconds: number;
}

const FLOODS: readonly Flood[] = LENGTHS.flatMap((lengthSeconds, i) =>
  PHASES.map((phase, j) => ({ host: address(`203.0.${i}.${j}`), atSeconds: 10 + phase, lengthSeconds })),
);

const directory = folder("floods");
let capture: string;

beforeAll(async () => {
  capture = join(directory, "floods.pcap");
  const frames = FLOODS.flatMap(({ host, atSeconds, lengthSeconds }): CapturedFrame[] => {
    const frame = datagram(host);
    return Array.from({ length: lengthSeconds * PPS }, (_, i) => ({ frame, atNs: atNs(atSeconds + i / PPS) }));
  });
  // Something at the begin and at the end, so that the capture's ticks are those of the clock.
  const edges = [0, ALL_SECONDS].map((at) => ({ frame: datagram("203.0.255.1"), atNs: atNs(at) }));
  await Bun.write(capture, pcapBytes([...frames, ...edges].sort((a, b) => Number(a.atNs - b.atNs))));
});

function atNs(seconds: number): bigint {
  return BigInt(START_MS) * 1_000_000n + BigInt(Math.round(seconds * 1e9));
}

/** The service's recorder over the addon's counts, and the tables into which it writes. */
class History {
  readonly clock = new ManualClock(new Date(START_MS).toISOString());
  readonly tables: TrafficTables;
  readonly db = new Database(":memory:", { strict: true });
  /** How long a snapshot waits for the store, and how late the recorder's timer is. */
  storeMs = 0;
  lateMs = 0;
  readonly #timers = new ManualTimers(this.clock);
  readonly #engine = loadAddon().openEngine({
    maxHosts: 1024,
    windowMs: WINDOW_SECONDS * 1000,
    tickMs: 100,
    countOutgoing: false,
    clock: "capture",
    idleMs: 60_000,
  });
  readonly #groups = allocateHostRows(1);
  #recorder: HistoryRecorder;

  constructor() {
    this.db.run(TRAFFIC_SCHEMA);
    this.db.run(TRAFFIC_MAXIMA);
    this.db.run(TRAFFIC_DEVIATIONS);
    this.tables = new TrafficTables(this.db);
    this.#engine.setNetworks(networksOf(["203.0.0.0/16"]));
    this.#recorder = this.#started();
  }

  #started(): HistoryRecorder {
    const options: HistoryRecorderOptions = {
      intervalSeconds: INTERVAL_SECONDS,
      windowMs: WINDOW_SECONDS * 1000,
      rowsMax: 1000,
      hosts: this.#engine,
      attacks: () => [],
      readBaselines: () => {},
      baselinePps: () => null,
      after: (ms, fn) => this.#timers.after(ms + this.lateMs, fn),
      nextTurn,
      wallMs: () => this.clock.wallMs(),
      monotonicMs: () => this.clock.monotonicMs(),
      onSnapshot: (snapshot) =>
        new Promise<void>((resolve) => {
          this.#timers.after(this.storeMs, () => {
            this.db.transaction(() => this.tables.insert([snapshot]))();
            resolve();
          });
        }),
      onCut: () => {
        throw new Error("rows were cut");
      },
      onFault: (cause) => {
        throw cause;
      },
    };
    const recorder = new HistoryRecorder(options);
    recorder.start();
    return recorder;
  }

  /** As a stop of the service and the next start, which takes this time. */
  async restart(ms: number): Promise<void> {
    await this.#recorder.stop();
    this.clock.advance(ms);
    this.#recorder = this.#started();
  }

  /** Counts the capture, and calls `onTick` after each tick. */
  async run(onTick: (seconds: number) => Promise<void> | void): Promise<void> {
    const replay = this.#engine.openReplay(capture);
    for (let ms = replay.advance(); ms !== null; ms = replay.advance()) {
      this.clock.advance(Math.max(0, ms - this.clock.wallMs()));
      this.#engine.readGroups(this.#groups);
      this.#recorder.ticked(this.#groups, GLOBAL);
      await nextTurn();
      await onTick((ms - START_MS) / 1000);
    }
    replay.close();
  }

  async points(key: string, stepSeconds: number): Promise<TrafficPoint[]> {
    const range = { fromMs: START_MS - 3_600_000, toMs: START_MS + 3_600_000 };
    const query = { key, direction: "incoming", ...range, stepSeconds } as const;
    const recent = await this.#recorder.recent(key, "incoming");
    const older = storedQuery(query, recent);
    return joined(older === null ? [] : this.tables.points(older), recent, query);
  }

  close(): void {
    this.#engine.close();
  }
}

function sumOf(points: readonly TrafficPoint[]): { packets: number; maxPps: number } {
  return {
    packets: points.reduce((sum, { pps, seconds }) => sum + pps * seconds, 0),
    maxPps: Math.max(0, ...points.map(({ maxPps }) => maxPps)),
  };
}

async function expectFloods(history: History, stepSeconds: number): Promise<void> {
  const wrong: string[] = [];
  for (const { host, atSeconds, lengthSeconds } of FLOODS) {
    const { packets, maxPps } = sumOf(await history.points(host, stepSeconds));
    const sent = lengthSeconds * PPS;
    const peak = PPS * Math.min(1, lengthSeconds / WINDOW_SECONDS);
    if (Math.abs(packets / sent - 1) <= 0.05 && Math.abs(maxPps / peak - 1) <= 0.05) continue;
    wrong.push(`${lengthSeconds} s at ${atSeconds} s: ${packets} of ${sent} packets, ${maxPps} of ${peak} pps`);
  }
  expect(wrong).toEqual([]);
}

test.each<[string, (history: History) => void]>([
  ["with timers and a store in time", () => {}],
  ["with a late timer", (history) => (history.lateMs = 3700)],
  ["with a slow store", (history) => (history.storeMs = 25_000)],
])("the peak and the total of each flood are in the history, %s, at every step #traffic-point", async (_, disturb) => {
  const history = new History();
  disturb(history);
  await history.run(() => {});
  for (const step of [1, 10, 60, 300]) await expectFloods(history, step);
  history.clock.advance(60_000);
  await nextTurn();
  for (const _slice of aggregateTraffic(history.db, START_MS / 1000 + 3 * 3600, 30));
  for (const step of [60, 300, 3600]) await expectFloods(history, step);
  history.close();
});

test("what was sent so far can be read at every moment, also of the present step #traffic-present", async () => {
  const history = new History();
  history.storeMs = 4000;
  const flood = FLOODS.find(({ lengthSeconds, atSeconds }) => lengthSeconds === 5 && atSeconds === 18) as Flood;
  const low: string[] = [];
  await history.run(async (seconds) => {
    const sent = Math.min(Math.max(0, seconds - flood.atSeconds), flood.lengthSeconds) * PPS;
    const { packets } = sumOf(await history.points(flood.host, 10));
    // One tick may be on its way.
    if (Math.abs(packets - sent) > PPS / 10 + 1) low.push(`${packets} of ${sent} after ${seconds} s`);
  });
  expect(low).toEqual([]);
  history.close();
});

test("a stop of the service writes what is there of the last step: nothing is lost between two processes", async () => {
  const history = new History();
  let next = 12.3;
  await history.run(async (seconds) => {
    if (seconds < next) return;
    next += 4.1;
    await history.restart(0);
  });
  for (const step of [1, 10, 60]) await expectFloods(history, step);
  history.close();
});

test("total traffic has all hosts #traffic-total", async () => {
  const history = new History();
  await history.run(() => {});
  const sent = FLOODS.reduce((sum, { lengthSeconds }) => sum + lengthSeconds * PPS, 0);
  for (const step of [10, 60]) {
    for (const series of ["total", "total udp"]) {
      const { packets } = sumOf(await history.points(series, step));
      expect(Math.abs(packets / sent - 1)).toBeLessThan(0.05);
    }
  }
  const { maxPps } = sumOf(await history.points("total", 60));
  const at = (seconds: number) =>
    FLOODS.filter((flood) => flood.atSeconds <= seconds && seconds < flood.atSeconds + flood.lengthSeconds).length;
  const highest = Math.max(...Array.from({ length: 400 }, (_, i) => at(i / 10))) * PPS;
  expect(maxPps).toBeGreaterThan(highest * 0.9);
  expect(maxPps).toBeLessThanOrEqual(highest);
  expect(await history.points("total tcp", 60)).toEqual([]);
  history.close();
});
