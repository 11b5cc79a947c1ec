/**
 * History on a ClickHouse server, for several machines. Missing tables are created; existing ones, such as Distributed
 * tables over several shards, are used unchanged.
 */

import { type ClickHouseClient, ClickHouseError, ClickHouseLogLevel, createClient } from "@clickhouse/client";
import type { Clock } from "../../system/clock.ts";
import type { Environment } from "../../system/environment.ts";
import { messageOf } from "../../system/error-message.ts";
import { DAY_MS } from "../../system/now.ts";
import { nextTurn } from "../../system/timers.ts";
import type { TrafficSnapshot } from "../../traffic/traffic-history.ts";
import { auditRow } from "../audit-record.ts";
import type { AnswerTo, GivenUp, HistoryBatch, HistoryDriver, HistoryQuery, QueryName } from "../history-driver.ts";
import { RECORD_BUDGETS, RECORD_CAUSES, type RecordCause } from "../record-causes.ts";
import { StorageFault } from "../storage-fault.ts";
import { ANSWERS } from "./answers.ts";
import { ByteBudgets } from "./byte-budgets.ts";
import { literal } from "./literal.ts";
import {
  attackRow,
  eventRow,
  type Row,
  sourceRows,
  tickLines,
  trafficColumns,
  trafficLines,
  windowRow,
} from "./rows.ts";
import { addColumns, createTable, LATER_COLUMNS, TABLES, type Table } from "./schema.ts";

export interface ClickhouseHistoryOptions {
  readonly url: string;
  readonly database: string;
  /** Names of environment variables, read for each request; null: none. */
  readonly usernameEnv: string | null;
  readonly passwordEnv: string | null;
  readonly retentionDays: number;
  /** Bytes of traffic and edge history on the server's disk. */
  readonly maxBytes: number;
  /** Bytes of the records of each cause, before compression; absent: the usual ones. */
  readonly budgets?: Readonly<Record<RecordCause, number>>;
  readonly environment: Environment;
  readonly clock: Pick<Clock, "wallMs">;
}

const REQUEST_MS = 10_000;
/** The server aborts a query after this number of seconds, since its caller has given up by then. */
const QUERY_SECONDS = 5;
/** Rows of traffic that are formatted in one slice: about 1 ms. */
const SLICE_ROWS = 1000;
/** Exceptions of the server that may be temporary: memory, time, parts, space, permissions, or missing tables. */
const LATER = new Set([60, 81, 159, 160, 164, 192, 193, 202, 209, 210, 241, 242, 243, 252, 497, 516]);
const GONE = new Set([60, 81]);
const USUAL_BUDGETS = Object.fromEntries(
  RECORD_CAUSES.map((cause) => [cause, RECORD_BUDGETS[cause].bytes]),
) as Readonly<Record<RecordCause, number>>;

export class ClickhouseHistory implements HistoryDriver {
  readonly isForAllBrains = true;
  readonly #options: ClickhouseHistoryOptions;
  readonly #client: ClickHouseClient;
  /** Quoted with backticks, since the configuration allows any name. */
  readonly #database: string;
  readonly #budgets: ByteBudgets;
  /** Tables that are local to this server, so that this service drops their old partitions. */
  #ownTables: readonly Table[] = [];
  /** The later columns of the traffic that its table has: an operator's table is used as it is. */
  #laterColumns: ReadonlySet<string> = new Set();
  #isOpen = false;
  #version = 0;

  constructor(options: ClickhouseHistoryOptions) {
    this.#options = options;
    this.#database = `\`${options.database}\``;
    this.#budgets = new ByteBudgets(
      {
        select: (query) => this.#select(query),
        command: (query) => this.#command(query),
        database: options.database,
        quoted: this.#database,
      },
      { maxBytes: options.maxBytes, records: options.budgets ?? USUAL_BUDGETS },
    );
    this.#client = createClient({
      url: options.url,
      request_timeout: REQUEST_MS,
      log: { level: ClickHouseLogLevel.OFF },
      application: "floodwall",
      clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
    });
  }

  async open(): Promise<void> {
    await this.#guard("open", async () => {
      if (this.#isOpen) return this.#select("SELECT 1");
      const present = await this.#tables();
      if (present.size < TABLES.length) {
        await this.#command(`CREATE DATABASE IF NOT EXISTS ${this.#database}`);
        for (const table of TABLES) if (!present.has(table)) await this.#command(createTable(this.#database, table));
      }
      const engines = await this.#tables();
      this.#ownTables = TABLES.filter((table) => engines.get(table)?.endsWith("MergeTree"));
      this.#laterColumns = await this.#presentColumns();
      if (this.#laterColumns.size < LATER_COLUMNS.length && this.#ownTables.includes("traffic")) {
        await this.#command(addColumns(this.#database, this.#laterColumns));
        this.#laterColumns = await this.#presentColumns();
      }
      this.#isOpen = true;
      return null;
    });
  }

  async write(batch: HistoryBatch): Promise<void> {
    await this.#guard(`write ${batch.kind}`, () => this.#insertBatch(batch));
  }

  ask<N extends QueryName>(name: N, question: HistoryQuery<N>): Promise<AnswerTo<N>> {
    return this.#guard(`read ${name}`, () =>
      ANSWERS[name](question, (query) => this.#select(query), {
        database: this.#database,
        laterColumns: this.#laterColumns,
      }),
    );
  }

  /** Removes whole days: a row may be kept up to a day longer than configured. Of tables that are local to this server. */
  async maintain(nowMs: number): Promise<GivenUp> {
    if (!this.#isOpen || this.#ownTables.length === 0) return {};
    // The budgets hold also where the server does not drop an old day.
    const [old] = await Promise.allSettled([this.#removeBefore(nowMs)]);
    const givenUp = await this.#guard("maintain", () => this.#budgets.settle(this.#ownTables));
    if (old.status === "rejected") throw old.reason;
    return givenUp;
  }

  async #removeBefore(nowMs: number): Promise<void> {
    await this.#guard("maintain", async () => {
      const firstKept = Math.floor((nowMs - this.#options.retentionDays * DAY_MS) / DAY_MS);
      const parts = (await this.#select(
        `SELECT DISTINCT table, partition FROM system.parts WHERE active AND database = ${literal(this.#options.database)}
        AND table IN (${this.#ownTables.map(literal).join(", ")})`,
      )) as { table: string; partition: string }[];
      for (const { table, partition } of parts) {
        const day = Number(partition);
        if (!Number.isInteger(day) || day >= firstKept) continue;
        await this.#command(`ALTER TABLE ${this.#database}.${table} DROP PARTITION ${day}`);
      }
    });
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#client.close();
  }

  async #tables(): Promise<ReadonlyMap<string, string>> {
    const rows = (await this.#select(
      `SELECT name, engine FROM system.tables WHERE database = ${literal(this.#options.database)}`,
    )) as { name: string; engine: string }[];
    return new Map(
      rows.filter(({ name }) => (TABLES as readonly string[]).includes(name)).map((row) => [row.name, row.engine]),
    );
  }

  async #presentColumns(): Promise<ReadonlySet<string>> {
    const names = LATER_COLUMNS.map(([name]) => literal(name)).join(", ");
    const found = (await this.#select(
      `SELECT name FROM system.columns WHERE database = ${literal(this.#options.database)} AND table = 'traffic'
      AND name IN (${names})`,
    )) as { name: string }[];
    return new Set(found.map(({ name }) => name));
  }

  async #insertBatch(batch: HistoryBatch): Promise<void> {
    switch (batch.kind) {
      case "audit":
        return this.#insert("audit", batch.records.map(auditRow));
      case "attacks":
        return this.#insert(
          "attacks",
          batch.records.map((record) => attackRow(record, this.#nextVersion())),
        );
      case "traffic":
        for (const snapshot of batch.records) await this.#insertTraffic(snapshot);
        return;
      case "edge_windows": {
        const versioned = batch.records.map((window) => ({ window, version: this.#nextVersion() }));
        await this.#insert(
          "edge_sources",
          versioned.flatMap(({ window, version }) => sourceRows(window, version)),
        );
        return this.#insert(
          "edge_windows",
          versioned.map(({ window, version }) => windowRow(window, version)),
        );
      }
      case "edge_events":
        return this.#insert("edge_events", batch.records.map(eventRow));
      default:
        batch satisfies never;
    }
  }

  /** If two rows have the same key, the one with the higher version counts, also after a restart. */
  #nextVersion(): number {
    this.#version = Math.max(this.#version + 1, this.#options.clock.wallMs() * 1000);
    return this.#version;
  }

  async #insert(table: Table, values: readonly Row[]): Promise<void> {
    if (values.length === 0) return;
    const to = `${this.#database}.${table}`;
    await this.#client.insert({ table: to, values: [...values], format: "JSONEachRow", ...this.#auth() });
  }

  async #insertTraffic(snapshot: TrafficSnapshot): Promise<void> {
    const present = this.#laterColumns;
    const into = `${this.#database}.traffic (${trafficColumns(present)})`;
    const lines = [`INSERT INTO ${into} FORMAT TabSeparated\n`, tickLines(snapshot, present)];
    for (let row = 0; row < snapshot.count; row += SLICE_ROWS) {
      lines.push(trafficLines(snapshot, { from: row, to: Math.min(row + SLICE_ROWS, snapshot.count) }, present));
      await nextTurn();
    }
    await this.#command(lines.join(""));
  }

  async #command(query: string): Promise<void> {
    await this.#client.command({ query, ...this.#auth() });
  }

  async #select(query: string): Promise<unknown[]> {
    const settings = { max_execution_time: QUERY_SECONDS };
    const format = "JSONEachRow";
    const result = await this.#client.query({ query, format, clickhouse_settings: settings, ...this.#auth() });
    return result.json();
  }

  #auth(): { auth?: { username: string; password: string } } {
    const { usernameEnv, passwordEnv, environment } = this.#options;
    if (usernameEnv === null && passwordEnv === null) return {};
    const read = (name: string | null, otherwise: string) =>
      name === null ? otherwise : (environment.read(name) ?? otherwise);
    return { auth: { username: read(usernameEnv, "default"), password: read(passwordEnv, "") } };
  }

  async #guard<T>(operation: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (cause) {
      const code = exceptionCode(cause);
      if (code !== null && GONE.has(code)) this.#isOpen = false;
      const isLater = code === null || LATER.has(code);
      const detail = `ClickHouse at ${this.#options.url}: ${messageOf(cause)}`;
      throw new StorageFault(operation, isLater ? "unavailable" : "refused", detail, { cause });
    }
  }
}

/**
 * The server's number of the exception; null: the request did not reach the server's query. Old servers format it
 * differently.
 */
function exceptionCode(cause: unknown): number | null {
  if (cause instanceof ClickHouseError) return Number(cause.code);
  const code = /^Code: (\d+)/.exec(messageOf(cause))?.[1];
  return code === undefined ? null : Number(code);
}
