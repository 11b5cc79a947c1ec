/**
 * Runs the filter in the kernel: opens it, fills it with all active bans and blocks, then attaches it; retries on
 * failure. In dry run it is removed from the kernel and not opened. Independent of how bans and source blocks are made.
 */
import { existsSync } from "node:fs";
import type { DroppedAmount } from "../detection/attack/attack-volume.ts";
import { PREFIXES_MAX } from "../limits.ts";
import type { Ban, BanChange } from "../mitigation/ban.ts";
import type { MitigationSections } from "../mitigation/mitigation-config.ts";
import { operatorKernelRules } from "../mitigation/operator/operator-kernel-rules.ts";
import type { OperatorRule } from "../mitigation/operator/operator-rule.ts";
import type { ActiveChoice } from "../mitigation/protection/choice.ts";
import { type LeftOutByLimit, leftOutInAll } from "../mitigation/rules/room-limit.ts";
import { type StandingPlace, standingPlaces, standingRules } from "../mitigation/scrub/standing-rules.ts";
import { OPERATOR_ENTRIES_MAX } from "../native/constants.ts";
import type { Prefix } from "../net/prefix.ts";
import type { KernelPair, PairInstaller } from "../sourceblock/pair-installer.ts";
import type { Pair } from "../sourceblock/source-block.ts";
import { messageOf } from "../system/error-message.ts";
import { DataPlaneRules, type Dropped } from "./data-plane-rules.ts";
import type { DataplaneConfig } from "./dataplane-config.ts";
import { forwardPlan } from "./forward-tunnel.ts";
import type { FilterOptions, FilterStatus, KernelFilter, NamedSets, PinnedFilter } from "./kernel-filter.ts";
import { OutcomeCounts } from "./outcome-counts.ts";
import { PairCounts } from "./pair-counts.ts";
import type { RuleCounts } from "./rule-counts.ts";
import { SetExchange } from "./set-exchange.ts";

/** The kernel's side, implemented by kernel-filter.ts. */
export interface FilterOpener {
  open(options: FilterOptions): KernelFilter;
  readPinned(pinPath: string): PinnedFilter;
}

export const DATA_PLANE_OPERATIONS = ["open", "lists", "sets", "rules", "close"] as const;
export type DataPlaneOperation = (typeof DATA_PLANE_OPERATIONS)[number];

export interface DataPlaneObserver {
  /** The filter is in force from now on. */
  up(status: FilterStatus): void;
  /** The filter was removed from the kernel, or left in force without this process. */
  down(end: "keep" | "detach"): void;
  /** An operation failed and will be retried. */
  fault(operation: DataPlaneOperation, cause: unknown): void;
  /** The error of an interface changed since the last second; null: it is filtered again. */
  interfaceChanged(name: string, error: string | null): void;
  leftOut(rules: LeftOutByLimit): void;
  /** Destinations and attacked addresses that have no room for the operator's rules. */
  filterRulesLeftOut(destinations: number): void;
}

/** The configuration as far as the data plane depends on it. */
interface DataPlaneSections
  extends Pick<MitigationSections, "dryRun" | "networks" | "hostgroups" | "mitigations" | "carpet" | "own"> {
  readonly protectedWhitelist: readonly Prefix[];
  /** null: the section was removed, what runs stays. */
  readonly dataplane: DataplaneConfig | null;
}

export interface DataPlaneOptions {
  readonly kernel: FilterOpener;
  readonly config: DataPlaneSections;
  readonly dataplane: DataplaneConfig;
  readonly bans: () => Iterable<Ban>;
  /** The operator's rules, in the order in which they are tried. */
  readonly filterRules: () => readonly OperatorRule[];
  /** The protections that were chosen and are in force. */
  readonly chosen: () => Iterable<ActiveChoice>;
  /** Number of pairs of source blocks. */
  readonly pairs: () => number;
  /** For the kernel; null: there are none. Throws when there should be some. Absent: there are none. */
  readonly prefixSets?: { forKernel(): NamedSets | null; bitOf(name: string): number | null };
  /** Installs all live pairs again, and removes others from the kernel. */
  readonly putPairs: () => void;
  /** Closes the sources on the filter's interfaces: source and filter are one program on an interface. */
  readonly closeSources: (interfaces: readonly string[]) => void;
  readonly openSources: () => void;
  readonly every: (ms: number, fn: () => void) => () => void;
  readonly after: (ms: number, fn: () => void) => () => void;
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
  readonly observer: DataPlaneObserver;
}

/** The state for the API. `failed` is retried, usually every second. */
export type DataPlaneView = { readonly rulesLeftOut: LeftOutByLimit; readonly filterRulesLeftOut: number } & (
  | { readonly state: "disabled" | "dry_run"; readonly filter: null; readonly error: null }
  | { readonly state: "failed"; readonly filter: null; readonly error: string }
  | { readonly state: "up"; readonly filter: FilterStatus; readonly error: null }
);

const WATCH_MS = 1000;
/** Retry interval if an attempt must close the sources on the interfaces: they must not be interrupted often. */
const ATTACH_RETRY_MS = 30_000;

export class DataPlane implements PairInstaller {
  readonly #options: DataPlaneOptions;
  readonly #rules: DataPlaneRules;
  /** The outcomes of the packets to attacked hosts. */
  readonly outcomes = new OutcomeCounts();
  #config: DataPlaneSections;
  /** The configuration with which the filter was opened; `onExit` and `allowlist` follow the newest one. */
  #dataplane: DataplaneConfig;
  #filter: KernelFilter | null = null;
  readonly #sets: SetExchange;
  /** Why the filter is not open. */
  #error = "not opened yet";
  /** Earliest time of the next attempt. Monotonic clock, ms. */
  #notBeforeMs = 0;
  /** null: to be found again. */
  #places: readonly StandingPlace[] | null = null;
  readonly #interfaceErrors = new Map<string, string>();
  readonly #pairCounts: PairCounts;
  #cancel: () => void = () => {};

  constructor(options: DataPlaneOptions) {
    const { config, dataplane, pairs, bans, after, wallMs, monotonicMs, observer } = options;
    this.#options = options;
    this.#pairCounts = new PairCounts(options.monotonicMs);
    this.#config = config;
    this.#dataplane = dataplane;
    this.#sets = new SetExchange({
      wanted: () => options.prefixSets?.forKernel() ?? null,
      monotonicMs,
      onFault: (cause) => observer.fault("sets", cause),
      onExchanged: () => this.#rules.changed(null),
    });
    this.#rules = new DataPlaneRules({
      bans,
      standing: () => standingRules(this.#standingPlaces(), bans(), wallMs()),
      bitOf: (name) => (this.#sets.hasSets ? (options.prefixSets?.bitOf(name) ?? null) : null),
      operators: (attacked) =>
        operatorKernelRules({
          rules: options.filterRules(),
          networks: this.#config.networks,
          attacked,
          wallMs: wallMs(),
          room: OPERATOR_ENTRIES_MAX,
        }),
      isHeld: () => this.#sets.isHeld,
      room: () => Math.max(0, this.#dataplane.maxDynamicRules - pairs()),
      after,
      monotonicMs,
      onFault: (cause) => observer.fault("rules", cause),
      onLeftOut: (rules) => observer.leftOut(rules),
      onDestinationsLeftOut: (destinations) => observer.filterRulesLeftOut(destinations),
    });
  }

  /** Call this after bans and source blocks were restored, and before packets are captured. */
  start(): void {
    if (this.#isWanted) this.#open();
    else this.#removeAbandoned();
    this.#cancel = this.#options.every(WATCH_MS, () => this.#watch());
  }

  /** Call this after bans and source blocks took over the configuration. */
  reconfigure(next: DataPlaneSections): void {
    this.#config = next;
    this.#places = null;
    this.#dataplane = next.dataplane ?? this.#dataplane;
    if (!this.#isWanted) this.#close("detach");
    else if (this.#filter === null) this.#open();
    else {
      this.#putLists();
      this.#sets.put(this.#filter);
      this.#rules.changed(null);
    }
  }

  /** Call this after inline sources were closed. */
  stop(): void {
    this.#cancel();
    this.#close(this.#dataplane.onExit);
  }

  /** The operator's rules are others. */
  rulesChanged(): void {
    this.#rules.changed(null);
  }

  banChanged(change: BanChange): void {
    this.#rules.changed(change);
  }

  /** Call this after bans took over the change. */
  protectionChanged(): void {
    this.#places = null;
    this.#rules.changed(null);
  }

  isUp(): boolean {
    return this.#filter !== null;
  }

  putPairs(pairs: readonly KernelPair[]): void {
    this.#inForce().putPairs(pairs);
  }

  removePairs(pairs: readonly Pair[]): void {
    const filter = this.#inForce();
    this.#pairCounts.keepLast(filter, pairs);
    filter.removePairs(pairs);
  }

  readPairs(): readonly Pair[] {
    return this.#inForce().readPairs();
  }

  /** Whether the kernel has all rules of the ban. */
  isInForce(ban: Ban): boolean {
    return this.#rules.isInForce(ban);
  }

  /** null: unknown. */
  droppedBy(banId: string): Dropped | null {
    return this.#rules.droppedBy(banId);
  }

  /**
   * Traffic kept from the victim of an attack with this ban: dropped, or sent back to its source, without what the ban
   * keeps the victim from sending. null: unknown, or it has none.
   */
  droppedOf(ban: Ban | null): DroppedAmount | null {
    const dropped = ban === null || countsOnly(ban) ? null : this.droppedBy(ban.id);
    if (dropped === null) return null;
    const { outgoing, challenged, challengedBytes = 0, validated = 0 } = dropped;
    const [packets, bytes] = [dropped.packets - (outgoing?.packets ?? 0), dropped.bytes - (outgoing?.bytes ?? 0)];
    if (challenged === undefined) return { packets, bits: 8 * bytes };
    return { packets: packets + challenged, bits: 8 * (bytes + challengedBytes), challenged, validated };
  }

  /** By the name of the operator's rule; null: unknown. */
  operatorCounts(maxAgeMs?: number): ReadonlyMap<string, RuleCounts> | null {
    return this.#rules.operatorCounts(maxAgeMs);
  }

  /** By the name of the pair, of these alone: as they are now, or were when they were removed last. */
  lastDropped(pairs: readonly Pair[]): ReadonlyMap<string, Dropped> {
    return this.#filter === null ? new Map() : this.#pairCounts.last(this.#filter, pairs);
  }

  /** By the name of the pair, of all; empty if there are very many. */
  pairsDropped(): ReadonlyMap<string, Dropped> {
    return this.#filter === null ? new Map() : this.#pairCounts.all(this.#filter, this.#options.pairs());
  }

  /** For inline sources; null: they count without a filter. */
  get filter(): KernelFilter["native"] | null {
    return this.#filter?.native ?? null;
  }

  view(): DataPlaneView {
    const { leftOut: rulesLeftOut, destinationsLeftOut: filterRulesLeftOut } = this.#rules;
    const leftOut = { rulesLeftOut, filterRulesLeftOut };
    if (this.#filter !== null) return { state: "up", filter: this.#filter.status(), error: null, ...leftOut };
    const idle = { filter: null, ...leftOut };
    if (this.#isWanted) return { state: "failed", error: this.#error, ...idle };
    return { state: this.#dataplane.enabled ? "dry_run" : "disabled", error: null, ...idle };
  }

  #standingPlaces(): readonly StandingPlace[] {
    this.#places ??= standingPlaces(this.#config, this.#options.chosen());
    return this.#places;
  }

  get #isWanted(): boolean {
    return this.#dataplane.enabled && !this.#config.dryRun;
  }

  #inForce(): KernelFilter {
    if (this.#filter === null) throw new Error(`the data plane is not in force: ${this.#error}`);
    return this.#filter;
  }

  /** Fills the filter before it attaches it: the filter of an earlier process stays in force until then. */
  #open(): void {
    const { kernel, putPairs, closeSources, openSources, monotonicMs, observer } = this.#options;
    let opened: KernelFilter | null = null;
    try {
      opened = kernel.open(optionsOf(this.#dataplane));
      this.#putListsInto(opened);
      // Before the rules that name them.
      this.#sets.putInto(opened);
      this.#filter = opened;
      this.#rules.begin(opened);
      this.outcomes.use(opened);
      putPairs();
      this.#notBeforeMs = monotonicMs() + ATTACH_RETRY_MS;
      closeSources(this.#dataplane.interfaces);
      opened.attach();
      this.#notBeforeMs = 0;
      observer.up(opened.status());
      this.#watchInterfaces(opened);
    } catch (cause) {
      this.#error = messageOf(cause);
      observer.fault("open", cause);
      this.#rules.end(false);
      this.outcomes.use(null);
      this.#filter = null;
      this.#withoutThrowing(() => opened?.close("keep"));
    }
    openSources();
  }

  #close(end: "keep" | "detach"): void {
    const filter = this.#filter;
    if (filter === null) return;
    const { closeSources, openSources, observer } = this.#options;
    closeSources(this.#dataplane.interfaces);
    this.#rules.end(end === "keep");
    this.outcomes.use(null);
    this.#filter = null;
    this.#interfaceErrors.clear();
    this.#pairCounts.forget();
    this.#withoutThrowing(() => filter.close(end));
    observer.down(end);
    openSources();
  }

  /** A service without a data plane removes the filter that an earlier process left in force. */
  #removeAbandoned(): void {
    const { kernel } = this.#options;
    const { pinPath } = this.#dataplane;
    this.#withoutThrowing(() => {
      if (!existsSync(pinPath)) return;
      const { state, isOwned } = kernel.readPinned(pinPath);
      if (state === "missing" || isOwned) return;
      const left = kernel.open(optionsOf(this.#dataplane));
      left.attach();
      left.close("detach");
      this.#options.observer.down("detach");
    });
  }

  #watch(): void {
    if (this.#filter !== null) {
      this.#watchInterfaces(this.#filter);
      this.#sets.put(this.#filter);
    } else if (this.#isWanted && this.#options.monotonicMs() >= this.#notBeforeMs) {
      this.#open();
    }
    if (leftOutInAll(this.#rules.leftOut) > 0) this.#rules.changed(null);
  }

  #watchInterfaces(filter: KernelFilter): void {
    for (const { name, error } of filter.status().interfaces) {
      if ((this.#interfaceErrors.get(name) ?? null) === error) continue;
      if (error === null) this.#interfaceErrors.delete(name);
      else this.#interfaceErrors.set(name, error);
      this.#options.observer.interfaceChanged(name, error);
    }
  }

  /** If the kernel refuses, the old lists stay in force. */
  #putLists(): void {
    const filter = this.#filter;
    if (filter === null) return;
    try {
      this.#putListsInto(filter);
    } catch (cause) {
      this.#options.observer.fault("lists", cause);
    }
  }

  #putListsInto(filter: KernelFilter): void {
    filter.setAllowlist(unique(this.#dataplane.allowlist));
    filter.setWhitelist(unique([...this.#config.protectedWhitelist, ...this.#config.own.prefixes()]));
    filter.setForwardNetworks(unique(this.#config.networks));
  }

  #withoutThrowing(step: () => void): void {
    try {
      step();
    } catch (cause) {
      this.#options.observer.fault("close", cause);
    }
  }
}

/** Whether the ban's rules only count. */
function countsOnly({ measure }: Ban): boolean {
  return measure.kind === "scrub" && measure.filter.countsOnly;
}

/** Each kind may use the whole room: the callers share it. */
function optionsOf({ maxDynamicRules, maxSources, ...dataplane }: DataplaneConfig): FilterOptions {
  const { pinPath, interfaces, xdpMode } = dataplane;
  const bounds = { maxPairs: maxDynamicRules, maxRules: maxDynamicRules, maxPrefixes: PREFIXES_MAX, maxSources };
  return { pinPath, interfaces, xdpMode, ...bounds, forward: forwardPlan(dataplane) };
}

function unique(prefixes: readonly Prefix[]): Prefix[] {
  return [...new Map(prefixes.map((prefix) => [prefix.text, prefix])).values()];
}
