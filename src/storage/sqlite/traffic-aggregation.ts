/**
 * Aggregates traffic: moves it out of `hot` into the tiers every hour, and removes what is older than the retention. Works in slices
 * of some ten milliseconds, so that writes and queries run in between. It may be interrupted after any slice: until the
 * frontier has moved, slices are repeated with the same result; after that only removals are left.
 */
import type { Database } from "bun:sqlite";
import { COARSE_TIER, FINE_TIER, FINE_TIER_KEPT, HIGHEST, HOT, nextFrontier } from "./traffic-tables.ts";

/** Series aggregated in one slice. */
const SLICE_SERIES = 100;

interface Aggregation {
  /** Seconds since the epoch: from the current frontier to the next one. */
  readonly from: number;
  readonly to: number;
  readonly coarseKept: number;
}

/** Each step of the generator is one slice. */
export function* aggregateTraffic(db: Database, nowSeconds: number, retentionDays: number): Generator<void> {
  yield* removeAggregated(db);
  const { ts: from } = db.query("SELECT ts FROM frontier").get() as { ts: number };
  const to = nextFrontier(nowSeconds);
  if (to <= from) return;
  const aggregation = { from, to, coarseKept: to - retentionDays * 86_400 };
  for (const tier of [FINE_TIER, COARSE_TIER]) aggregateTicks(db, tier, aggregation);
  for (let after = 0; ; ) {
    const ids = seriesAfter(db, after);
    const last = ids.at(-1);
    if (last === undefined) break;
    db.transaction(() => aggregateSeries(db, ids, aggregation)).immediate();
    after = last;
    yield;
  }
  db.query("UPDATE frontier SET ts = ?").run(to);
  // Only now, since the coarser tier is computed with the ticks of the finer one.
  db.query(`DELETE FROM ticks WHERE tier = ${FINE_TIER} AND ts < ?`).run(fineKept(aggregation));
  db.query(`DELETE FROM ticks WHERE tier = ${COARSE_TIER} AND ts < ?`).run(aggregation.coarseKept);
  yield;
  yield* removeAggregated(db);
}

/** null: there is nothing. */
export function oldestTrafficMs(db: Database): number | null {
  const { ts } = db.query("SELECT min(ts) AS ts FROM ticks").get() as { ts: number | null };
  return ts === null ? null : ts * 1000;
}

/** Removes from all tiers, whatever has been aggregated. Each step of the generator is one slice. */
export function* removeTrafficBefore(db: Database, seconds: number): Generator<void> {
  for (let after = 0; ; ) {
    const ids = seriesAfter(db, after);
    const last = ids.at(-1);
    if (last === undefined) break;
    db.transaction(() => {
      for (const tier of [FINE_TIER, COARSE_TIER]) {
        const remove = db.query(`DELETE FROM cold_${tier} WHERE series = ? AND ts < ?`);
        for (const id of ids) remove.run(id, seconds);
      }
    }).immediate();
    after = last;
    yield;
  }
  const snapshots = db.query(`SELECT ts FROM ticks WHERE tier = ${HOT} AND ts < ?`).all(seconds) as { ts: number }[];
  for (const { ts } of snapshots) {
    db.query("DELETE FROM hot WHERE ts = ?").run(ts);
    yield;
  }
  db.query("DELETE FROM ticks WHERE ts < ?").run(seconds);
}

function seriesAfter(db: Database, after: number): number[] {
  const sql = "SELECT id FROM series WHERE id > ? ORDER BY id LIMIT ?";
  return (db.query(sql).all(after, SLICE_SERIES) as { id: number }[]).map(({ id }) => id);
}

function aggregateTicks(db: Database, tier: number, { from, to }: Aggregation): void {
  db.query(
    `INSERT OR REPLACE INTO ticks SELECT $tier, ts / $tier * $tier AS bucket, sum(seconds) FROM ticks
      WHERE tier = ${HOT} AND ts >= $from AND ts < $to GROUP BY bucket`,
  ).run({ tier, from, to });
}

/** Fills the finer tier from the snapshots, and the coarser tier from the finer one. */
function aggregateSeries(db: Database, ids: readonly number[], aggregation: Aggregation): void {
  const [first = 0, last = 0] = [ids[0], ids.at(-1)];
  for (const [from, source, tier] of [
    [HOT, "hot", FINE_TIER],
    [FINE_TIER, `cold_${FINE_TIER}`, COARSE_TIER],
  ] as const) {
    // The outer table of the join follows the order of the inner table's key.
    const rows =
      from === HOT
        ? `ticks t CROSS JOIN ${source} r ON r.ts = t.ts AND r.series >= $first AND r.series <= $last`
        : `${source} r CROSS JOIN ticks t ON t.ts = r.ts`;
    db.query(
      `INSERT OR REPLACE INTO cold_${tier}
        SELECT r.series, r.ts / ${tier} * ${tier} AS bucket, sum(r.pps * t.seconds) / c.seconds,
          sum(r.mbps * t.seconds) / c.seconds, sum(r.flows * t.seconds) / c.seconds, max(r.in_attack), avg(r.baseline), ${HIGHEST}
        FROM ${rows} CROSS JOIN ticks c ON c.tier = ${tier} AND c.ts = r.ts / ${tier} * ${tier}
        WHERE t.tier = ${from} AND r.series >= $first AND r.series <= $last AND r.ts >= $from AND r.ts < $to
        GROUP BY r.series, bucket`,
    ).run({ first, last, from: aggregation.from, to: aggregation.to });
  }
  const removeFine = db.query(`DELETE FROM cold_${FINE_TIER} WHERE series = ? AND ts < ?`);
  const removeCoarse = db.query(`DELETE FROM cold_${COARSE_TIER} WHERE series = ? AND ts < ?`);
  for (const id of ids) {
    removeFine.run(id, fineKept(aggregation));
    removeCoarse.run(id, aggregation.coarseKept);
  }
  // A series last seen before the retention has no rows left.
  const seenBefore = Math.floor(aggregation.coarseKept / 3600);
  db.query("DELETE FROM series WHERE id >= ? AND id <= ? AND seen < ?").run(first, last, seenBefore);
}

function fineKept({ to, coarseKept }: Pick<Aggregation, "to" | "coarseKept">): number {
  return Math.max(to - FINE_TIER_KEPT, coarseKept);
}

/** One snapshot per slice. */
function* removeAggregated(db: Database): Generator<void> {
  const aggregated = `SELECT ts FROM ticks WHERE tier = ${HOT} AND ts < (SELECT ts FROM frontier)`;
  for (const { ts } of db.query(aggregated).all() as { ts: number }[]) {
    db.transaction(() => {
      db.query("DELETE FROM hot WHERE ts = ?").run(ts);
      db.query(`DELETE FROM ticks WHERE tier = ${HOT} AND ts = ?`).run(ts);
    }).immediate();
    yield;
  }
}
