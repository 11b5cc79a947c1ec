/**
 * Reports the state of this node to the controller at an interval (docs/interface.md#scrub-report). Reports are
 * advisory: a lost one does no harm.
 */
import type { ScrubAgentConfig } from "../../config/scrub-agent-config.ts";
import type { KernelFilter } from "../../dataplane/kernel-filter.ts";
import type { Limiter } from "../../observability/limiter.ts";
import type { Log } from "../../observability/log.ts";
import type { ScrubAgentMetrics } from "../../observability/scrub-agent-metrics.ts";
import type { Clock } from "../../system/clock.ts";
import type { Cancel, Timers } from "../../system/timers.ts";
import { RULE_CAPABILITIES } from "../rule-forms.ts";
import type { Controller, Failure } from "./controller.ts";
import type { Enforced } from "./enforcement.ts";
import { droppedIn, type Load, LoadMeter, xdpModeOf } from "./load-meter.ts";

export interface ReporterOptions {
  readonly config: Pick<ScrubAgentConfig, "dryRun" | "reportIntervalSeconds">;
  readonly version: string;
  readonly filter: Pick<KernelFilter, "status">;
  readonly controller: Pick<Controller, "report">;
  readonly enforced: () => Enforced;
  /** Why the last document was refused; null: it was not. */
  readonly refusal: () => string | null;
  /** By how much the service's clock is ahead of this one. */
  readonly skewMs: () => number;
  readonly troubleText: (failure: Failure) => string;
  readonly onStored: () => void;
  readonly log: Pick<Log, "warn">;
  readonly limiter: Limiter;
  readonly metrics: Pick<ScrubAgentMetrics, "reported">;
  readonly clock: Clock;
  readonly timers: Pick<Timers, "every">;
}

export class Reporter {
  readonly #options: ReporterOptions;
  readonly #meter = new LoadMeter();
  /** Load over the last interval. */
  load: Load = { pps: 0, mbps: 0 };
  #isSending = false;
  #cancel: Cancel = () => {};

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  /** Sends the first report at once: the node's capabilities decide the form of the rules in its document. */
  start(): void {
    const { timers, config } = this.#options;
    this.#report();
    this.#cancel = timers.every(config.reportIntervalSeconds * 1000, () => this.#report());
  }

  stop(): void {
    this.#cancel();
  }

  #report(): void {
    const { filter, clock } = this.#options;
    const status = filter.status();
    this.load = this.#meter.measure(status.verdicts, clock.monotonicMs());
    // The last report is still being sent: this one would say the same.
    if (!this.#isSending) void this.#send(this.#body(status));
  }

  async #send(body: object): Promise<void> {
    const { controller, metrics, limiter, log, troubleText, onStored } = this.#options;
    this.#isSending = true;
    const answer = await controller.report(body);
    this.#isSending = false;
    metrics.reported(answer.kind);
    if (answer.kind === "stored") return onStored();
    limiter.pass(`report ${answer.kind}`, (suppressed) =>
      log.warn({ problem: troubleText(answer), suppressed }, "a report was not accepted"),
    );
  }

  #body({ interfaces, verdicts }: ReturnType<KernelFilter["status"]>): object {
    const { version, config, enforced, refusal, skewMs } = this.#options;
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
      capabilities: RULE_CAPABILITIES,
      interfaces: interfaces.map(({ error, mode, ...others }) => ({
        ...others,
        ...(mode === null ? {} : { mode }),
        ...(error === null ? {} : { error }),
      })),
      rules,
      rules_left_out: leftOutRules,
      ...(refused === null ? {} : { document_refused: refused }),
      service_ahead_seconds: Math.round(skewMs() / 1000),
    };
  }
}
