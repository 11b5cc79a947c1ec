/**
 * The reports and the liveness of edge nodes, as the service runs them: kept, logged, counted in metrics, and recorded
 * in the history.
 */
import type { EdgeNodes } from "../edge/edge-nodes.ts";
import { EdgeReports } from "../edge/reports/edge-reports.ts";
import { type EdgeHistoryStore, HistoryWriter, type LeftOutReason } from "../edge/reports/history-writer.ts";
import { type PresenceChange, PresenceChanges } from "../edge/reports/presence-changes.ts";
import type { Levers } from "../edge/zones/levers.ts";
import type { EdgeMetrics } from "../observability/edge-metrics.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { Clock } from "../system/clock.ts";
import type { Cancel, Timers } from "../system/timers.ts";

interface EdgeReportingOptions {
  readonly nodes: EdgeNodes;
  readonly levers: Pick<Levers, "all">;
  /** null: storage is off. */
  readonly history: EdgeHistoryStore | null;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly nextTurn: () => Promise<void>;
  readonly log: Pick<Log, "info" | "warn" | "error">;
  readonly limiter: Pick<Limiter, "pass">;
  readonly metrics: Pick<EdgeMetrics, "reported" | "reportLeftOut">;
}

const LEFT_OUT: Readonly<Record<LeftOutReason, string>> = {
  behind: "reports of edge nodes arrive faster than the history can store them: some are not recorded",
  too_often: "an edge node reports more than once a second: not all of its reports are recorded",
};

/** How often liveness changes are looked for, ms. */
const LOOK_MS = 250;

export class EdgeReporting {
  readonly reports: EdgeReports;
  readonly #options: EdgeReportingOptions;
  readonly #presence = new PresenceChanges();
  readonly #writer: HistoryWriter | null;
  #cancel: Cancel = () => {};

  constructor(options: EdgeReportingOptions) {
    const { nodes, levers, history, clock, metrics } = options;
    this.#options = options;
    this.#writer = history === null ? null : makeWriter(history, options);
    this.reports = new EdgeReports({
      nodes,
      overrides: () => levers.all,
      wallMs: () => clock.wallMs(),
      onReport: (node, stored) => {
        metrics.reported();
        this.#writer?.reported(node, stored);
      },
    });
  }

  start(): void {
    this.#cancel = this.#options.timers.every(LOOK_MS, () => this.#look());
  }

  /** Called before the history is closed: hands over waiting records. */
  stop(): void {
    this.#cancel();
    this.#writer?.stop();
  }

  /** Called when the configured nodes may have changed. */
  reconfigured(): void {
    const has = (node: string) => this.#options.nodes.has(node);
    this.reports.reconfigured();
    this.#presence.forget(has);
    this.#writer?.forget(has);
  }

  #look(): void {
    const { nodes } = this.#options;
    for (const { name } of nodes.nodes()) {
      const change = this.#presence.next(name, nodes.livenessOf(name));
      if (change !== null) this.#changed(name, change);
    }
  }

  #changed(node: string, kind: PresenceChange): void {
    const { log, clock, nodes } = this.#options;
    const staleAfter = `${nodes.staleAfterSeconds} s`;
    if (kind === "node_lost") log.warn({ node }, "an edge node is lost: it polls no more");
    else log.info({ node }, "an edge node is back");
    const detail = kind === "node_lost" ? `no poll for ${staleAfter}` : `it polls again, after more than ${staleAfter}`;
    this.#writer?.nodeChanged({ atMs: Math.trunc(clock.wallMs()), node, kind, detail });
  }
}

function makeWriter(store: EdgeHistoryStore, options: EdgeReportingOptions): HistoryWriter {
  const { nodes, nextTurn, log, limiter, metrics } = options;
  return new HistoryWriter({
    store,
    serves: (node, zone) => nodes.serves(node, zone),
    nextTurn,
    observer: {
      clockSkewed: (node) =>
        limiter.pass(`edge clock: ${node}`, (suppressed) =>
          log.warn(
            { node, suppressed },
            "the clock of an edge node is off: its windows are kept by the service's time",
          ),
        ),
      leftOut(node, why) {
        metrics.reportLeftOut();
        limiter.pass(`edge reports left out: ${why}`, (suppressed) => log.error({ node, suppressed }, LEFT_OUT[why]));
      },
      failed(cause) {
        metrics.reportLeftOut();
        limiter.pass("edge report", (suppressed) =>
          log.error({ cause, suppressed }, "a report of an edge node could not be recorded"),
        );
      },
    },
  });
}
