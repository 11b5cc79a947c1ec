import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { address, hostRows } from "../../test/fixtures/host-rows.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { addressFromBytes, type IpAddress } from "../net/address.ts";
import { nextTurn } from "../system/timers.ts";
import { HistoryRecorder } from "./history-recorder.ts";
import type { HostRows } from "./host-rows.ts";
import { type Direction, METRICS } from "./rates.ts";
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
let chunks: HostRows[];
let reads: number;
let attacks: { target: IpAddress; direction: Direction }[];
let snapshots: TrafficSnapshot[];
let cut: number;
let faults: unknown[];
let recorder: HistoryRecorder;

beforeEach(() => {
  clock = new ManualClock();
  [chunks, reads, attacks, snapshots, cut, faults] = [[], 0, [], [], 0, []];
  recorder = new HistoryRecorder({
    intervalSeconds: 10,
    rowsMax: 3,
    hosts: {
      readHosts(cursor, out) {
        reads++;
        const chunk = chunks[cursor];
        if (chunk === undefined) return { next: -1, count: 0 };
        for (const column of ["addresses", "incoming", "outgoing"] as const) out[column].set(chunk[column]);
        return { next: cursor + 1 < chunks.length ? cursor + 1 : -1, count: chunk.capacity };
      },
    },
    attacks: () => attacks,
    baselinePps: (rows, row, direction) =>
      direction === "incoming" ? (rows.incoming[row * METRICS.length] ?? 0) / 2 : null,
    every: (ms, fn) => new ManualTimers(clock).every(ms, fn),
    nextTurn,
    wallMs: () => clock.wallMs(),
    onSnapshot: (snapshot) => snapshots.push(snapshot),
    onCut: (rows) => {
      cut += rows;
    },
    onFault: (cause) => faults.push(cause),
  });
  recorder.start();
});
afterEach(() => recorder.stop());

async function interval(): Promise<TrafficSnapshot | undefined> {
  clock.advance(10_000);
  for (let i = 0; i <= chunks.length; i++) await nextTurn();
  return snapshots.at(-1);
}

function hosts(from: number, to: number): HostRows {
  const all = Array.from({ length: to - from }, (_, i) => ({
    target: `192.0.2.${from + i}`,
    rates: { pps: from + i },
  }));
  return hostRows(...all);
}

describe("the history recorder", () => {
  test("keeps each host in each direction in which it has traffic", async () => {
    const rows = hostRows(
      { target: "192.0.2.1", rates: { pps: 100, mbps: 2, flows_per_sec: 3, udp_pps: 90 } },
      { target: "2001:db8::1", rates: {} },
    );
    rows.outgoing[METRICS.length] = 7;
    chunks = [rows];
    const snapshot = await interval();
    expect(snapshot).toMatchObject({ atSeconds: clock.wallMs() / 1000, seconds: 10, count: 2 });
    expect(snapshot && rowsOf(snapshot)).toEqual([
      { host: "192.0.2.1", outgoing: false, inAttack: false, values: [100, 2, 3, 50] },
      { host: "2001:db8::1", outgoing: true, inAttack: false, values: [7, 0, 0, Number.NaN] },
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
    const same = Array.from({ length: 20 }, (_, i) => ({ target: `192.0.2.${i}`, rates: { pps: 5 } }));
    chunks = [hostRows(...same)];
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

  test("reads no more once it has stopped, and keeps no half snapshot", async () => {
    chunks = [hosts(1, 2), hosts(2, 3), hosts(3, 4)];
    clock.advance(10_000);
    expect(reads).toBe(1);
    await recorder.stop();
    expect([reads, snapshots.length, clock.pending]).toEqual([1, 0, 0]);
  });

  test("reports a failure and continues at the next interval", async () => {
    chunks = [hostRows({ target: "192.0.2.1", rates: { pps: 1 } })];
    attacks = null as never;
    await interval();
    expect([faults.length, snapshots.length]).toEqual([1, 0]);
    attacks = [];
    expect((await interval())?.count).toBe(1);
  });
});
