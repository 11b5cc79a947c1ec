/**
 * The bytes that the tables of a ClickHouse server may take (docs/interface.md#limit-shares). Traffic and edge history give
 * up whole days, the oldest of the largest table. Records of audit and attacks have a budget for each cause, by their texts
 * before compression; what is over it is removed by a mutation, down to a part of the budget, since that rewrites the days
 * that it is in.
 */
import { DAY_MS, MINUTE_MS } from "../../system/now.ts";
import type { GivenUp } from "../history-driver.ts";
import { AUDIT_CAUSE, RECORD_CAUSES, type RecordCause, ROW_BYTES } from "../record-causes.ts";
import { literal } from "./literal.ts";
import type { Table } from "./schema.ts";
import { sharesLeft } from "./shares-left.ts";

interface BudgetedServer {
  readonly select: (query: string) => Promise<unknown[]>;
  readonly command: (query: string) => Promise<void>;
  /** As text, and quoted for a query. */
  readonly database: string;
  readonly quoted: string;
}

interface ByteBudgetsOptions {
  /** Bytes of traffic and edge history, as they are on the server's disk. */
  readonly maxBytes: number;
  readonly records: Readonly<Record<RecordCause, number>>;
}

/** The part of its budget that a cause keeps when it was over it. */
const KEPT = 0.75;
/** Holders whose records are removed by one mutation. */
const HOLDERS_MAX = 100;
const SERIES: readonly Table[] = ["traffic", "edge_windows", "edge_sources", "edge_events"];

/** Where records of causes are, when they came, and what they take. */
const RECORDS = {
  audit: {
    at: "at",
    cause: AUDIT_CAUSE,
    operator: "operator",
    texts: "length(reason) + length(target) + length(operator)",
  },
  attacks: { at: "started", cause: "'attacks'", operator: "''", texts: "length(record)" },
} as const;
type RecordTable = keyof typeof RECORDS;

/** The size of the records of one holder in one day. */
interface Usage {
  readonly cause: RecordCause;
  readonly tenant: string;
  readonly operator: string;
  readonly bytes: number;
  readonly records: number;
}

interface Day {
  readonly rows: number;
  readonly usages: readonly Usage[];
}

interface Part {
  readonly table: Table;
  readonly partition: string;
  readonly bytes: number;
  readonly records: number;
}

type Holder = Pick<Usage, "cause" | "tenant" | "operator">;

/** A holder whose records are to be removed, and bytes of them that stay. */
interface Removed extends Holder {
  readonly kept: number;
}

export class ByteBudgets {
  readonly #server: BudgetedServer;
  readonly #options: ByteBudgetsOptions;
  /** By table and day: days that did not change are not read again. */
  readonly #days: Readonly<Record<RecordTable, Map<number, Day>>> = { audit: new Map(), attacks: new Map() };

  /** Rows that were removed, and not returned yet. */
  #uncounted = new Map<string, number>();

  constructor(server: BudgetedServer, options: ByteBudgetsOptions) {
    this.#server = server;
    this.#options = options;
  }

  /** @param own tables that are local to the server. Resolves with the rows that were removed, by table or cause. */
  async settle(own: readonly Table[]): Promise<GivenUp> {
    const parts = await this.#parts(own);
    const givenUp = this.#uncounted;
    const faults: unknown[] = [];
    const attempt = async (work: () => Promise<void>): Promise<boolean> => {
      try {
        await work();
        return true;
      } catch (fault) {
        faults.push(fault);
        return false;
      }
    };
    for (const table of ["audit", "attacks"] as const) {
      if (!own.includes(table)) continue;
      const ofTable = parts.filter((part) => part.table === table);
      await attempt(async () => {
        await this.#count(table, ofTable);
        await this.#removeRecords(table, givenUp);
      });
    }
    const days = oldestOfLargest(parts.filter(({ table }) => SERIES.includes(table)));
    let total = sizeOf(parts.filter(({ table }) => SERIES.includes(table)));
    // A day that the server does not drop keeps no other in place.
    for (let i = 0; i < days.length && total > this.#options.maxBytes; i++) {
      const day = days[i] as Part;
      if (await attempt(() => this.#dropDay(day, givenUp))) total -= day.bytes;
    }
    if (faults.length > 0) throw faults[0];
    this.#uncounted = new Map();
    return Object.fromEntries(givenUp);
  }

  async #parts(own: readonly Table[]): Promise<readonly Part[]> {
    const { database } = this.#server;
    const rows = await this.#server.select(
      `SELECT table, partition, sum(bytes_on_disk) AS bytes, sum(rows) AS records FROM system.parts
      WHERE active AND database = ${literal(database)} AND table IN (${own.map(literal).join(", ")})
      GROUP BY table, partition`,
    );
    return (rows as Part[])
      .map((part) => ({ ...part, bytes: Number(part.bytes), records: Number(part.records) }))
      .filter(({ partition }) => Number.isInteger(Number(partition)));
  }

  async #dropDay({ table, partition, records }: Part, givenUp: Map<string, number>): Promise<void> {
    await this.#server.command(`ALTER TABLE ${this.#server.quoted}.${table} DROP PARTITION ${partition}`);
    givenUp.set(table, (givenUp.get(table) ?? 0) + records);
  }

  /** Reads the days whose rows have changed. */
  async #count(table: RecordTable, parts: readonly Part[]): Promise<void> {
    const days = this.#days[table];
    const present = new Map(parts.map(({ partition, records }) => [Number(partition), records]));
    for (const day of [...days.keys()]) if (!present.has(day)) days.delete(day);
    for (const [day, rows] of present) {
      if (days.get(day)?.rows === rows) continue;
      const { cause, operator } = RECORDS[table];
      const usages = (await this.#server.select(
        `SELECT ${cause} AS cause, tenant, ${operator} AS holder, ${bytesOf(table)} AS bytes, count() AS records
        FROM ${this.#server.quoted}.${table} WHERE ${within(table, day * DAY_MS, (day + 1) * DAY_MS)}
        GROUP BY cause, tenant, holder`,
      )) as (Omit<Usage, "operator"> & { readonly holder: string })[];
      days.set(day, {
        rows,
        usages: usages.map(({ holder, bytes, records, ...usage }) => {
          return { ...usage, operator: holder, bytes: Number(bytes), records: Number(records) };
        }),
      });
    }
  }

  /** By one mutation for all causes: each rewrites the days that it is in. */
  async #removeRecords(table: RecordTable, givenUp: Map<string, number>): Promise<void> {
    const causes = RECORD_CAUSES.filter((cause) => (cause === "attacks") === (table === "attacks"));
    const holders = causes.flatMap((cause) => this.#holdersOver(table, cause)).slice(0, HOLDERS_MAX);
    if (holders.length === 0 || (await this.#isRemoving(table))) return;
    const conditions: string[] = [];
    for (const holder of holders) {
      const { condition, records } = await this.#removalOf(table, holder);
      if (records === 0) continue;
      conditions.push(`(${condition})`);
      givenUp.set(holder.cause, (givenUp.get(holder.cause) ?? 0) + records);
    }
    if (conditions.length === 0) return;
    await this.#server.command(`ALTER TABLE ${this.#server.quoted}.${table} DELETE WHERE ${conditions.join(" OR ")}`);
  }

  /** Those that must give, with what each keeps, bytes. */
  #holdersOver(table: RecordTable, cause: RecordCause): Removed[] {
    const usages = [...this.#days[table].values()]
      .flatMap((day) => day.usages)
      .filter((usage) => usage.cause === cause);
    const total = sumOf(usages);
    const budget = this.#options.records[cause];
    if (total <= budget) return [];
    const tenants = Map.groupBy(usages, ({ tenant }) => tenant);
    const ofTenants = sharesLeft(new Map([...tenants].map(([tenant, own]) => [tenant, sumOf(own)])), KEPT * budget);
    return [...ofTenants].flatMap(([tenant, room]) => {
      const operators = Map.groupBy(tenants.get(tenant) ?? [], ({ operator }) => operator);
      const sizes = new Map([...operators].map(([operator, own]) => [operator, sumOf(own)]));
      return [...sharesLeft(sizes, room)].map(([operator, kept]) => ({ cause, tenant, operator, kept }));
    });
  }

  /** Its records up to a minute: those from then on are as much as it keeps, or less. */
  async #removalOf(
    table: RecordTable,
    holder: Removed,
  ): Promise<{ readonly condition: string; readonly records: number }> {
    const { at, cause, operator } = RECORDS[table];
    const own = `tenant = ${literal(holder.tenant)} AND ${operator} = ${literal(holder.operator)}`;
    const ofCause = `${cause} = ${literal(holder.cause)} AND ${own}`;
    let left = holder.kept;
    let removed = 0;
    let beforeMs: number | null = null;
    for (const [day, { usages }] of [...this.#days[table]].toSorted(([a], [b]) => b - a)) {
      const usage = usages.find((one) => isSameHolder(one, holder));
      if (usage === undefined) continue;
      if (beforeMs === null && usage.bytes <= left) {
        left -= usage.bytes;
        continue;
      }
      if (beforeMs === null) {
        const cut = await this.#cutWithin(table, { day, condition: ofCause, room: left });
        beforeMs = cut.beforeMs;
        removed += cut.records;
      } else removed += usage.records;
    }
    return { condition: `${ofCause} AND ${at} < ${literal(beforeMs ?? 0)}`, records: removed };
  }

  async #cutWithin(
    table: RecordTable,
    { day, condition, room }: { readonly day: number; readonly condition: string; readonly room: number },
  ): Promise<{ readonly beforeMs: number; readonly records: number }> {
    const { at } = RECORDS[table];
    const minutes = (await this.#server.select(
      `SELECT intDiv(${at}, ${MINUTE_MS}) AS minute, ${bytesOf(table)} AS bytes, count() AS records
      FROM ${this.#server.quoted}.${table} WHERE ${within(table, day * DAY_MS, (day + 1) * DAY_MS)} AND ${condition}
      GROUP BY minute ORDER BY minute DESC`,
    )) as { readonly minute: number; readonly bytes: number; readonly records: number }[];
    let left = room;
    const first = minutes.findIndex(({ bytes }) => {
      left -= Number(bytes);
      return left < 0;
    });
    if (first < 0) return { beforeMs: day * DAY_MS, records: 0 };
    const removed = minutes.slice(first);
    return {
      beforeMs: (Number(removed[0]?.minute) + 1) * MINUTE_MS,
      records: removed.reduce((sum, { records }) => sum + Number(records), 0),
    };
  }

  /** An earlier removal is not over. */
  async #isRemoving(table: RecordTable): Promise<boolean> {
    const { database, select } = this.#server;
    const rows = await select(
      `SELECT count() AS running FROM system.mutations WHERE database = ${literal(database)} AND table = ${literal(table)}
      AND NOT is_done`,
    );
    return Number((rows as { running: number }[])[0]?.running ?? 0) > 0;
  }
}

function isSameHolder(one: Holder, other: Holder): boolean {
  return one.cause === other.cause && one.tenant === other.tenant && one.operator === other.operator;
}

function sumOf(usages: readonly Usage[]): number {
  return usages.reduce((sum, { bytes }) => sum + bytes, 0);
}

function bytesOf(table: RecordTable): string {
  return `sum(${ROW_BYTES} + ${RECORDS[table].texts})`;
}

function within(table: RecordTable, fromMs: number, toMs: number): string {
  const { at } = RECORDS[table];
  return `${at} >= ${literal(fromMs)} AND ${at} < ${literal(toMs)}`;
}

function sizeOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** All days in the order in which they go: each time the oldest of the table that is largest then. */
function oldestOfLargest(parts: readonly Part[]): readonly Part[] {
  const oldestFirst = parts.toSorted((a, b) => Number(a.partition) - Number(b.partition));
  const tables = [...Map.groupBy(oldestFirst, ({ table }) => table).values()];
  return parts.flatMap(() => tables.toSorted((a, b) => sizeOf(b) - sizeOf(a))[0]?.shift() ?? []);
}
