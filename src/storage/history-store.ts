/**
 * The history: what the service did and saw, kept by one of the drivers. Whoever writes puts a record into a bounded queue
 * and goes on; a store that is slow, full, broken or away costs history, never an answer or a ban.
 */
import { randomUUIDv7 } from "bun";
import { type AuditEvent, type AuditTrail, canonicalTarget } from "../audit/audit-event.ts";
import type { Attack } from "../detection/attack/attack.ts";
import type { EdgeEvent, EdgeWindow } from "../edge/edge-history.ts";
import {
  AUDIT_WAIT_MS,
  HISTORY_BATCH_MAX,
  HISTORY_CLOSE_MS,
  HISTORY_FLUSH_MS,
  HISTORY_GATHER_MS,
  HISTORY_QUESTION_MS,
  HISTORY_QUESTIONS_MAX,
  HISTORY_QUEUES_MAX,
} from "../limits.ts";
import { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { Clock } from "../system/clock.ts";
import { within } from "../system/deadline.ts";
import type { Cancel, Timers } from "../system/timers.ts";
import type { TrafficSnapshot } from "../traffic/traffic-history.ts";
import {
  type AnswerTo,
  type HistoryBatch,
  type HistoryDriver,
  type Question,
  type QuestionName,
  RECORD_KINDS,
  type RecordKind,
  type RecordsByKind,
} from "./history-driver.ts";
import { StorageFault } from "./storage-fault.ts";
import { type WriteOutcome, WriteQueue } from "./write-queue.ts";

/** What is counted; the metrics implement it. */
export interface HistoryMetrics {
  setUp(isUp: boolean): void;
  openFailed(): void;
  setQueued(kind: RecordKind, records: number): void;
  written(kind: RecordKind, records: number, seconds: number): void;
  writeFailed(kind: RecordKind): void;
  dropped(kind: RecordKind, records: number): void;
  /** An order was answered before its audit row was kept. */
  auditLate(): void;
  queried(question: QuestionName, seconds: number): void;
  askFailed(question: QuestionName): void;
  maintenanceFailed(): void;
}

export interface HistoryStoreOptions {
  readonly driver: HistoryDriver;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly metrics: HistoryMetrics;
}

/** How often the driver is opened anew after it failed, and how often it looks after its tables, ms. */
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
  /** Orders that wait for their audit row; called, they wait no longer. */
  readonly #waiting = new Set<() => void>();

  constructor(options: HistoryStoreOptions) {
    this.#options = options;
    this.#limiter = new Limiter(options.clock);
    this.#queues = {
      audit: this.#queue("audit", (records) => ({ kind: "audit", records })),
      attacks: this.#queue("attacks", (records) => ({ kind: "attacks", records })),
      traffic: this.#queue("traffic", (records) => ({ kind: "traffic", records })),
      edge_windows: this.#queue("edge_windows", (records) => ({ kind: "edge_windows", records })),
      edge_events: this.#queue("edge_events", (records) => ({ kind: "edge_events", records })),
    };
  }

  /** Calls `listener` each time that the store has come up: then what it keeps can be read. One listener; before start(). */
  onUp(listener: () => void): void {
    this.#onUp = listener;
  }

  /** Opens the store; the service need not wait for it. What is recorded meanwhile waits in the queues. */
  async start(): Promise<void> {
    const { timers } = this.#options;
    this.#cancels = [
      timers.every(OPEN_AGAIN_MS, () => void this.#open()),
      timers.every(MAINTAIN_MS, () => void this.#maintain()),
    ];
    await this.#open();
  }

  /** Writes what waits, within HISTORY_FLUSH_MS; the rest is dropped and told of. */
  async stop(): Promise<void> {
    const { timers, driver, log } = this.#options;
    for (const cancel of this.#cancels) cancel();
    const queues = Object.values(this.#queues);
    const drained = Promise.all(queues.map((queue) => queue.drain())).then(() => {});
    await within(drained, HISTORY_FLUSH_MS, timers, () => {});
    const lost = queues.reduce((sum, { depth }) => sum + depth, 0);
    if (lost > 0) log.warn({ records: lost }, "history that the store did not take in time is lost");
    for (const queue of queues) queue.close();
    await within(driver.close(), HISTORY_CLOSE_MS, timers, () => {});
  }

  /**
   * Resolves when the row is kept, when its write has failed, or after AUDIT_WAIT_MS: then the row goes on waiting for the
   * store without its caller.
   */
  async recordAudit(event: AuditEvent): Promise<void> {
    const { timers, metrics, log } = this.#options;
    const written = this.#queues.audit.push({
      id: randomUUIDv7(),
      record: { ...event, target: canonicalTarget(event.target) },
    });
    const outcome = await within<AuditOutcome>(this.#orFailure(written), AUDIT_WAIT_MS, timers, () => "late");
    if (outcome === "stored") return;
    if (outcome === "late") metrics.auditLate();
    this.#limiter.pass(`audit ${outcome}`, (suppressed) => {
      const { action, result, operator, target } = event;
      const fate = outcome === "late" ? "is not kept yet: the store is slow or away" : "is lost: the store takes none";
      log.error({ action, result, operator, target, suppressed }, `an audit row ${fate}`);
    });
  }

  /** While writes fail the next try is a second away or more: nobody needs to wait for it. */
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

  recordTraffic(snapshot: TrafficSnapshot): void {
    void this.#queues.traffic.push(snapshot);
  }

  /** Resolves when it is kept, or lost. */
  recordEdgeWindow(window: EdgeWindow): Promise<WriteOutcome> {
    return this.#queues.edge_windows.push(window);
  }

  recordEdgeEvent(event: EdgeEvent): Promise<WriteOutcome> {
    return this.#queues.edge_events.push({ id: randomUUIDv7(), record: event });
  }

  /** Rejects with a StorageFault, at the latest after HISTORY_QUESTION_MS. */
  async ask<N extends QuestionName>(name: N, question: Question<N>): Promise<AnswerTo<N>> {
    const { clock, timers, metrics, log } = this.#options;
    const began = clock.monotonicMs();
    let isWanted = true;
    const answer = this.#askDriver(name, question, () => isWanted);
    try {
      return await within(answer, HISTORY_QUESTION_MS, timers, () => {
        isWanted = false;
        throw new StorageFault(`read ${name}`, "unavailable", "the history does not answer in time");
      });
    } catch (cause) {
      metrics.askFailed(name);
      this.#limiter.pass(`ask ${name}`, (suppressed) => log.error({ cause, suppressed }, "the history cannot be read"));
      throw cause;
    } finally {
      metrics.queried(name, (clock.monotonicMs() - began) / 1000);
    }
  }

  /** Counted until the driver is done with it, also when its caller has gone: each may keep a thread busy. */
  async #askDriver<N extends QuestionName>(name: N, question: Question<N>, isWanted: () => boolean) {
    if (this.#questions >= HISTORY_QUESTIONS_MAX) {
      throw new StorageFault(`read ${name}`, "unavailable", "too many questions to the history at once");
    }
    this.#questions++;
    try {
      return await this.#options.driver.ask(name, question, isWanted);
    } finally {
      this.#questions--;
    }
  }

  #queue<K extends RecordKind>(
    kind: K,
    batchOf: (records: readonly RecordsByKind[K][]) => HistoryBatch,
  ): WriteQueue<RecordsByKind[K]> {
    const { driver, clock, timers, log, metrics } = this.#options;
    return new WriteQueue<RecordsByKind[K]>({
      bound: HISTORY_QUEUES_MAX[kind],
      batch: HISTORY_BATCH_MAX[kind],
      gatherMs: HISTORY_GATHER_MS[kind],
      timers,
      write: async (records) => {
        const began = clock.monotonicMs();
        await driver.write(batchOf(records));
        metrics.written(kind, records.length, (clock.monotonicMs() - began) / 1000);
      },
      onFault: (cause) => {
        metrics.writeFailed(kind);
        if (kind === "audit") for (const giveUp of [...this.#waiting]) giveUp();
        this.#limiter.pass(`write ${kind}`, (suppressed) =>
          log.error({ kind, cause, suppressed }, "history cannot be written: it waits while there is room for it"),
        );
      },
      onDropped: (records) => {
        metrics.dropped(kind, records);
        this.#limiter.pass(`drop ${kind}`, (suppressed) => log.error({ kind, records, suppressed }, "history is lost"));
      },
      onDepth: (records) => metrics.setQueued(kind, records),
    });
  }

  /** Also while all is well: a driver that lost a part opens it again. */
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
        log.error({ cause, suppressed }, "the history cannot be opened: the service goes on without, and tries again"),
      );
    } finally {
      this.#isOpening = false;
    }
  }

  #setUp(isUp: boolean): void {
    const comesUp = isUp && !this.#isUp;
    this.#isUp = isUp;
    this.#options.metrics.setUp(isUp);
    // Also while it was up: a part of it may have been opened again.
    if (isUp) for (const kind of RECORD_KINDS) this.#queues[kind].wake();
    if (comesUp) this.#onUp();
  }

  async #maintain(): Promise<void> {
    const { driver, clock, log, metrics } = this.#options;
    if (this.#isMaintaining) return;
    this.#isMaintaining = true;
    try {
      await driver.maintain(clock.wallMs());
    } catch (cause) {
      metrics.maintenanceFailed();
      this.#limiter.pass("maintain", (suppressed) =>
        log.error({ cause, suppressed }, "old history cannot be removed or moved"),
      );
    } finally {
      this.#isMaintaining = false;
    }
  }
}
