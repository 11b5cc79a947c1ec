/**
 * The agent on a scrub node: fills and attaches the filter, follows the controller's rule document, and reports. What is in
 * force outlives it; without the controller it goes on with the last document until that has lapsed.
 */
import type { ScrubAgentConfig } from "../../config/scrub-agent-config.ts";
import type { KernelFilter } from "../../dataplane/kernel-filter.ts";
import type { Limiter } from "../../observability/limiter.ts";
import type { Log } from "../../observability/log.ts";
import type { ScrubAgentMetrics } from "../../observability/scrub-agent-metrics.ts";
import type { Clock } from "../../system/clock.ts";
import type { Cancel, Timers } from "../../system/timers.ts";
import type { Controller } from "./controller.ts";
import { DocumentFile } from "./document-file.ts";
import { Enforcement } from "./enforcement.ts";
import { aheadMs, heldBans, heldBansOf } from "./held-document.ts";
import { InterfaceWatch } from "./interface-watch.ts";
import { droppedIn, xdpModeOf } from "./load-meter.ts";
import { Poller, type PollTrouble, type TakenDocument } from "./poller.ts";
import { Reporter } from "./reporter.ts";
import { readDocument } from "./rule-document.ts";

export interface ScrubAgentOptions {
  readonly config: ScrubAgentConfig;
  readonly version: string;
  /** Open, not attached. Its owner closes it, after stop(). */
  readonly filter: AgentFilter;
  readonly controller: Controller;
  /** In an operator's words, with a remedy. */
  readonly troubleText: (trouble: PollTrouble) => string;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly metrics: ScrubAgentMetrics;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: () => number;
}

export type AgentFilter = Pick<
  KernelFilter,
  "attach" | "setRules" | "setAllowlist" | "setWhitelist" | "readPairs" | "removePairs" | "status"
>;

const TICK_MS = 1000;
const STATUS_MS = 60_000;

export class ScrubAgent {
  readonly #options: ScrubAgentOptions;
  readonly #enforcement: Enforcement;
  readonly #file: DocumentFile;
  readonly #poller: Poller;
  readonly #reporter: Reporter;
  readonly #interfaces: InterfaceWatch;
  #polling: Promise<void> | null = null;
  #cancels: readonly Cancel[] = [];
  /** Since when the service does not answer, monotonic ms; null: it does. */
  #awaySinceMs: number | null = null;
  #hasAnswered = false;
  #skewMs = 0;
  /** What the log said last of a document. */
  #told = "";

  constructor(options: ScrubAgentOptions) {
    const { config, filter, clock, timers, controller, metrics, random, log } = options;
    this.#options = options;
    this.#file = new DocumentFile(config.stateDir, (cause) => {
      metrics.failed("document_file");
      this.#tell(
        "document file",
        cause,
        "the rule document cannot be saved: a restart without the service begins empty",
      );
    });
    this.#enforcement = new Enforcement({
      filter,
      clock,
      dryRun: config.dryRun,
      maxRules: config.dataplane.maxDynamicRules,
      onFault: (cause) => {
        metrics.failed("kernel");
        this.#tell("kernel", cause, "the kernel refuses the rules, those before stay; this is tried again");
      },
      onLeftOut: (rules) => {
        if (rules === 0) log.info({}, "all rules have room again");
        else log.error({ rules }, "rules find no room: raise dataplane.limits.max_dynamic_rules and restart");
      },
    });
    this.#poller = new Poller({
      controller,
      onDocument: (document) => this.#takeDocument(document),
      onTrouble: (trouble, nextMs) => this.#lament(trouble, nextMs),
      onAnswer: () => this.#rejoice(),
      count: (result) => metrics.polled(result),
      clock,
      timers,
      random,
    });
    this.#reporter = new Reporter({
      ...options,
      enforced: () => this.#enforcement.state,
      skewMs: () => this.#skewMs,
      onStored: () => this.#poller.hurry(),
    });
    this.#interfaces = new InterfaceWatch(log);
  }

  /** The filter is filled and in force when this resolves; then the service is asked. Throws what attach() throws. */
  async start(): Promise<void> {
    const { filter, config, timers, log } = this.#options;
    const { dataplane, protectedWhitelist, dryRun, node } = config;
    filter.setAllowlist(dataplane.allowlist);
    filter.setWhitelist(protectedWhitelist);
    // Pairs are the service's: of one that had these pins before.
    filter.removePairs(filter.readPairs());
    // Where there is no document, rules of the process before stay until the first one comes.
    if (!(await this.#takeSaved()) && dryRun) this.#enforcement.clear();
    filter.attach();
    this.#interfaces.look(filter.status().interfaces);
    log.info({ node, dry_run: dryRun, ...this.#enforced() }, "the filter is in force");
    this.#cancels = [timers.every(TICK_MS, () => this.#tick()), timers.every(STATUS_MS, () => this.logStatus())];
    this.#reporter.start();
    this.#polling = this.#poller.run();
  }

  /** What is in force stays so. Resolves when the last document is on disk. */
  async stop(): Promise<void> {
    for (const cancel of this.#cancels) cancel();
    this.#cancels = [];
    this.#reporter.stop();
    this.#poller.stop();
    this.#options.controller.close();
    await this.#polling;
    await this.#file.written();
  }

  /** Reads all values that metrics tell of. */
  read(): void {
    const { metrics, filter, config } = this.#options;
    const { interfaces, verdicts } = filter.status();
    const isControllerUp = this.#hasAnswered && this.#awaySinceMs === null;
    metrics.set({ ...this.#enforcement.state, isDryRun: config.dryRun, isControllerUp, interfaces, verdicts });
  }

  logStatus(): void {
    const { log, filter, clock } = this.#options;
    const { interfaces, verdicts } = filter.status();
    const dropped = droppedIn(verdicts);
    const { pps, mbps } = this.#reporter.load;
    const away = this.#awaySinceMs;
    log.info(
      {
        controller: away === null ? "up" : `away for ${Math.round((clock.monotonicMs() - away) / 1000)} s`,
        xdp_mode: xdpModeOf(interfaces),
        load_pps: pps,
        load_mbps: mbps,
        dropped_packets: dropped.packets,
        dropped_bytes: dropped.bytes,
        ...this.#enforced(),
      },
      "status",
    );
  }

  #enforced(): object {
    const { bans, virtualBans, rules, leftOutRules, etag } = this.#enforcement.state;
    return { bans, dry_run_bans: virtualBans, rules, rules_left_out: leftOutRules, rules_etag: etag };
  }

  #tick(): void {
    this.#enforcement.tick();
    this.#interfaces.look(this.#options.filter.status().interfaces);
  }

  #takeDocument({ bans, text, etag, sentAtMs }: TakenDocument): void {
    const { clock, log, limiter } = this.#options;
    const now = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
    const ahead = aheadMs(sentAtMs, now.wallMs);
    this.#skewMs = ahead;
    if (ahead !== 0) {
      limiter.pass("clock", (suppressed) =>
        log.warn(
          { service_ahead_seconds: Math.round(ahead / 1000), suppressed },
          "the clocks of this node and of the service differ: expiries follow the service's; run NTP on both",
        ),
      );
    }
    this.#enforcement.want(heldBans(bans, { ...now, aheadMs: ahead }), etag);
    this.#file.save({ text, etag, savedAtMs: now.wallMs, aheadMs: ahead, owner: this.#owner });
    this.#tellChange();
  }

  /** Not of each document: an attack that lasts moves its expiry every ten seconds. */
  #tellChange(): void {
    const { bans, virtualBans, rules, leftOutRules } = this.#enforcement.state;
    const now = [bans, virtualBans, rules, leftOutRules].join();
    if (now === this.#told) return;
    this.#told = now;
    this.#options.log.info(this.#enforced(), "rule document taken");
  }

  /** Whether there was one for this node. */
  async #takeSaved(): Promise<boolean> {
    const { clock, log } = this.#options;
    try {
      const saved = await this.#file.load();
      if (saved === null) return false;
      if (saved.owner !== this.#owner) {
        log.warn({ file: this.#file.path, of: saved.owner }, "the rule document on disk is another node's: not taken");
        return false;
      }
      const now = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
      const held = heldBansOf(readDocument(saved.text), { atMs: saved.savedAtMs, aheadMs: saved.aheadMs }, now);
      this.#enforcement.want(held, saved.etag);
      log.info(this.#enforced(), "rule document taken from the disk");
      return true;
    } catch (cause) {
      log.error({ cause, file: this.#file.path }, "the rule document on disk cannot be used: rules stay as they are");
      return false;
    }
  }

  /** Whose document it is. */
  get #owner(): string {
    const { node, controller } = this.#options.config;
    return `${node} at ${controller.url}`;
  }

  #lament(trouble: PollTrouble, nextMs: number): void {
    const { clock, limiter, log, troubleText } = this.#options;
    this.#awaySinceMs ??= clock.monotonicMs();
    const key = trouble.kind === "refused" ? `poll ${trouble.status}` : `poll ${trouble.kind}`;
    limiter.pass(key, (suppressed) =>
      log.warn({ problem: troubleText(trouble), next_try_seconds: nextMs / 1000, suppressed }, "no rule document"),
    );
  }

  #rejoice(): void {
    const { clock, log } = this.#options;
    const away = this.#awaySinceMs;
    if (!this.#hasAnswered) log.info({}, "the service answers");
    else if (away !== null) {
      log.info({ after_seconds: Math.round((clock.monotonicMs() - away) / 1000) }, "the service answers again");
    }
    this.#awaySinceMs = null;
    this.#hasAnswered = true;
  }

  #tell(key: string, cause: unknown, message: string): void {
    const { limiter, log } = this.#options;
    limiter.pass(key, (suppressed) => log.error({ cause, suppressed }, message));
  }
}
