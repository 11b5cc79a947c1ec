import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { address, hostRows, intervalRows } from "../../test/fixtures/host-rows.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { addressFromBytes, type IpAddress } from "../net/address.ts";
import { nextTurn } from "../system/timers.ts";
import { HistoryRecorder, type HistoryRecorderOptions } from "./history-recorder.ts";
import { INTERVAL_VALUES, type IntervalRows } from "./interval-rows.ts";
import type { Direction } from "./rates.ts";
import { TRAFFIC_VALUES, type TrafficSnapshot } from "./traffic-history.ts";

interface SnapshotRow {
  readonly host: string;
  readonly outgoing: boolean;
  readonly inAttack: boolean;
  readonly values: number[];
}

function rowsOf({ count, addresses, outgoing, inAttack, values }: TrafficSnapshot): SnapshotRow[] {
  return Array.from({ length: count }, (_, row) => ({
    host: addressFromBytes(addresses, row * 16),
    outgoing: outgoing[row] === 1,
    inAttack: inAttack[row] === 1,
    values: [...values.slice(row * TRAFFIC_VALUES, (row + 1) * TRAFFIC_VALUES)],
  }));
}

let clock: ManualClock;
let chunks: IntervalRows[];
let reads: number;
let attacks: { target: IpAddress; direction: Direction }[];
let snapshots: TrafficSnapshot[];
let cut: number;
let store: () => void;
let faults: unknown[];
let recorder: HistoryRecorder;
let options: HistoryRecorderOptions;

beforeEach(() => {
  clock = new ManualClock();
  [chunks, reads, attacks, snapshots, cut, faults] = [[], 0, [], [], 0, []];
  store = () => {};
  options = {
    intervalSeconds: 10,
    windowMs: 1000,
    rowsMax: 3,
    hosts: {
      keepIntervals: () => {},
      takeIntervals(cursor, out) {
        reads++;
        const chunk = chunks[cursor];
        if (chunk === undefined) return { next: -1, count: 0 };
        for (const column of ["addresses", "incoming", "outgoing"] as const) out[column].set(chunk[column]);
        return { next: cursor + 1 < chunks.length ? cursor + 1 : -1, count: chunk.capacity };
      },
      readInterval(bytes, out) {
        const chunk = chunks[0];
        if (chunk === undefined || Buffer.compare(bytes, chunk.addresses.subarray(0, 16)) !== 0) return false;
        for (const column of ["addresses", "incoming", "outgoing"] as const) {
          out[column].set(chunk[column].subarray(0, out[column].length));
        }
        return true;
      },
    },
    attacks: () => attacks,
    readBaselines: () => {},
    baselinePps: (rows, row, direction) =>
      direction === "incoming" ? (rows.incoming[row * INTERVAL_VALUES] ?? 0) / 2 : null,
    after: (ms, fn) => new ManualTimers(clock).after(ms, fn),
    nextTurn,
    wallMs: () => clock.wallMs(),
    monotonicMs: () => clock.monotonicMs(),
    onSnapshot: (snapshot) => {
      snapshots.push(snapshot);
      return new Promise<void>((resolve) => {
        store = resolve;
      });
    },
    onCut: (rows) => {
      cut += rows;
    },
    onFault: (cause) => faults.push(cause),
  };
  recorder = new HistoryRecorder(options);
  recorder.start();
});
afterEach(() => recorder.stop());

async function interval(): Promise<TrafficSnapshot | undefined> {
  clock.advance(10_000);
  for (let i = 0; i <= chunks.length; i++) await nextTurn();
  return snapshots.at(-1);
}

/** The last number of the address is the host's highest rate. */
function hosts(from: number, to: number): IntervalRows {
  const all = Array.from({ length: to - from }, (_, i) => ({
    target: `192.0.2.${from + i}`,
    incoming: [1, 0, 0, from + i],
  }));
  return intervalRows(...all);
}

describe("the history recorder", () => {
  test("keeps each host in each direction in which it has traffic", async () => {
    chunks = [
      intervalRows(
        { target: "192.0.2.1", incoming: [100, 2, 3, 90, 8, 9, 4, 5, 6] },
        { target: "2001:db8::1", outgoing: [7, 0, 0, 6, 0, 0] },
      ),
    ];
    const snapshot = await interval();
    expect(snapshot).toMatchObject({ atSeconds: clock.wallMs() / 1000 - 10, seconds: 10, count: 2 });
    expect(snapshot && rowsOf(snapshot)).toEqual([
      { host: "192.0.2.1", outgoing: false, inAttack: false, values: [10, 0.2, 0.3, 50, 90, 8, 9, 4, 5, 6] },
      { host: "2001:db8::1", outgoing: true, inAttack: false, values: [0.7, 0, 0, Number.NaN, 6, 0, 0, 0, 0, 0] },
    ]);
  });

  test("takes one at each interval, also when there is no traffic at all", async () => {
    expect((await interval())?.count).toBe(0);
    await interval();
    expect(snapshots).toHaveLength(2);
    expect(faults).toEqual([]);
  });

  test("keeps the busiest of what is too much, and counts the rest", async () => {
    chunks = [hosts(5, 9), hosts(1, 5), hosts(9, 14)];
    const snapshot = await interval();
    const kept = snapshot && rowsOf(snapshot).map(({ host }) => host);
    expect(kept?.toSorted()).toEqual(["192.0.2.11", "192.0.2.12", "192.0.2.13"]);
    expect(cut).toBe(10);
    chunks = [hosts(1, 3)];
    expect((await interval())?.count).toBe(2);
    expect(cut).toBe(10);
  });

  test("fills its bound when all are equally busy", async () => {
    const same = Array.from({ length: 20 }, (_, i) => ({ target: `192.0.2.${i}`, incoming: [5, 0, 0, 5] }));
    chunks = [intervalRows(...same)];
    expect((await interval())?.count).toBe(3);
    expect(cut).toBe(17);
  });

  test("marks hosts in attack by direction, and keeps them before busier ones", async () => {
    chunks = [hosts(1, 30)];
    attacks = [
      { target: address("192.0.2.2"), direction: "incoming" },
      { target: address("192.0.2.9"), direction: "outgoing" },
      // The same four bytes at the end as 192.0.2.29.
      { target: address("2001:db8::c000:21d"), direction: "incoming" },
    ];
    const snapshot = await interval();
    const rows = (snapshot ? rowsOf(snapshot) : []).map(({ host, inAttack }) => `${host} ${inAttack}`);
    expect(rows.toSorted()).toEqual(["192.0.2.2 true", "192.0.2.28 false", "192.0.2.29 false"]);
  });

  test("has an attack that ended since the interval before", async () => {
    chunks = [hosts(1, 2)];
    attacks = [{ target: address("192.0.2.1"), direction: "incoming" }];
    await interval();
    attacks = [];
    const marks = [await interval(), await interval()].map((snapshot) => snapshot?.inAttack[0]);
    expect(marks).toEqual([1, 0]);
  });

  test("has an attack that began and ended within one interval", async () => {
    chunks = [hosts(1, 2)];
    recorder.attackStarted({ target: address("192.0.2.1"), direction: "incoming" });
    const marks = [await interval(), await interval()].map((snapshot) => snapshot?.inAttack[0]);
    expect(marks).toEqual([1, 0]);
  });

  test("begins intervals at multiples by the wall clock, the first where it started", async () => {
    await recorder.stop();
    snapshots = [];
    clock.advance(3400);
    recorder = new HistoryRecorder(options);
    recorder.start();
    for (const ms of [6600, 10_000]) {
      clock.advance(ms);
      await nextTurn();
    }
    const began = Date.parse("2026-03-01T12:00:00Z") / 1000;
    expect(snapshots.map(({ atSeconds, seconds }) => [atSeconds - began, seconds])).toEqual([
      [3, 6.6],
      [10, 10],
    ]);
  });

  test("takes the interval so far when it stops, and reads no more", async () => {
    chunks = [hosts(1, 2), hosts(2, 3), hosts(3, 4)];
    clock.advance(4000);
    await recorder.stop();
    expect([reads, snapshots.length, snapshots[0]?.seconds, snapshots[0]?.count, clock.pending]).toEqual([
      3, 1, 4, 3, 0,
    ]);
  });

  test("finishes what it was taking when it is stopped", async () => {
    chunks = [hosts(1, 2), hosts(2, 3), hosts(3, 4)];
    clock.advance(10_000);
    expect(reads).toBe(1);
    await recorder.stop();
    expect(snapshots.map(({ count }) => count)).toEqual([3]);
  });

  test("an interval of less than a second is read and stored as one of a second, with the same sums", async () => {
    chunks = [intervalRows({ target: "192.0.2.1", incoming: [100, 2, 3, 90, 8, 9] })];
    clock.advance(300);
    const [present, ...others] = await recorder.recent("192.0.2.1", "incoming");
    expect([present?.seconds, present?.row?.values[0], others]).toEqual([1, 100, []]);
    await recorder.stop();
    expect(snapshots.map(({ seconds, values }) => [seconds, values[0]])).toEqual([[1, 100]]);
  });

  test("gives what is not stored yet, and the present interval so far", async () => {
    chunks = [intervalRows({ target: "192.0.2.1", incoming: [100, 2, 3, 90, 8, 9] })];
    await interval();
    clock.advance(4000);
    const recent = () => recorder.recent("192.0.2.1", "incoming");
    expect((await recent()).map(({ seconds, row }) => [seconds, row?.values[0], row?.values[4]])).toEqual([
      [10, 10, 90],
      [4, 25, 90],
    ]);
    expect((await recorder.recent("192.0.2.1", "outgoing")).map(({ row }) => row)).toEqual([null, null]);
    store();
    await nextTurn();
    expect((await recent()).map(({ seconds }) => seconds)).toEqual([4]);
  });

  test("a part of the traffic is not known before its interval is over", async () => {
    clock.advance(4000);
    expect(await recorder.recent("by country: DE", "incoming")).toEqual([]);
    await interval();
    expect((await recorder.recent("by country: DE", "incoming")).map(({ seconds }) => seconds)).toEqual([10]);
  });

  test("has totals of all hostgroups, of each tenant and of each hostgroup, from every tick #traffic-total", async () => {
    const hostgroups = [
      { name: "global", tenant: "acme" },
      { name: "web", tenant: null },
      { name: "mail", tenant: "acme" },
    ];
    const tick = (...pps: number[]) => {
      clock.advance(1000);
      const groups = hostRows(...pps.map((rate) => ({ target: "::", rates: { pps: rate, udp_pps: rate / 2 } })));
      recorder.ticked(groups, hostgroups);
    };
    tick(10, 20, 30);
    tick(100, 0, 300);
    clock.advance(8000);
    await nextTurn();
    const totals = snapshots[0]?.totals.map(({ series, values }) => [series, values[0], values[4]]);
    expect(totals).toEqual([
      ["total", 46, 400],
      ["total udp", 23, 200],
      ["total of acme", 44, 400],
      ["total udp of acme", 22, 200],
      ["hostgroup: global", 11, 100],
      ["hostgroup udp: global", 5.5, 50],
      ["hostgroup: web", 2, 20],
      ["hostgroup udp: web", 1, 10],
      ["hostgroup: mail", 33, 300],
      ["hostgroup udp: mail", 16.5, 150],
    ]);
    expect((await interval())?.totals).toEqual([]);
  });

  test("the highest totals have the deviations of their estimates, which add up as variances", async () => {
    const hostgroups = [
      { name: "global", tenant: null },
      { name: "web", tenant: null },
    ];
    const rates = { pps: 60_000, mbps: 480, udp_pps: 15_000 };
    const weights = [1000, 1_000_000];
    const tick = (...groups: Parameters<typeof hostRows>) => {
      clock.advance(1000);
      recorder.ticked(hostRows(...groups), hostgroups);
    };
    tick({ target: "::", rates, weights }, { target: "::", rates });
    tick({ target: "::", rates: { pps: 1000 }, weights }, { target: "::", rates: {} });
    clock.advance(8000);
    await nextTurn();
    const highest = snapshots[0]?.totals.map(({ series, values }) => [
      series,
      ...values.slice(4, 6),
      ...values.slice(7, 9).map(Math.round),
    ]);
    // 60 samples of 1000 packets: a deviation of the root of 60, times 1000.
    expect(highest).toEqual([
      ["total", 120_000, 960, 7746, 62],
      ["total udp", 30_000, 0, 3873, 0],
      ["hostgroup: global", 60_000, 480, 7746, 62],
      ["hostgroup udp: global", 15_000, 0, 3873, 0],
      ["hostgroup: web", 60_000, 480, 0, 0],
      ["hostgroup udp: web", 15_000, 0, 0, 0],
    ]);
  });

  test("reports a failure and continues at the next interval", async () => {
    chunks = [hosts(1, 2)];
    attacks = null as never;
    await interval();
    expect([faults.length, snapshots.length]).toEqual([1, 0]);
    attacks = [];
    expect((await interval())?.count).toBe(1);
  });
});
