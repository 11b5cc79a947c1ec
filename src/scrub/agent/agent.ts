/**
 * The agent on a scrub node: fills and attaches the filter, follows the controller's rule document, and sends reports.
 * The filter stays in force without the agent; without the controller the agent applies the last document until its
 * bans expire.
 */
import type { KernelFilter, NamedSets } from "../../dataplane/kernel-filter.ts";
import type { RuleCounts } from "../../dataplane/rule-counts.ts";
import type { Limiter } from "../../observability/limiter.ts";
import type { Log } from "../../observability/log.ts";
import type { ScrubAgentMetrics } from "../../observability/scrub-agent-metrics.ts";
import type { PrefixSets } from "../../prefixset/prefix-sets.ts";
import type { Clock } from "../../system/clock.ts";
import type { Cancel, Timers } from "../../system/timers.ts";
import { ANYWHERE, type ScrubAgentConfig } from "./agent-config.ts";
import type { Controller } from "./controller.ts";
import { BoundsCheck } from "./document-bounds.ts";
import { DocumentFile } from "./document-file.ts";
import { Enforcement, type HeldBan } from "./enforcement.ts";
import { aheadMs, heldBans, heldBansOf } from "./held-document.ts";
import { InterfaceWatch } from "./interface-watch.ts";
import { droppedIn, xdpModeOf } from "./load-meter.ts";
import { Poller, type PollTrouble, type ReceivedDocument } from "./poller.ts";
import { Refusals, withLastGood } from "./refusals.ts";
import { Reporter } from "./reporter.ts";
import { BoundsProblem, type ReadingBounds, type RefusedBan, readDocument } from "./rule-document.ts";

export interface ScrubAgentOptions {
  readonly config: ScrubAgentConfig;
  readonly version: string;
  /** Open, not attached. The owner closes it after stop(). */
  readonly filter: AgentFilter;
  /** The named sets of the local rules. */
  readonly prefixSets: Pick<PrefixSets, "forKernel" | "bitOf">;
  readonly controller: Controller;
  /** The text for operators, with a remedy. */
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
  | "attach"
  | "setRules"
  | "readRules"
  | "setNamedSets"
  | "setAllowlist"
  | "setWhitelist"
  | "setForwardNetworks"
  | "readPairs"
  | "removePairs"
  | "status"
>;

const TICK_MS = 1000;
const STATUS_MS = 60_000;

export class ScrubAgent {
  readonly #options: ScrubAgentOptions;
  readonly #enforcement: Enforcement;
  readonly #bounds: BoundsCheck;
  readonly #file: DocumentFile;
  readonly #poller: Poller;
  readonly #reporter: Reporter;
  readonly #interfaces: InterfaceWatch;
  #polling: Promise<void> | null = null;
  #cancels: readonly Cancel[] = [];
  /** Since when the service does not answer, monotonic ms; null: it answers. */
  #unreachableSinceMs: number | null = null;
  #hasAnswered = false;
  readonly #refusals: Refusals;
  /** Those of the document itself, whatever has room. */
  #refused: readonly RefusedBan[] = [];
  /** The part of the document in force, as last reported. */
  #reported = "";
  /** Why the last document was refused as a whole; null: it was not. */
  #refusal: string | null = null;
  #skewMs = 0;
  /** Those that the filter was given; null: none. */
  #setsInForce: NamedSets | null = null;
  /** The last logged state of the document. */
  #loggedState = "";

  constructor(options: ScrubAgentOptions) {
    const { config, filter, prefixSets, clock, timers, controller, metrics, random, log } = options;
    this.#options = options;
    this.#bounds = new BoundsCheck(config.bounds);
    this.#refusals = new Refusals(options);
    this.#file = new DocumentFile(config.stateDir, (cause) => {
      metrics.failed("document_file");
      this.#logError(
        "document file",
        cause,
        "the rule document cannot be saved: after a restart without the service there are no rules",
      );
    });
    this.#enforcement = new Enforcement({
      filter,
      clock,
      dryRun: config.dryRun,
      maxRules: config.dataplane.maxDynamicRules,
      local: {
        rules: config.filterRules,
        networks: config.bounds.networks ?? ANYWHERE,
        bitOf: (name) => (this.#setsInForce === null ? null : prefixSets.bitOf(name)),
      },
      onFault: (cause) => this.#kernelFailed(cause, "the kernel refuses the rules: the old ones stay, retrying"),
      onLeftOut: (rules) => {
        if (rules === 0) log.info({}, "all rules fit again");
        else log.error({ rules }, "some rules do not fit: raise dataplane.limits.max_dynamic_rules and restart");
      },
      onLocalLeftOut: (destinations) => {
        if (destinations === 0) log.info({}, "there is room for all filter rules again");
        else
          log.error(
            { destinations },
            "no room for filter rules of some destinations or attacked addresses: use fewer or wider destinations",
          );
      },
    });
    this.#poller = new Poller({
      controller,
      reading: () => this.#reading(),
      onDocument: (document) => this.#takeDocument(document),
      onTrouble: (trouble, nextMs) => this.#onPollFailed(trouble, nextMs),
      onAnswer: () => this.#onPollSucceeded(),
      count: (result) => metrics.polled(result),
      clock,
      timers,
      random,
    });
    this.#reporter = new Reporter({
      ...options,
      enforced: () => this.#enforcement.state,
      refusal: () => this.#refusal,
      refused: () => this.#refusals.present,
      skewMs: () => this.#skewMs,
      onStored: () => this.#poller.pollNow(),
    });
    this.#interfaces = new InterfaceWatch(log);
  }

  /** Resolves when the filter is filled and in force; then polling starts. Throws the errors of attach(). */
  async start(): Promise<void> {
    const { filter, config, timers, log } = this.#options;
    const { dataplane, protectedWhitelist, dryRun, node } = config;
    filter.setAllowlist(dataplane.allowlist);
    filter.setWhitelist(protectedWhitelist);
    filter.setForwardNetworks(config.bounds.networks);
    // Only a service sets pairs: these are from one that used the same pins before.
    filter.removePairs(filter.readPairs());
    // Before the rules that name them.
    this.#putSets();
    // Without a saved document, the rules of an earlier process stay until the first document arrives.
    if (!(await this.#loadSaved())) this.#beginWithout(dryRun);
    filter.attach();
    this.#interfaces.look(filter.status().interfaces);
    log.info({ node, dry_run: dryRun, ...this.#enforced() }, "the filter is in force");
    this.#cancels = [timers.every(TICK_MS, () => this.#tick()), timers.every(STATUS_MS, () => this.logStatus())];
    this.#enforcedChanged();
    this.#reporter.start();
    this.#polling = this.#poller.run();
  }

  /** Leaves the rules in force. Resolves when the last document is on disk. */
  async stop(): Promise<void> {
    for (const cancel of this.#cancels) cancel();
    this.#cancels = [];
    this.#reporter.stop();
    this.#poller.stop();
    this.#options.controller.close();
    await this.#polling;
    await this.#file.written();
  }

  /** Updates the values for the metrics. */
  read(): void {
    const { metrics, filter, config } = this.#options;
    const { interfaces, verdicts, forward } = filter.status();
    const isControllerUp = this.#hasAnswered && this.#unreachableSinceMs === null;
    const state = { isDryRun: config.dryRun, isControllerUp };
    metrics.set({
      ...this.#enforcement.state,
      ...state,
      interfaces,
      verdicts,
      forward,
      localCounts: this.#localCounts(),
      refusedBans: this.#refusals.present,
    });
  }

  logStatus(): void {
    const { log, filter, clock } = this.#options;
    const { interfaces, verdicts } = filter.status();
    const dropped = droppedIn(verdicts);
    const { pps, mbps } = this.#reporter.load;
    const sinceMs = this.#unreachableSinceMs;
    log.info(
      {
        controller: sinceMs === null ? "up" : `away for ${Math.round((clock.monotonicMs() - sinceMs) / 1000)} s`,
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
    const refused = this.#refusals.present.length;
    return {
      ...{ bans, dry_run_bans: virtualBans, rules, rules_left_out: leftOutRules },
      ...(refused === 0 ? {} : { bans_refused: refused }),
      rules_etag: etag,
    };
  }

  /** Without a document. */
  #beginWithout(dryRun: boolean): void {
    if (dryRun) this.#enforcement.clear();
    else if (!this.#enforcement.begin()) {
      this.#options.log.warn(
        {},
        "an earlier process left rules of bans, which stay until the first rule document: filter_rules of this node begin with it",
      );
    }
  }

  /** Those that changed. Throws what the kernel says. */
  #putSets(): void {
    const sets = this.#options.prefixSets.forKernel();
    if (sets === this.#setsInForce) return;
    if (sets !== null) this.#options.filter.setNamedSets(sets);
    const isFirst = this.#setsInForce === null;
    this.#setsInForce = sets;
    if (isFirst) this.#enforcement.setsChanged();
  }

  /** Empty if the kernel cannot be read. */
  #localCounts(): ReadonlyMap<string, RuleCounts> {
    try {
      return this.#enforcement.localCounts();
    } catch (cause) {
      this.#kernelFailed(cause, "the counters of filter rules cannot be read");
      return new Map();
    }
  }

  #kernelFailed(cause: unknown, message: string): void {
    this.#options.metrics.failed("kernel");
    this.#logError("kernel", cause, message);
  }

  #tick(): void {
    try {
      this.#putSets();
    } catch (cause) {
      this.#kernelFailed(cause, "the kernel refuses the prefix sets: the previous ones stay in force");
    }
    this.#enforcement.tick();
    this.#enforcedChanged();
    this.#interfaces.look(this.#options.filter.status().interfaces);
  }

  #takeDocument({ text, etag, sentAtMs, ...document }: ReceivedDocument): void {
    const { clock, log, limiter } = this.#options;
    const now = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
    const ahead = aheadMs(sentAtMs, now.wallMs);
    const held = this.#withinBounds(heldBans(document.bans, { ...now, aheadMs: ahead }), document.refused);
    this.#skewMs = ahead;
    this.#refusal = null;
    if (ahead !== 0) {
      limiter.pass("clock", (suppressed) =>
        log.warn(
          { service_ahead_seconds: Math.round(ahead / 1000), suppressed },
          "the clocks of this node and of the service differ: expiries follow the service's; run NTP on both",
        ),
      );
    }
    this.#enforcement.want(withLastGood(held, this.#refused, this.#enforcement.bans), etag);
    this.#enforcedChanged();
    this.#file.save({ text, etag, savedAtMs: now.wallMs, aheadMs: ahead, owner: this.#owner });
    this.#logChange();
  }

  /** Those that this node accepts; the others are refused. */
  #withinBounds(held: readonly HeldBan[], unread: readonly RefusedBan[]): readonly HeldBan[] {
    const nowMs = this.#options.clock.monotonicMs();
    const beyond: RefusedBan[] = [];
    const within = held.filter((ban) => {
      const reason = this.#bounds.excessOf(ban, nowMs);
      if (reason !== null)
        beyond.push({ prefix: ban.prefix, isVirtual: ban.isVirtual, cause: "out_of_bounds", reason });
      return reason === null;
    });
    this.#refused = [...unread, ...beyond];
    return within;
  }

  /** Reports at once when another document, or another part of it, is in force. */
  #enforcedChanged(): void {
    const { etag, withoutRoom } = this.#enforcement.state;
    this.#refusals.take(this.#refused, withoutRoom);
    const now = [etag, this.#refusal, ...withoutRoom.map(({ text }) => text)].join();
    if (now === this.#reported) return;
    this.#reported = now;
    this.#reporter.soon();
  }

  #reading(): ReadingBounds {
    const known = new Set(this.#enforcement.bans.map(({ prefix }) => prefix.text));
    return { maxRules: this.#options.config.bounds.maxRules, isKnown: (prefix) => known.has(prefix) };
  }

  /** Does not log every document: a lasting attack changes its expiry every ten seconds. */
  #logChange(): void {
    const { bans, virtualBans, rules, leftOutRules } = this.#enforcement.state;
    const now = [bans, virtualBans, rules, leftOutRules].join();
    if (now === this.#loggedState) return;
    this.#loggedState = now;
    this.#options.log.info(this.#enforced(), "rule document applied");
  }

  /** Returns whether a document for this node was found. */
  async #loadSaved(): Promise<boolean> {
    const { clock, log } = this.#options;
    try {
      const saved = await this.#file.load();
      if (saved === null) return false;
      if (saved.owner !== this.#owner) {
        log.warn(
          { file: this.#file.path, of: saved.owner },
          "the rule document on disk belongs to another node: ignored",
        );
        return false;
      }
      const now = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
      const { bans, refused } = readDocument(saved.text, this.#reading());
      const held = heldBansOf(bans, { atMs: saved.savedAtMs, aheadMs: saved.aheadMs }, now);
      this.#enforcement.want(this.#withinBounds(held, refused), saved.etag);
      log.info(this.#enforced(), "rule document loaded from disk");
      return true;
    } catch (cause) {
      if (cause instanceof BoundsProblem) {
        log.error(
          { cause, file: this.#file.path },
          "the rule document on disk is beyond the bounds: all rules removed",
        );
        this.#enforcement.clear();
        return true;
      }
      log.error({ cause, file: this.#file.path }, "the rule document on disk is unusable: rules stay unchanged");
      return false;
    }
  }

  /** Identifies the node and controller of a document. */
  get #owner(): string {
    const { node, controller } = this.#options.config;
    return `${node} at ${controller.url}`;
  }

  #onPollFailed(trouble: PollTrouble, nextMs: number): void {
    const { clock, limiter, log, troubleText } = this.#options;
    if ("reason" in trouble && trouble.kind !== "unreachable") this.#refusal = trouble.reason;
    this.#enforcedChanged();
    this.#unreachableSinceMs ??= clock.monotonicMs();
    const key = trouble.kind === "refused" ? `poll ${trouble.status}` : `poll ${trouble.kind}`;
    limiter.pass(key, (suppressed) =>
      log.warn({ problem: troubleText(trouble), next_try_seconds: nextMs / 1000, suppressed }, "no rule document"),
    );
  }

  #onPollSucceeded(): void {
    const { clock, log } = this.#options;
    const sinceMs = this.#unreachableSinceMs;
    if (!this.#hasAnswered) log.info({}, "the service answers");
    else if (sinceMs !== null) {
      log.info({ after_seconds: Math.round((clock.monotonicMs() - sinceMs) / 1000) }, "the service answers again");
    }
    this.#unreachableSinceMs = null;
    this.#refusal = null;
    this.#hasAnswered = true;
  }

  #logError(key: string, cause: unknown, message: string): void {
    const { limiter, log } = this.#options;
    limiter.pass(key, (suppressed) => log.error({ cause, suppressed }, message));
  }
}
