/**
 * The history: events and measurements of the service, stored by one of the drivers. Writers put records into bounded
 * queues and never wait; a store that is slow, full or unreachable causes loss of history, but delays no answer and no
 * ban.
 */
import { randomUUIDv7 } from "bun";
import { FairQueue, type Tenant } from "../access/fair-queue.ts";
import { type AuditEvent, type AuditTrail, canonicalTarget } from "../audit/audit-event.ts";
import type { Attack } from "../detection/attack/attack.ts";
import type { EdgeEvent, EdgeWindow } from "../edge/reports/edge-history.ts";
import { HISTORY_QUERIES_MAX, HISTORY_QUERY_MS, HISTORY_QUEUES_MAX, STOP_STEP_MS } from "../limits.ts";
import { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { Clock } from "../system/clock.ts";
import { within } from "../system/deadline.ts";
import { messageOf } from "../system/error-message.ts";
import type { Cancel, Timers } from "../system/timers.ts";
import type { TrafficSnapshot } from "../traffic/traffic-history.ts";
import {
  type AnswerTo,
  type HistoryBatch,
  type HistoryDriver,
  type HistoryQuery,
  type QueryName,
  RECORD_KINDS,
  type RecordKind,
  type RecordsByKind,
} from "./history-driver.ts";
import { StorageFault } from "./storage-fault.ts";
import { type WriteOutcome, WriteQueue } from "./write-queue.ts";

/** How long a command waits for its audit row, ms. */
export const AUDIT_WAIT_MS = 1000;

/** Records of one write. */
const HISTORY_BATCH_MAX = {
  audit: 512,
  attacks: 256,
  traffic: 1,
  edge_windows: 1024,
  edge_events: 512,
} as const;
/**
 * How long records wait to be written together, ms: windows arrive by the hundred, one report at a time, and change the
 * same pages.
 */
export const HISTORY_GATHER_MS = { audit: 0, attacks: 0, traffic: 0, edge_windows: 200, edge_events: 0 } as const;
/** Parts of the last step of a stop: writing the remaining history, and closing the store, ms. */
export const HISTORY_FLUSH_MS = 1000;
const HISTORY_CLOSE_MS = STOP_STEP_MS - HISTORY_FLUSH_MS;

/** Counters; the metrics implement it. */
export interface HistoryMetrics {
  setUp(isUp: boolean): void;
  openFailed(): void;
  setQueued(kind: RecordKind, records: number): void;
  written(kind: RecordKind, records: number, seconds: number): void;
  writeFailed(kind: RecordKind): void;
  dropped(kind: RecordKind, records: number): void;
  /** A command was answered before its audit row was stored. */
  auditLate(): void;
  queried(question: QueryName, seconds: number): void;
  askFailed(question: QueryName): void;
  maintenanceFailed(): void;
  /** Stored records that were removed for later ones. */
  givenUp(cause: string, records: number): void;
  /** Writes of a kind of record fail, or work again. */
  setPaused(kind: RecordKind, isPaused: boolean): void;
}

interface HistoryStoreOptions {
  readonly driver: HistoryDriver;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly metrics: HistoryMetrics;
  /** Resolves in a turn that has time for what askers do with their answers. Default: at once. */
  readonly goOn?: () => Promise<void>;
}

/** How often a failed driver is opened again, and how often its maintenance runs, ms. */
const OPEN_AGAIN_MS = 10_000;
const MAINTAIN_MS = 60_000;

type AuditOutcome = WriteOutcome | "late";
type Queues = { readonly [K in RecordKind]: WriteQueue<RecordsByKind[K]> };

export class HistoryStore implements AuditTrail {
  readonly #options: HistoryStoreOptions;
  readonly #limiter: Limiter;
  readonly #queues: Queues;
  #cancels: Cancel[] = [];
  #onUp: () => void = () => {};
  #isUp = false;
  #isOpening = false;
  #isMaintaining = false;
  #questions = 0;
  /** Those that wait for their turn. */
  readonly #asking = new FairQueue<() => void>();
  /** Why records of a kind cannot be written now. */
  readonly #paused = new Map<RecordKind, string>();
  /** Callbacks of commands that wait for their audit rows; calling one ends the wait. */
  readonly #waiting = new Set<() => void>();

  constructor(options: HistoryStoreOptions) {
    this.#options = options;
    this.#limiter = new Limiter(options.clock);
    this.#queues = {
      audit: this.#queue("audit", (records) => ({ kind: "audit", records }), auditCause),
      attacks: this.#queue(
        "attacks",
        (records) => ({ kind: "attacks", records }),
        ({ tenant }) => tenant,
      ),
      traffic: this.#queue("traffic", (records) => ({ kind: "traffic", records })),
      edge_windows: this.#queue("edge_windows", (records) => ({ kind: "edge_windows", records })),
      edge_events: this.#queue("edge_events", (records) => ({ kind: "edge_events", records })),
    };
  }

  /**
   * Calls `listener` each time that the store becomes available, so that its data can be read. One listener, set before
   * start().
   */
  onUp(listener: () => void): void {
    this.#onUp = listener;
  }

  /** Whether all brains of a cluster have the same one. */
  get isForAllBrains(): boolean {
    return this.#options.driver.isForAllBrains;
  }

  /** Why some history cannot be written now; null: all is written. */
  get paused(): string | null {
    return this.#paused.values().next().value ?? null;
  }

  /** Opens the store; the service need not wait for it. Meanwhile records wait in the queues. */
  async start(): Promise<void> {
    const { timers } = this.#options;
    this.#cancels = [
      timers.every(OPEN_AGAIN_MS, () => void this.#open()),
      timers.every(MAINTAIN_MS, () => void this.#maintain()),
    ];
    await this.#open();
  }

  /** Writes the waiting records within HISTORY_FLUSH_MS; the rest is dropped, logged and counted. */
  async stop(): Promise<void> {
    const { timers, driver, log } = this.#options;
    for (const cancel of this.#cancels) cancel();
    const queues = Object.values(this.#queues);
    const drained = Promise.all(queues.map((queue) => queue.drain())).then(() => {});
    await within(drained, HISTORY_FLUSH_MS, timers, () => {});
    const lost = queues.reduce((sum, { depth }) => sum + depth, 0);
    if (lost > 0) log.warn({ records: lost }, "history that could not be written in time is lost");
    for (const queue of queues) queue.close();
    await within(driver.close(), HISTORY_CLOSE_MS, timers, () => {});
  }

  async recordAudit(event: AuditEvent): Promise<void> {
    await this.storeAudit(event, randomUUIDv7());
  }

  /**
   * Resolves when the row is stored, when its write has failed, or after AUDIT_WAIT_MS; in the last case the row stays
   * in the queue. Resolves with whether it is stored. @param id of the row: one that is there already stays.
   */
  async storeAudit(event: AuditEvent, id: string): Promise<boolean> {
    const { timers, metrics, log } = this.#options;
    const written = this.#queues.audit.push({
      id,
      record: { ...event, target: canonicalTarget(event.target) },
    });
    const outcome = await within<AuditOutcome>(this.#orFailure(written), AUDIT_WAIT_MS, timers, () => "late");
    if (outcome === "stored") return true;
    if (outcome === "late") metrics.auditLate();
    this.#limiter.pass(`audit ${outcome}`, (suppressed) => {
      const { action, result, operator, target } = event;
      const fate =
        outcome === "late"
          ? "is not stored yet: the store is slow or unreachable"
          : "is lost: the store accepts no rows";
      log.error({ action, result, operator, target, suppressed }, `an audit row ${fate}`);
    });
    return false;
  }

  /** While writes fail, the next attempt is at least a second away: waiting for it makes no sense. */
  #orFailure(written: Promise<WriteOutcome>): Promise<AuditOutcome> {
    if (this.#queues.audit.isFailing) return Promise.race([written, Promise.resolve<AuditOutcome>("late")]);
    return new Promise((resolve) => {
      const giveUp = () => {
        this.#waiting.delete(giveUp);
        resolve("late");
      };
      this.#waiting.add(giveUp);
      void written.then((outcome) => {
        this.#waiting.delete(giveUp);
        resolve(outcome);
      });
    });
  }

  saveAttack(attack: Attack, tenant: string | null): void {
    void this.#queues.attacks.push({ attack, tenant });
  }

  /** Resolves when it is stored, or lost. */
  recordTraffic(snapshot: TrafficSnapshot): Promise<WriteOutcome> {
    return this.#queues.traffic.push(snapshot);
  }

  /** Resolves when it is stored, or lost. */
  recordEdgeWindow(window: EdgeWindow): Promise<WriteOutcome> {
    return this.#queues.edge_windows.push(window);
  }

  recordEdgeEvent(event: EdgeEvent): Promise<WriteOutcome> {
    return this.#queues.edge_events.push({ id: randomUUIDv7(), record: event });
  }

  /** Rejects with a StorageFault, at the latest after HISTORY_QUERY_MS. @param asker whose turn it takes. */
  async ask<N extends QueryName>(name: N, question: HistoryQuery<N>, asker: Tenant = null): Promise<AnswerTo<N>> {
    const { driver, clock, timers, metrics, log, goOn } = this.#options;
    const began = clock.monotonicMs();
    let isWanted = true;
    const answer = this.#inTurn(asker, () => {
      if (!isWanted) throw new StorageFault(`read ${name}`, "unavailable", "the caller has given up");
      return driver.ask(name, question, asker, () => isWanted);
    });
    try {
      return await within(answer, HISTORY_QUERY_MS, timers, () => {
        isWanted = false;
        throw new StorageFault(`read ${name}`, "unavailable", "the history does not answer in time");
      });
    } catch (cause) {
      metrics.askFailed(name);
      this.#limiter.pass(`ask ${name}`, (suppressed) => log.error({ cause, suppressed }, "the history cannot be read"));
      throw cause;
    } finally {
      metrics.queried(name, (clock.monotonicMs() - began) / 1000);
      await goOn?.();
    }
  }

  /**
   * Over the bound tenants take turns. Counted until the driver has finished, even if the caller has given up: each
   * query may occupy a thread.
   */
  async #inTurn<T>(asker: Tenant, ask: () => Promise<T>): Promise<T> {
    if (this.#questions < HISTORY_QUERIES_MAX) this.#questions++;
    else await new Promise<void>((resolve) => this.#asking.push(asker, resolve));
    try {
      return await ask();
    } finally {
      const next = this.#asking.shift();
      if (next === undefined) this.#questions--;
      else next();
    }
  }

  #queue<K extends RecordKind>(
    kind: K,
    batchOf: (records: readonly RecordsByKind[K][]) => HistoryBatch,
    tenantOf: (record: RecordsByKind[K]) => Tenant = () => null,
  ): WriteQueue<RecordsByKind[K]> {
    const { driver, clock, timers, log, metrics } = this.#options;
    return new WriteQueue<RecordsByKind[K]>({
      bound: HISTORY_QUEUES_MAX[kind],
      batch: HISTORY_BATCH_MAX[kind],
      gatherMs: HISTORY_GATHER_MS[kind],
      timers,
      tenantOf,
      write: async (records) => {
        const began = clock.monotonicMs();
        await driver.write(batchOf(records));
        this.#setPaused(kind, null);
        metrics.written(kind, records.length, (clock.monotonicMs() - began) / 1000);
      },
      onFault: (cause) => {
        metrics.writeFailed(kind);
        this.#setPaused(kind, messageOf(cause));
        if (kind === "audit") for (const giveUp of [...this.#waiting]) giveUp();
        this.#limiter.pass(`write ${kind}`, (suppressed) =>
          log.error({ kind, cause, suppressed }, "history cannot be written: records wait while the queue has room"),
        );
      },
      onDropped: (records) => {
        metrics.dropped(kind, records);
        this.#limiter.pass(`drop ${kind}`, (suppressed) => log.error({ kind, records, suppressed }, "history is lost"));
      },
      onDepth: (records) => metrics.setQueued(kind, records),
    });
  }

  #setPaused(kind: RecordKind, reason: string | null): void {
    if (reason === null ? !this.#paused.delete(kind) : this.#paused.get(kind) === reason) return;
    if (reason !== null) this.#paused.set(kind, reason);
    else this.#options.log.info({ kind }, "history is written again");
    this.#options.metrics.setPaused(kind, reason !== null);
  }

  /** Also called while all is well: a driver that lost one file opens it again. */
  async #open(): Promise<void> {
    const { driver, log, metrics } = this.#options;
    if (this.#isOpening) return;
    this.#isOpening = true;
    try {
      await driver.open();
      if (!this.#isUp) log.info({}, "the history is open");
      this.#setUp(true);
    } catch (cause) {
      metrics.openFailed();
      this.#setUp(false);
      this.#limiter.pass("open", (suppressed) =>
        log.error(
          { cause, suppressed },
          "the history cannot be opened: the service continues without it, and tries again",
        ),
      );
    } finally {
      this.#isOpening = false;
    }
  }

  #setUp(isUp: boolean): void {
    const comesUp = isUp && !this.#isUp;
    this.#isUp = isUp;
    this.#options.metrics.setUp(isUp);
    // Also if it was available before: one of its files may have been opened again.
    if (isUp) for (const kind of RECORD_KINDS) this.#queues[kind].wake();
    if (comesUp) this.#onUp();
  }

  async #maintain(): Promise<void> {
    const { driver, clock, log, metrics } = this.#options;
    if (this.#isMaintaining) return;
    this.#isMaintaining = true;
    try {
      const givenUp = Object.entries(await driver.maintain(clock.wallMs()));
      for (const [cause, records] of givenUp) metrics.givenUp(cause, records);
      if (givenUp.length > 0) {
        this.#limiter.pass("given up", (suppressed) =>
          log.warn(
            { ...Object.fromEntries(givenUp), suppressed },
            "the oldest records of some causes were deleted for later ones",
          ),
        );
      }
    } catch (cause) {
      metrics.maintenanceFailed();
      this.#limiter.pass("maintain", (suppressed) =>
        log.error({ cause, suppressed }, "old history cannot be removed or aggregated"),
      );
    } finally {
      this.#isMaintaining = false;
    }
  }
}

/** Rows of orders of the administrator are dropped last: those of refusals, and of what happens by itself, are others'. */
function auditCause({ record: { source, result, tenant } }: RecordsByKind["audit"]): Tenant {
  if (source !== "api") return "automatic";
  if (result === "rejected" || result === "error") return `refused ${tenant}`;
  return tenant === "" ? null : `tenant ${tenant}`;
}
