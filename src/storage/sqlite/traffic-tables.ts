/**
 * Rates of hosts and their totals in SQLite. Snapshots go into `hot`, which is ordered by time and therefore fast to write. Every hour
 * aggregation moves older ones into tiers of one and of five minutes, which are ordered by host and therefore fast to
 * read. Queries read the tiers before the frontier, and `hot` after it.
 */
import type { Database } from "bun:sqlite";
import { addressFromBytes } from "../../net/address.ts";
import {
  bucketOf,
  rowValues,
  type TrafficPoint,
  type TrafficQuery,
  type TrafficSnapshot,
  type TrafficValues,
} from "../../traffic/traffic-history.ts";
import { partPrefix, type TopPart, type TopQuery } from "../../traffic/traffic-parts.ts";

/** Seconds covered by one row of the finer and of the coarser tier. */
export const FINE_TIER = 60;
export const COARSE_TIER = 300;
/** How long the finer tier is kept, seconds. */
export const FINE_TIER_KEPT = 4 * 86_400;

const COLUMNS = `
  series INTEGER NOT NULL, ts INTEGER NOT NULL, pps REAL NOT NULL, mbps REAL NOT NULL, flows REAL NOT NULL,
  in_attack INTEGER NOT NULL, baseline REAL`;

/**
 * A series is one host, or one total, in one direction; `seen` is the hour of its last row. `ticks` has the snapshots and the buckets
 * of the tiers with the seconds that they cover, since a host without traffic has no row.
 */
export const TRAFFIC_SCHEMA = `
  CREATE TABLE series (
    id INTEGER PRIMARY KEY, address TEXT NOT NULL, outgoing INTEGER NOT NULL, seen INTEGER NOT NULL,
    UNIQUE (address, outgoing)
  ) STRICT;
  CREATE TABLE hot (${COLUMNS}, PRIMARY KEY (ts, series)) STRICT, WITHOUT ROWID;
  CREATE TABLE cold_${FINE_TIER} (${COLUMNS}, PRIMARY KEY (series, ts)) STRICT, WITHOUT ROWID;
  CREATE TABLE cold_${COARSE_TIER} (${COLUMNS}, PRIMARY KEY (series, ts)) STRICT, WITHOUT ROWID;
  CREATE TABLE ticks (tier INTEGER NOT NULL, ts INTEGER NOT NULL, seconds REAL NOT NULL, PRIMARY KEY (tier, ts))
    STRICT, WITHOUT ROWID;
  CREATE TABLE frontier (only INTEGER PRIMARY KEY CHECK (only = 0), ts INTEGER NOT NULL) STRICT;
  INSERT INTO frontier VALUES (0, 0);
`;

const TRAFFIC_TABLES = ["hot", `cold_${FINE_TIER}`, `cold_${COARSE_TIER}`];
const MAXIMA = ["max_pps", "max_mbps", "max_flows"] as const;

/** Rows from before have no maxima: theirs are their means. */
export const TRAFFIC_MAXIMA = TRAFFIC_TABLES.flatMap((table) =>
  MAXIMA.map((column) => `ALTER TABLE ${table} ADD COLUMN ${column} REAL;`),
).join("\n");

const DEVIATIONS = ["dev_pps", "dev_mbps", "dev_flows"] as const;

/** The standard deviations of the maxima; rows from before have none. */
export const TRAFFIC_DEVIATIONS = TRAFFIC_TABLES.flatMap((table) =>
  DEVIATIONS.map((column) => `ALTER TABLE ${table} ADD COLUMN ${column} REAL;`),
).join("\n");

/** The maxima of the rows `r` of a group, and the largest of their deviations. */
export const HIGHEST = [
  ...MAXIMA.map((column) => `max(ifnull(r.${column}, r.${column.slice(4)})) AS ${column}`),
  ...DEVIATIONS.map((column) => `max(ifnull(r.${column}, 0)) AS ${column}`),
].join(", ");

/** From this range on, seconds, the largest parts of the traffic are read from the coarser tier. */
const FINE_TIER_READ = 6 * 3600;
/** The tier of `hot` in `ticks`. */
export const HOT = 0;
const HOUR = 3600;

interface Bucket {
  readonly bucket: number;
  readonly pps: number;
  readonly mbps: number;
  readonly flows: number;
  readonly in_attack: number;
  readonly baseline: number;
  readonly learned: number;
  readonly max_pps: number;
  readonly max_mbps: number;
  readonly max_flows: number;
  readonly dev_pps: number;
  readonly dev_mbps: number;
  readonly dev_flows: number;
}

interface Part {
  readonly series: string;
  readonly packets: number;
  readonly megabits: number;
}

interface Segment {
  readonly tier: number;
  readonly from: number;
  readonly to: number;
}

export class TrafficTables {
  readonly #db: Database;
  /** Ids of the current hour: address and direction → id. */
  readonly #ids = new Map<string, number>();
  #idsHour = -1;

  constructor(db: Database) {
    this.#db = db;
  }

  insert(snapshots: readonly TrafficSnapshot[]): void {
    for (const snapshot of snapshots) this.#insertOne(snapshot);
  }

  #insertOne(snapshot: TrafficSnapshot): void {
    const { atSeconds, seconds, count, addresses, outgoing, inAttack, totals } = snapshot;
    // The clock was set back by hours: that time has been aggregated already.
    if (atSeconds < this.frontier()) return;
    const statement = this.#db.query("INSERT OR REPLACE INTO hot VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    this.#db.query("INSERT OR REPLACE INTO ticks VALUES (?, ?, ?)").run(HOT, atSeconds, seconds);
    const insert = (series: string, isOutgoing: number, attacked: number, values: TrafficValues) => {
      const [pps, mbps, flows, baseline, ...highest] = values;
      const learned = Number.isNaN(baseline) ? null : baseline;
      const id = this.#idOf(series, isOutgoing, atSeconds);
      statement.run(id, atSeconds, pps, mbps, flows, attacked, learned, ...highest);
    };
    for (let row = 0; row < count; row++) {
      const host = addressFromBytes(addresses, row * 16);
      insert(host, outgoing[row] as number, inAttack[row] as number, rowValues(snapshot, row));
    }
    for (const { series, outgoing, values } of totals) insert(series, outgoing ? 1 : 0, 0, values);
  }

  #idOf(address: string, outgoing: number, atSeconds: number): number {
    const hour = Math.floor(atSeconds / HOUR);
    if (hour !== this.#idsHour) this.forgetIds(hour);
    const key = `${outgoing}${address}`;
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const sql = `INSERT INTO series (address, outgoing, seen) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET seen = max(seen, excluded.seen) RETURNING id`;
    const { id } = this.#db.query(sql).get(address, outgoing, hour) as { id: number };
    this.#ids.set(key, id);
    return id;
  }

  /** Also called after a failed transaction, whose new ids are invalid. */
  forgetIds(hour = -1): void {
    this.#ids.clear();
    this.#idsHour = hour;
  }

  frontier(): number {
    return (this.#db.query("SELECT ts FROM frontier").get() as { ts: number }).ts;
  }

  points({ key, direction, fromMs, toMs, stepSeconds: step }: TrafficQuery): TrafficPoint[] {
    const sql = "SELECT id FROM series WHERE address = ? AND outgoing = ?";
    const series = this.#db.query(sql).get(key, direction === "outgoing" ? 1 : 0) as { id: number } | null;
    if (series === null) return [];
    const range = { from: Math.ceil(fromMs / 1000), to: Math.ceil(toMs / 1000) };
    const segments = segmentsOf(range, step, this.frontier()).filter(({ from, to }) => from < to);
    const seconds = new Map<number, number>();
    const sums = new Map<number, Bucket>();
    for (const segment of segments) {
      for (const row of this.#ticks(segment, step)) add(seconds, row.bucket, row.seconds);
      for (const row of this.#sums(segment, step, series.id)) sums.set(row.bucket, merged(sums.get(row.bucket), row));
    }
    return [...sums.values()]
      .sort((a, b) => a.bucket - b.bucket)
      .map((sum) => pointOf(sum, seconds.get(sum.bucket) ?? 0));
  }

  /** The largest parts of the traffic. */
  top({ by, fromMs, toMs, limit }: TopQuery): TopPart[] {
    const range = { from: Math.ceil(fromMs / 1000), to: Math.ceil(toMs / 1000) };
    const step = range.to - range.from >= FINE_TIER_READ ? COARSE_TIER : FINE_TIER;
    const sums = new Map<string, { packets: number; megabits: number }>();
    let seconds = 0;
    for (const { tier, from, to } of segmentsOf(range, step, this.frontier())) {
      if (from >= to) continue;
      const width = widthOf(tier);
      const time = "SELECT sum(seconds) AS seconds FROM ticks WHERE tier = $tier AND ts > $from - $width AND ts < $to";
      seconds += (this.#db.query(time).get({ tier, from, to, width }) as { seconds: number | null }).seconds ?? 0;
      // A series that was not seen since the hour before has no row in the range.
      const sql = `SELECT s.address AS series, sum(r.pps * t.seconds) AS packets, sum(r.mbps * t.seconds) AS megabits
        FROM series s CROSS JOIN ticks t CROSS JOIN ${tier === HOT ? "hot" : `cold_${tier}`} r
          ON r.series = s.id AND r.ts = t.ts
        WHERE s.address >= $prefix AND s.address < $beyond AND s.outgoing = 0 AND s.seen >= $seen
          AND t.tier = $tier AND t.ts > $from - $width AND t.ts < $to GROUP BY s.id`;
      const prefix = partPrefix(by);
      const seen = Math.floor(from / HOUR) - 1;
      const parameters = { prefix, beyond: `${prefix}\u{10ffff}`, seen, tier, from, to, width };
      for (const { series, packets, megabits } of this.#db.query(sql).all(parameters) as Part[]) {
        const key = series.slice(prefix.length);
        const sum = sums.get(key) ?? { packets: 0, megabits: 0 };
        sums.set(key, { packets: sum.packets + packets, megabits: sum.megabits + megabits });
      }
    }
    return [...sums]
      .map(([key, { packets, megabits }]) => ({ key, pps: packets / seconds, mbps: megabits / seconds }))
      .sort((a, b) => b.mbps - a.mbps || (a.key < b.key ? -1 : 1))
      .slice(0, limit);
  }

  #ticks({ tier, from, to }: Segment, step: number): { bucket: number; seconds: number }[] {
    const sql = `SELECT max(ts, $from) / $step * $step AS bucket, sum(seconds) AS seconds FROM ticks
      WHERE tier = $tier AND ts > $from - $width AND ts < $to GROUP BY bucket`;
    return this.#db.query(sql).all({ tier, from, to, step, width: widthOf(tier) }) as {
      bucket: number;
      seconds: number;
    }[];
  }

  #sums({ tier, from, to }: Segment, step: number, series: number): Bucket[] {
    const table = tier === HOT ? "hot" : `cold_${tier}`;
    // `ticks` is the outer table: in `hot` it leads to the rows of one series.
    const sql = `SELECT max(t.ts, $from) / $step * $step AS bucket, sum(r.pps * t.seconds) AS pps,
        sum(r.mbps * t.seconds) AS mbps, sum(r.flows * t.seconds) AS flows, max(r.in_attack) AS in_attack,
        ifnull(sum(r.baseline), 0) AS baseline, count(r.baseline) AS learned, ${HIGHEST}
      FROM ticks t CROSS JOIN ${table} r ON r.ts = t.ts AND r.series = $series
      WHERE t.tier = $tier AND t.ts > $from - $width AND t.ts < $to GROUP BY bucket`;
    return this.#db.query(sql).all({ series, tier, from, to, step, width: widthOf(tier) }) as Bucket[];
  }
}

/** A row of a tier that starts before the range may reach into it; a snapshot covers one moment. */
function widthOf(tier: number): number {
  return tier === HOT ? 1 : tier;
}

/**
 * Which table is read for which part of the range: the coarser tier if its rows fit into the buckets, or if there is no
 * finer data.
 */
function segmentsOf({ from, to }: { from: number; to: number }, step: number, frontier: number): Segment[] {
  const hot = { tier: HOT, from: Math.max(from, frontier), to };
  const coldTo = Math.min(to, frontier);
  if (step % COARSE_TIER === 0) return [{ tier: COARSE_TIER, from, to: coldTo }, hot];
  const fineFrom = Math.max(from, frontier - FINE_TIER_KEPT);
  return [
    { tier: COARSE_TIER, from, to: Math.min(coldTo, fineFrom) },
    { tier: FINE_TIER, from: fineFrom, to: coldTo },
    hot,
  ];
}

function add(map: Map<number, number>, key: number, value: number): void {
  map.set(key, (map.get(key) ?? 0) + value);
}

function merged(a: Bucket | undefined, b: Bucket): Bucket {
  if (a === undefined) return b;
  return {
    bucket: a.bucket,
    pps: a.pps + b.pps,
    mbps: a.mbps + b.mbps,
    flows: a.flows + b.flows,
    in_attack: Math.max(a.in_attack, b.in_attack),
    baseline: a.baseline + b.baseline,
    learned: a.learned + b.learned,
    max_pps: Math.max(a.max_pps, b.max_pps),
    max_mbps: Math.max(a.max_mbps, b.max_mbps),
    max_flows: Math.max(a.max_flows, b.max_flows),
    dev_pps: Math.max(a.dev_pps, b.dev_pps),
    dev_mbps: Math.max(a.dev_mbps, b.dev_mbps),
    dev_flows: Math.max(a.dev_flows, b.dev_flows),
  };
}

function pointOf(sum: Bucket, seconds: number): TrafficPoint {
  return {
    atSeconds: sum.bucket,
    seconds,
    pps: sum.pps / seconds,
    mbps: sum.mbps / seconds,
    flowsPerSec: sum.flows / seconds,
    maxPps: sum.max_pps,
    maxMbps: sum.max_mbps,
    maxFlowsPerSec: sum.max_flows,
    deviationPps: sum.dev_pps,
    deviationMbps: sum.dev_mbps,
    deviationFlowsPerSec: sum.dev_flows,
    inAttack: sum.in_attack !== 0,
    baselinePps: sum.learned === 0 ? null : sum.baseline / sum.learned,
  };
}

/** The next frontier: all completed hours except the last one, which stays in `hot`. */
export function nextFrontier(nowSeconds: number): number {
  return bucketOf(nowSeconds, HOUR) - HOUR;
}
