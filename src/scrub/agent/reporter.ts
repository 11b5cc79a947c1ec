/**
 * Reports the state of this node to the controller at an interval (docs/interface.md#scrub-report). Reports are
 * advisory: a lost one does no harm.
 */
import type { KernelFilter } from "../../dataplane/kernel-filter.ts";
import type { Limiter } from "../../observability/limiter.ts";
import type { Log } from "../../observability/log.ts";
import type { ScrubAgentMetrics } from "../../observability/scrub-agent-metrics.ts";
import type { Clock } from "../../system/clock.ts";
import type { Cancel, Timers } from "../../system/timers.ts";
import { REPORTS_REFUSED_BANS } from "../enforced-report.ts";
import { RULE_CAPABILITIES } from "../rule-forms.ts";
import type { ScrubAgentConfig } from "./agent-config.ts";
import type { Controller, Failure } from "./controller.ts";
import type { Enforced } from "./enforcement.ts";
import { droppedIn, type Load, LoadMeter, xdpModeOf } from "./load-meter.ts";
import { refusalsToWire } from "./refusals.ts";
import type { RefusedBan } from "./rule-document.ts";

export interface ReporterOptions {
  readonly config: Pick<ScrubAgentConfig, "dryRun" | "reportIntervalSeconds">;
  readonly version: string;
  readonly filter: Pick<KernelFilter, "status">;
  readonly controller: Pick<Controller, "report">;
  readonly enforced: () => Enforced;
  /** Why the last document was refused as a whole; null: it was not. */
  readonly refusal: () => string | null;
  /** Bans of the document in force that are refused. */
  readonly refused: () => readonly RefusedBan[];
  /** By how much the service's clock is ahead of this one. */
  readonly skewMs: () => number;
  readonly troubleText: (failure: Failure) => string;
  readonly onStored: () => void;
  readonly log: Pick<Log, "warn">;
  readonly limiter: Limiter;
  readonly metrics: Pick<ScrubAgentMetrics, "reported">;
  readonly clock: Clock;
  readonly timers: Pick<Timers, "every" | "after">;
}

const PAUSE_MS = 1000;

export class Reporter {
  readonly #options: ReporterOptions;
  readonly #meter = new LoadMeter();
  /** Load over the last interval. */
  load: Load = { pps: 0, mbps: 0 };
  #isStarted = false;
  #isSending = false;
  /** The rules in force have changed since the last report. */
  #isDue = false;
  #isPaused = false;
  #cancel: Cancel = () => {};
  #cancelPause: Cancel = () => {};
  readonly #startedAt: string;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#startedAt = new Date(options.clock.wallMs()).toISOString();
  }

  /** Sends the first report at once: the node's capabilities decide the form of the rules in its document. */
  start(): void {
    const { timers, config } = this.#options;
    this.#isStarted = true;
    this.#report();
    this.#cancel = timers.every(config.reportIntervalSeconds * 1000, () => this.#report());
  }

  stop(): void {
    this.#isStarted = false;
    this.#cancel();
    this.#cancelPause();
  }

  /** Call it when the rules in force have changed: the service decides by it to which node a victim goes. */
  soon(): void {
    this.#isDue = true;
    if (!this.#isStarted || this.#isSending || this.#isPaused) return;
    this.#report();
  }

  #report(): void {
    const { filter, clock } = this.#options;
    const status = filter.status();
    this.load = this.#meter.measure(status.verdicts, clock.monotonicMs());
    // The last report is still being sent: this one would say the same.
    if (this.#isSending) return;
    this.#isDue = false;
    void this.#send(this.#body(status));
  }

  async #send(body: object): Promise<void> {
    const { controller, metrics, limiter, log, troubleText, onStored } = this.#options;
    this.#isSending = true;
    const answer = await controller.report(body);
    this.#isSending = false;
    metrics.reported(answer.kind);
    this.#pause();
    if (answer.kind === "stored") return onStored();
    limiter.pass(`report ${answer.kind}`, (suppressed) =>
      log.warn({ problem: troubleText(answer), suppressed }, "a report was not accepted"),
    );
  }

  /** A report out of turn comes that long after another; one that the service did not take is repeated in turn. */
  #pause(): void {
    if (!this.#isStarted) return;
    this.#cancelPause();
    this.#isPaused = true;
    this.#cancelPause = this.#options.timers.after(PAUSE_MS, () => {
      this.#isPaused = false;
      if (this.#isDue) this.soon();
    });
  }

  #body({ interfaces, verdicts }: ReturnType<KernelFilter["status"]>): object {
    const { version, config, enforced, refusal, refused: refusedBans, skewMs } = this.#options;
    const refused = refusal();
    const dropped = droppedIn(verdicts);
    const { rules, leftOutRules, etag } = enforced();
    return {
      version,
      xdp_mode: xdpModeOf(interfaces),
      dry_run: config.dryRun,
      load_pps: this.load.pps,
      load_mbps: this.load.mbps,
      dropped_packets: dropped.packets,
      dropped_bytes: dropped.bytes,
      ...(etag === null ? {} : { rules_etag: etag }),
      capabilities: [...RULE_CAPABILITIES, REPORTS_REFUSED_BANS],
      started_at: this.#startedAt,
      interfaces: interfaces.map(({ error, mode, ...others }) => ({
        ...others,
        ...(mode === null ? {} : { mode }),
        ...(error === null ? {} : { error }),
      })),
      rules,
      rules_left_out: leftOutRules,
      ...(refused === null ? {} : { document_refused: refused }),
      ...refusalsToWire(refusedBans()),
      service_ahead_seconds: Math.round(skewMs() / 1000),
    };
  }
}
