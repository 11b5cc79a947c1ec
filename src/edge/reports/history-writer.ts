/**
 * Writes nodes' reports to the history: windows with reported sources, and changes as events
 * (docs/interface.md#edge-report-command). Runs after the answer, in slices, and no faster than the history accepts
 * records; what exceeds that is counted and left out of the history, but not of the status.
 */
import { HISTORY_QUEUES_MAX } from "../../limits.ts";
import type { EdgeEvent, EdgeWindow } from "./edge-history.ts";
import type { StoredEdgeReport } from "./edge-reports.ts";
import type { EdgeReport } from "./report.ts";
import { type KnownNode, nextKnown } from "./report-changes.ts";
import { reportWindows } from "./report-windows.ts";

/** Reports of edge nodes that wait for the history: of all nodes, and of one node. */
export const EDGE_REPORTS_WAITING_MAX = 1024;
export const EDGE_REPORTS_WAITING_PER_NODE = 8;
/**
 * Reports of one node that are recorded in the history (the usual period is ten seconds): the shortest period, ms, and
 * the burst.
 */
const EDGE_REPORT_RECORDED_MS = 1000;
export const EDGE_REPORTS_AT_ONCE = 60;

/** The promises resolve when a record is stored or lost, so that there is room for another. They never reject. */
export interface EdgeHistoryStore {
  recordEdgeWindow(window: EdgeWindow): Promise<unknown>;
  recordEdgeEvent(event: EdgeEvent): Promise<unknown>;
}

interface HistoryWriterOptions {
  readonly store: EdgeHistoryStore;
  readonly serves: (node: string, zone: string) => boolean;
  readonly nextTurn: () => Promise<void>;
  readonly observer: HistoryWriterObserver;
}

/** `behind`: reports arrive faster than the history stores them. */
export type LeftOutReason = "behind" | "too_often";

interface HistoryWriterObserver {
  /** Windows were recorded with the service's time. */
  clockSkewed(node: string): void;
  /** A report was left out. */
  leftOut(node: string, why: LeftOutReason): void;
  /** A bug in the service: a report was left out. */
  failed(cause: unknown): void;
}

interface Reported {
  readonly node: string;
  readonly stored: StoredEdgeReport;
}

/** How many more reports may come at once, as of the last report; wall clock, ms. */
interface Allowance {
  readonly reports: number;
  readonly atMs: number;
}

interface NodeBefore {
  readonly known: KnownNode;
  readonly report: EdgeReport;
}

export class HistoryWriter {
  readonly #options: HistoryWriterOptions;
  readonly #before = new Map<string, NodeBefore>();
  /** Limits reports, since otherwise one node could fill the disk with invented windows. */
  readonly #allowances = new Map<string, Allowance>();
  readonly #windows = new Room(HISTORY_QUEUES_MAX.edge_windows);
  readonly #events = new Room(HISTORY_QUEUES_MAX.edge_events);
  #waiting: Reported[] = [];
  /** Number of waiting reports by node. */
  readonly #waitingOf = new Map<string, number>();
  #isPumping = false;

  constructor(options: HistoryWriterOptions) {
    this.#options = options;
  }

  /** Returns at once. */
  reported(node: string, stored: StoredEdgeReport): void {
    const own = this.#waitingOf.get(node) ?? 0;
    if (!this.#isAllowed(node, stored.reportedAt)) {
      this.#options.observer.leftOut(node, "too_often");
      return;
    }
    if (this.#waiting.length >= EDGE_REPORTS_WAITING_MAX || own >= EDGE_REPORTS_WAITING_PER_NODE) {
      this.#options.observer.leftOut(node, "behind");
      return;
    }
    this.#waiting.push({ node, stored });
    this.#waitingOf.set(node, own + 1);
    if (!this.#isPumping) void this.#pump();
  }

  /** Events of a node as a whole. */
  nodeChanged(event: Omit<EdgeEvent, "zone">): void {
    void this.#options.store.recordEdgeEvent({ ...event, zone: null });
  }

  /** Forgets nodes that were removed: if one returns, its first report again causes no events. */
  forget(has: (node: string) => boolean): void {
    for (const known of [this.#before, this.#allowances]) {
      for (const node of known.keys()) if (!has(node)) known.delete(node);
    }
  }

  /** Hands over all waiting records, even if the queue is full. */
  stop(): void {
    for (let next = this.#takeWaiting(); next !== null; next = this.#takeWaiting()) this.#record(next);
  }

  /** After the clock was set back, the allowance does not change. */
  #isAllowed(node: string, nowMs: number): boolean {
    const last = this.#allowances.get(node) ?? { reports: EDGE_REPORTS_AT_ONCE, atMs: nowMs };
    const earned = Math.max(0, nowMs - last.atMs) / EDGE_REPORT_RECORDED_MS;
    const reports = Math.min(last.reports + earned, EDGE_REPORTS_AT_ONCE);
    const isAllowed = reports >= 1;
    this.#allowances.set(node, { reports: isAllowed ? reports - 1 : reports, atMs: nowMs });
    return isAllowed;
  }

  async #pump(): Promise<void> {
    this.#isPumping = true;
    const { nextTurn } = this.#options;
    // The answer to the report is sent first.
    await nextTurn();
    for (;;) {
      await this.#windows.wait();
      await this.#events.wait();
      const reported = this.#takeWaiting();
      if (reported === null) break;
      this.#record(reported);
      await nextTurn();
    }
    this.#isPumping = false;
  }

  #takeWaiting(): Reported | null {
    const reported = this.#waiting.shift();
    if (reported === undefined) return null;
    const left = (this.#waitingOf.get(reported.node) ?? 1) - 1;
    if (left === 0) this.#waitingOf.delete(reported.node);
    else this.#waitingOf.set(reported.node, left);
    return reported;
  }

  #record({ node, stored }: Reported): void {
    const { store, serves: nodeServes, observer } = this.#options;
    const { report, reportedAt } = stored;
    const serves = (zone: string) => nodeServes(node, zone);
    try {
      const before = this.#before.get(node) ?? null;
      const nowMs = Math.trunc(reportedAt);
      const { windows, isClockSkewed } = reportWindows({
        node,
        report,
        previous: before?.report ?? null,
        nowMs,
        serves,
      });
      const { known, changes } = nextKnown(before?.known ?? null, { report, serves, isClockSkewed });
      this.#before.set(node, { known, report });
      if (isClockSkewed === true) observer.clockSkewed(node);
      for (const window of windows) this.#windows.take(store.recordEdgeWindow(window));
      for (const change of changes) this.#events.take(store.recordEdgeEvent({ atMs: nowMs, node, ...change }));
    } catch (cause) {
      observer.failed(cause);
    }
  }
}

/** Tracks the records that were handed over: there is room while half of the history's queue is free. */
class Room {
  readonly #least: number;
  #underWay = 0;
  #wake: (() => void) | null = null;

  constructor(bound: number) {
    this.#least = bound / 2;
  }

  take(record: Promise<unknown>): void {
    this.#underWay++;
    void record.then(() => {
      this.#underWay--;
      if (this.#underWay < this.#least) this.#wake?.();
    });
  }

  wait(): Promise<void> {
    if (this.#underWay < this.#least) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = null;
        resolve();
      };
    });
  }
}
