import { Database } from "bun:sqlite";
import { beforeEach, describe, expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { type SnapshotRow, snapshot } from "../../../test/fixtures/storage/history.ts";
import { NOON } from "../../../test/fixtures/views.ts";
import type { TrafficPoint, TrafficQuery } from "../../traffic/traffic-history.ts";
import { partSeries } from "../../traffic/traffic-parts.ts";
import { aggregateTraffic } from "./traffic-aggregation.ts";
import { TRAFFIC_DEVIATIONS, TRAFFIC_MAXIMA, TRAFFIC_SCHEMA, TrafficTables } from "./traffic-tables.ts";

const SECONDS = NOON / 1000;
const HOUR = 3600;
const DAY = 24 * HOUR;

let db: Database;
let tables: TrafficTables;

beforeEach(() => {
  db = new Database(":memory:", { strict: true });
  db.run(TRAFFIC_SCHEMA);
  db.run(TRAFFIC_MAXIMA);
  db.run(TRAFFIC_DEVIATIONS);
  tables = new TrafficTables(db);
});

function write(atSeconds: number, seconds: number, ...rows: SnapshotRow[]): void {
  db.transaction(() => tables.insert([snapshot(atSeconds, seconds, ...rows)]))();
}

function aggregate(nowSeconds: number, retentionDays = 30, slices = Number.POSITIVE_INFINITY): number {
  let done = 0;
  for (const _ of aggregateTraffic(db, nowSeconds, retentionDays)) if (++done >= slices) break;
  return done;
}

function ask(changes: Partial<Omit<TrafficQuery, "key">> & { key?: string } = {}): TrafficPoint[] {
  const { key = "192.0.2.1", ...rest } = changes;
  const range = { fromMs: NOON - 40 * DAY * 1000, toMs: NOON + 40 * DAY * 1000 };
  return tables.points({ key: address(key), direction: "incoming", stepSeconds: 60, ...range, ...rest });
}

function count(table: string): number {
  return (db.query(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n;
}

/** Three hours from noon, a snapshot every 10 s; the second host is there half of the time, with an attack. */
function threeHours(): void {
  for (let i = 0; i < 3 * 360; i++) {
    const rows: SnapshotRow[] = [{ host: "192.0.2.1", pps: i, mbps: i / 2, flows: 3, baseline: 100 }];
    if (i % 2 === 0) rows.push({ host: "2001:db8::1", pps: 50, inAttack: i === 500 });
    write(SECONDS + i * 10, 10, ...rows);
  }
}

describe("the hourly aggregation", () => {
  test("changes nothing in the largest parts of the traffic, in a short and in a long range", () => {
    const part = (key: string, mbps: number) =>
      ({
        series: partSeries("asn", key),
        outgoing: false,
        values: [mbps, mbps, 0, Number.NaN, mbps, mbps, 0, 0, 0, 0],
      }) as const;
    for (let i = 0; i < 3 * 360; i++) {
      const totals = i % 2 === 0 ? [part("AS1", 300), part("AS2", 100)] : [part("AS2", 100)];
      tables.insert([{ ...snapshot(SECONDS + i * 10, 10), totals }]);
    }
    const top = (hours: number) => tables.top({ by: "asn", fromMs: NOON, toMs: NOON + hours * HOUR * 1000, limit: 9 });
    const expected = [
      { key: "AS1", pps: 150, mbps: 150 },
      { key: "AS2", pps: 100, mbps: 100 },
    ];
    expect([top(3), top(24)]).toEqual([expected, expected]);
    aggregate(SECONDS + 3 * HOUR);
    expect(count("hot")).toBeGreaterThan(0);
    expect(count("hot")).toBeLessThan(1620);
    expect([top(1), top(3), top(24)]).toEqual([expected, expected, expected]);
  });

  test.each([60, 300, 3600, 540])("changes no point of a step of %i s", (stepSeconds) => {
    threeHours();
    const before = [ask({ stepSeconds }), ask({ stepSeconds, key: "2001:db8::1" })];
    aggregate(SECONDS + 3 * HOUR);
    expect(count("hot")).toBe(540);
    const after = [ask({ stepSeconds }), ask({ stepSeconds, key: "2001:db8::1" })];
    expect(after.map((points) => points.length)).toEqual(before.map((points) => points.length));
    for (const [i, points] of after.entries()) {
      for (const [j, point] of points.entries()) {
        const { pps = -1, mbps = -1 } = before[i]?.[j] ?? {};
        expect(point).toEqual({
          ...(before[i]?.[j] as TrafficPoint),
          pps: expect.closeTo(pps),
          mbps: expect.closeTo(mbps),
        });
      }
    }
  });

  test("keeps the raw interval of the last hour that is over and of the one that runs", () => {
    threeHours();
    aggregate(SECONDS + 3 * HOUR);
    expect(ask({ stepSeconds: 10, fromMs: NOON + 2 * HOUR * 1000 })).toHaveLength(360);
    expect(ask({ stepSeconds: 10, fromMs: NOON, toMs: NOON + HOUR * 1000 })).toHaveLength(60);
  });

  test("comes to the same when it is cut off after any slice and begun again", () => {
    threeHours();
    const now = SECONDS + 3 * HOUR;
    const expected = ask().map(({ pps }) => expect.closeTo(pps));
    for (let slices = 1; aggregate(now, 30, slices) >= slices; slices++) {
      expect(ask().map(({ pps }) => pps)).toEqual(expected);
    }
    expect(ask().map(({ pps }) => pps)).toEqual(expected);
    expect([count("hot"), count("cold_60"), count("cold_300")]).toEqual([540, 240, 48]);
    expect(aggregate(now)).toBe(0);
  });

  test("takes time that is aggregated as closed: a clock set back writes nothing into it", () => {
    threeHours();
    aggregate(SECONDS + 3 * HOUR);
    const before = ask();
    write(SECONDS + 5, 10, { host: "192.0.2.1", pps: 1e9 });
    aggregate(SECONDS + 4 * HOUR);
    expect(ask().map(({ pps }) => pps)).toEqual(before.map(({ pps }) => expect.closeTo(pps)));
  });

  test("lets minutes go after four days and all after the retention, with the hosts that had nothing else", () => {
    write(SECONDS, 10, { host: "192.0.2.1", pps: 600 }, { host: "192.0.2.2", pps: 1 });
    write(SECONDS + 60, 10, { host: "192.0.2.1", pps: 300 });
    aggregate(SECONDS + 2 * HOUR, 10);
    expect(ask()).toHaveLength(2);
    write(SECONDS + 5 * DAY, 10, { host: "192.0.2.1", pps: 5 });
    aggregate(SECONDS + 5 * DAY, 10);
    expect(ask().map(({ atSeconds, pps }) => [atSeconds - SECONDS, pps])).toEqual([
      [0, 450],
      [5 * DAY, 5],
    ]);
    expect([count("cold_60"), count("cold_300"), count("series")]).toEqual([0, 2, 2]);
    aggregate(SECONDS + 12 * DAY, 10);
    expect(ask().map(({ atSeconds }) => atSeconds - SECONDS)).toEqual([5 * DAY]);
    expect([count("cold_300"), count("series")]).toEqual([1, 1]);
    aggregate(SECONDS + 40 * DAY, 10);
    expect(["hot", "cold_60", "cold_300", "series", "ticks"].map(count)).toEqual([0, 0, 0, 0, 0]);
  });

  test("leaves ids of hosts alone that come back after all of theirs was removed", () => {
    write(SECONDS, 10, { host: "192.0.2.1", pps: 1 });
    aggregate(SECONDS + 20 * DAY, 10);
    write(SECONDS + 20 * DAY, 10, { host: "192.0.2.9", pps: 9 });
    write(SECONDS + 20 * DAY + 10, 10, { host: "192.0.2.1", pps: 8 });
    expect(ask().map(({ pps }) => pps)).toEqual([4]);
    expect(ask({ key: "192.0.2.9" }).map(({ pps }) => pps)).toEqual([4.5]);
  });

  test("goes through many hosts in slices", () => {
    const rows = Array.from({ length: 1000 }, (_, i) => ({ host: `198.18.${i >> 8}.${i & 255}`, pps: i + 1 }));
    write(SECONDS, 10, ...rows);
    expect(aggregate(SECONDS + 3 * HOUR)).toBe(10 + 1 + 1);
    expect(ask({ key: "198.18.3.231" })).toMatchObject([{ atSeconds: SECONDS, pps: 1000 }]);
  });
});
