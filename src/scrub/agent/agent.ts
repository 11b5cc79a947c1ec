/**
 * The agent on a scrub node: fills and attaches the filter, follows the rule document of each brain, and sends reports. The
 * filter stays in force without the agent; without a brain the agent applies its last document until its bans expire.
 */
import type { KernelFilter, NamedSets } from "../../dataplane/kernel-filter.ts";
import type { RuleCounts } from "../../dataplane/rule-counts.ts";
import { leftOutInAll, remediesOf } from "../../mitigation/rules/room-limit.ts";
import type { Limiter } from "../../observability/limiter.ts";
import type { Log } from "../../observability/log.ts";
import type { ScrubAgentMetrics } from "../../observability/scrub-agent-metrics.ts";
import type { PrefixSets } from "../../prefixset/prefix-sets.ts";
import type { Clock } from "../../system/clock.ts";
import type { Cancel, Timers } from "../../system/timers.ts";
import { ANYWHERE, type ScrubAgentConfig } from "./agent-config.ts";
import { type BrainAccess, BrainFeed } from "./brain-feed.ts";
import { BoundsCheck } from "./document-bounds.ts";
import { Enforcement } from "./enforcement.ts";
import { InterfaceWatch } from "./interface-watch.ts";
import { etagAt, joinedBans, joinedEtag } from "./joined-bans.ts";
import { droppedIn, xdpModeOf } from "./load-meter.ts";
import { Refusals, withoutRoomOf } from "./refusals.ts";
import type { ReadingBounds } from "./rule-document.ts";

interface ScrubAgentOptions {
  readonly config: ScrubAgentConfig;
  readonly version: string;
  /** Open, not attached. The owner closes it after stop(). */
  readonly filter: AgentFilter;
  /** The named sets of the local rules. */
  readonly prefixSets: Pick<PrefixSets, "forKernel" | "bitOf">;
  /** At least one, in the order of the configuration. */
  readonly brains: readonly BrainAccess[];
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
  readonly #feeds: readonly BrainFeed[];
  readonly #interfaces: InterfaceWatch;
  #cancels: readonly Cancel[] = [];
  readonly #refusals: Refusals;
  /** The rules in force, as last reported. */
  #reported = "";
  /** Number of bans of all brains that were wanted last: fewer once some have expired. */
  #wantedBans = 0;
  /** Those that the filter was given; null: none. */
  #setsInForce: NamedSets | null = null;
  /** The last logged state of the document. */
  #loggedState = "";

  constructor(options: ScrubAgentOptions) {
    const { config, filter, prefixSets, clock, brains, log } = options;
    this.#options = options;
    this.#refusals = new Refusals(options);
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
      onLeftOut: (byLimit) => {
        const rules = leftOutInAll(byLimit);
        if (rules === 0) log.info({}, "all rules fit again");
        else log.error({ rules, by_limit: byLimit }, `some rules do not fit: ${remediesOf(byLimit)}`);
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
    const bounds = new BoundsCheck(config.bounds);
    this.#feeds = brains.map(
      (access, index) =>
        new BrainFeed({
          ...options,
          ...{ access, index, bounds },
          reading: () => this.#reading(),
          enforced: () => ({ ...this.#enforcement.state, etag: this.#etagOf(index) }),
          refused: () => [
            ...(this.#feeds[index]?.refused ?? []),
            ...withoutRoomOf(this.#enforcement.state.withoutRoom),
          ],
          onDocument: () => this.#takeDocuments(),
          onState: () => this.#enforcedChanged(),
        }),
    );
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
    const loaded = await Promise.all(this.#feeds.map((feed) => feed.loadSaved()));
    if (loaded.every((each) => each === "none")) this.#beginWithout(dryRun);
    else this.#want();
    if (loaded.includes("loaded")) log.info(this.#enforced(), "rule document loaded from disk");
    filter.attach();
    this.#interfaces.look(filter.status().interfaces);
    log.info({ node, dry_run: dryRun, ...this.#enforced() }, "the filter is in force");
    this.#cancels = [timers.every(TICK_MS, () => this.#tick()), timers.every(STATUS_MS, () => this.logStatus())];
    this.#enforcedChanged();
    for (const feed of this.#feeds) feed.start();
  }

  /** Leaves the rules in force. Resolves when the last documents are on disk. */
  async stop(): Promise<void> {
    for (const cancel of this.#cancels) cancel();
    this.#cancels = [];
    await Promise.all(this.#feeds.map((feed) => feed.stop()));
  }

  /** Updates the values for the metrics. */
  read(): void {
    const { metrics, filter, config } = this.#options;
    const { interfaces, verdicts, forward } = filter.status();
    const state = { isDryRun: config.dryRun, isControllerUp: this.#feeds.every(({ isUp }) => isUp) };
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
    const { log, filter } = this.#options;
    const { interfaces, verdicts } = filter.status();
    const dropped = droppedIn(verdicts);
    const { pps, mbps } = this.#feeds[0]?.load ?? { pps: 0, mbps: 0 };
    log.info(
      {
        controller: this.#feeds.map((feed) => feed.stateText()).join(", "),
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
    // A ban that another brain wants of the same victim for longer goes on.
    if (this.#feeds.length > 1 && this.#wantedNow() < this.#wantedBans) this.#want();
    this.#enforcement.tick();
    this.#enforcedChanged();
    this.#interfaces.look(this.#options.filter.status().interfaces);
  }

  #takeDocuments(): void {
    this.#want();
    this.#enforcedChanged();
    this.#logChange();
  }

  #want(): void {
    this.#wantedBans = this.#wantedNow();
    const etag = joinedEtag(this.#feeds.map((feed) => feed.etag));
    this.#enforcement.want(joinedBans(this.#feeds.map(({ bans }) => bans)), etag);
  }

  #wantedNow(): number {
    return this.#feeds.reduce((sum, { bans }) => sum + bans.length, 0);
  }

  #etagOf(brain: number): string | null {
    return etagAt(this.#enforcement.state.etag, brain, this.#feeds.length);
  }

  /** Reports at once when another document, or another part of it, is in force. */
  #enforcedChanged(): void {
    const { etag, withoutRoom } = this.#enforcement.state;
    const refused = this.#feeds.flatMap((feed) => feed.refused);
    this.#refusals.take(refused, withoutRoom);
    const refusals = this.#feeds.map(({ refusal }) => refusal);
    const now = [etag, ...refusals, ...withoutRoom.map(({ prefix, limit }) => `${prefix.text} ${limit}`)].join();
    if (now === this.#reported) return;
    this.#reported = now;
    for (const feed of this.#feeds) feed.reportSoon();
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

  #logError(key: string, cause: unknown, message: string): void {
    const { limiter, log } = this.#options;
    limiter.pass(key, (suppressed) => log.error({ cause, suppressed }, message));
  }
}
