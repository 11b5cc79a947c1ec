/**
 * The filter in the kernel as the service runs it: opened, filled with all that is in force, then attached; tried again
 * when it cannot be had, and taken out of the kernel in dry run, in which it is not even opened. Knows nothing of how bans
 * and source blocks come about.
 */
import { existsSync } from "node:fs";
import type { Config } from "../config/config.ts";
import type { DataplaneConfig } from "../config/sections/dataplane.ts";
import { PAIRS_COUNTED_MAX, PREFIXES_MAX } from "../limits.ts";
import type { Ban, BanChange } from "../mitigation/ban.ts";
import type { Prefix } from "../net/prefix.ts";
import type { KernelPair, PairInstaller } from "../sourceblock/pair-installer.ts";
import { type Pair, pairName } from "../sourceblock/source-block.ts";
import { messageOf } from "../system/error-message.ts";
import { DataPlaneRules, type Dropped } from "./data-plane-rules.ts";
import type { FilterOptions, FilterStatus, KernelFilter, PinnedFilter } from "./kernel-filter.ts";

/** The kernel's side, as kernel-filter.ts has it. */
export interface FilterOpener {
  open(options: FilterOptions): KernelFilter;
  readPinned(pinPath: string): PinnedFilter;
}

export const DATA_PLANE_OPERATIONS = ["open", "lists", "rules", "close"] as const;
export type DataPlaneOperation = (typeof DATA_PLANE_OPERATIONS)[number];

export interface DataPlaneObserver {
  /** In force from now on. */
  up(status: FilterStatus): void;
  /** Out of the kernel, or left in force there without this process. */
  down(end: "keep" | "detach"): void;
  /** What it could not do is tried again. */
  fault(operation: DataPlaneOperation, cause: unknown): void;
  /** Of an interface, when it is another than a second before; null: all is well again. */
  interfaceChanged(name: string, error: string | null): void;
  leftOut(rules: number): void;
}

export interface DataPlaneOptions {
  readonly kernel: FilterOpener;
  readonly config: Config;
  readonly dataplane: DataplaneConfig;
  readonly bans: () => Iterable<Ban>;
  /** How many pairs source blocks hold. */
  readonly pairs: () => number;
  /** Has all live pairs put anew, and those that the kernel has beside them removed. */
  readonly putPairs: () => void;
  /** Sources that count on the filter's interfaces: they and the filter are one program on an interface. */
  readonly closeSources: (interfaces: readonly string[]) => void;
  readonly openSources: () => void;
  readonly every: (ms: number, fn: () => void) => () => void;
  readonly after: (ms: number, fn: () => void) => () => void;
  readonly monotonicMs: () => number;
  readonly observer: DataPlaneObserver;
}

/** What there is to tell of it. `failed` is tried again, mostly once a second. */
export type DataPlaneView = { readonly rulesLeftOut: number } & (
  | { readonly state: "disabled" | "dry_run"; readonly filter: null; readonly error: null }
  | { readonly state: "failed"; readonly filter: null; readonly error: string }
  | { readonly state: "up"; readonly filter: FilterStatus; readonly error: null }
);

const WATCH_MS = 1000;
/** Until the next try where the last one took interfaces from sources that count on them: they are not to come and go. */
const ATTACH_RETRY_MS = 30_000;
/** What pairs dropped is read from the kernel no more often. */
const READ_MS = 1000;

export class DataPlane implements PairInstaller {
  readonly #options: DataPlaneOptions;
  readonly #rules: DataPlaneRules;
  #config: Config;
  /** As it was opened; `onExit` and `allowlist` are taken from the newest configuration. */
  #dataplane: DataplaneConfig;
  #filter: KernelFilter | null = null;
  /** Why it is not open. */
  #error = "not opened yet";
  /** It is not opened before. Monotonic clock, ms. */
  #notBeforeMs = 0;
  readonly #interfaceErrors = new Map<string, string>();
  #pairReadings: { readonly untilMs: number; readonly dropped: ReadonlyMap<string, Dropped> } | null = null;
  #cancel: () => void = () => {};

  constructor(options: DataPlaneOptions) {
    const { config, dataplane, pairs, bans, after, monotonicMs, observer } = options;
    this.#options = options;
    this.#config = config;
    this.#dataplane = dataplane;
    this.#rules = new DataPlaneRules({
      bans,
      room: () => Math.max(0, this.#dataplane.maxDynamicRules - pairs()),
      after,
      monotonicMs,
      onFault: (cause) => observer.fault("rules", cause),
      onLeftOut: (rules) => observer.leftOut(rules),
    });
  }

  /** To be called once bans and source blocks are restored, and before packets are captured. */
  start(): void {
    if (this.#isWanted) this.#open();
    else this.#removeLeftBehind();
    this.#cancel = this.#options.every(WATCH_MS, () => this.#watch());
  }

  /** To be called once bans and source blocks have taken the configuration over. */
  reconfigure(next: Config): void {
    this.#config = next;
    this.#dataplane = next.dataplane ?? this.#dataplane;
    if (!this.#isWanted) this.#close("detach");
    else if (this.#filter === null) this.#open();
    else this.#putLists();
  }

  /** After inline sources are closed. */
  stop(): void {
    this.#cancel();
    this.#close(this.#dataplane.onExit);
  }

  banChanged(change: BanChange): void {
    this.#rules.changed(change);
  }

  isUp(): boolean {
    return this.#filter !== null;
  }

  putPairs(pairs: readonly KernelPair[]): void {
    this.#inForce().putPairs(pairs);
  }

  removePairs(pairs: readonly Pair[]): void {
    this.#inForce().removePairs(pairs);
  }

  readPairs(): readonly Pair[] {
    return this.#inForce().readPairs();
  }

  /** null: nothing is known. */
  droppedBy(banId: string): Dropped | null {
    return this.#rules.droppedBy(banId);
  }

  /** By the name of the pair; nothing where there are very many. At most a second old. */
  pairsDropped(): ReadonlyMap<string, Dropped> {
    const { monotonicMs, pairs } = this.#options;
    if (this.#filter === null || pairs() > PAIRS_COUNTED_MAX) return new Map();
    const now = monotonicMs();
    if (this.#pairReadings === null || now >= this.#pairReadings.untilMs) {
      const dropped = new Map(this.#filter.readPairs().map((row) => [pairName(row), row]));
      this.#pairReadings = { untilMs: now + READ_MS, dropped };
    }
    return this.#pairReadings.dropped;
  }

  /** For inline sources; null: they count without it. */
  get filter(): KernelFilter["native"] | null {
    return this.#filter?.native ?? null;
  }

  view(): DataPlaneView {
    const { leftOut: rulesLeftOut } = this.#rules;
    if (this.#filter !== null) return { state: "up", filter: this.#filter.status(), error: null, rulesLeftOut };
    const idle = { filter: null, rulesLeftOut };
    if (this.#isWanted) return { state: "failed", error: this.#error, ...idle };
    return { state: this.#dataplane.enabled ? "dry_run" : "disabled", error: null, ...idle };
  }

  get #isWanted(): boolean {
    return this.#dataplane.enabled && !this.#config.dryRun;
  }

  #inForce(): KernelFilter {
    if (this.#filter === null) throw new Error(`the data plane is not in force: ${this.#error}`);
    return this.#filter;
  }

  /** Filled before it is attached: what an older process left goes on until then, and what is wanted takes its place. */
  #open(): void {
    const { kernel, putPairs, closeSources, openSources, monotonicMs, observer } = this.#options;
    let opened: KernelFilter | null = null;
    try {
      opened = kernel.open(optionsOf(this.#dataplane));
      this.#putListsInto(opened);
      this.#filter = opened;
      this.#rules.begin(opened);
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
      this.#filter = null;
      this.#quietly(() => opened?.close("keep"));
    }
    openSources();
  }

  #close(end: "keep" | "detach"): void {
    const filter = this.#filter;
    if (filter === null) return;
    const { closeSources, openSources, observer } = this.#options;
    closeSources(this.#dataplane.interfaces);
    this.#rules.end(end === "keep");
    this.#filter = null;
    this.#interfaceErrors.clear();
    this.#pairReadings = null;
    this.#quietly(() => filter.close(end));
    observer.down(end);
    openSources();
  }

  /** A service that drops nothing leaves nothing that drops: what a process before it kept in force goes. */
  #removeLeftBehind(): void {
    const { kernel } = this.#options;
    const { pinPath } = this.#dataplane;
    this.#quietly(() => {
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
    if (this.#filter !== null) this.#watchInterfaces(this.#filter);
    else if (this.#isWanted && this.#options.monotonicMs() >= this.#notBeforeMs) this.#open();
    if (this.#rules.leftOut > 0) this.#rules.changed(null);
  }

  #watchInterfaces(filter: KernelFilter): void {
    for (const { name, error } of filter.status().interfaces) {
      if ((this.#interfaceErrors.get(name) ?? null) === error) continue;
      if (error === null) this.#interfaceErrors.delete(name);
      else this.#interfaceErrors.set(name, error);
      this.#options.observer.interfaceChanged(name, error);
    }
  }

  /** What the kernel refuses leaves the lists before in force. */
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
    filter.setWhitelist(unique(this.#config.protectedWhitelist));
  }

  #quietly(step: () => void): void {
    try {
      step();
    } catch (cause) {
      this.#options.observer.fault("close", cause);
    }
  }
}

/** Each kind may take the whole room: how it is shared is decided by those who ask. */
function optionsOf({ pinPath, interfaces, xdpMode, maxDynamicRules }: DataplaneConfig): FilterOptions {
  const bounds = { maxPairs: maxDynamicRules, maxRules: maxDynamicRules, maxPrefixes: PREFIXES_MAX };
  return { pinPath, interfaces, xdpMode, ...bounds };
}

function unique(prefixes: readonly Prefix[]): Prefix[] {
  return [...new Map(prefixes.map((prefix) => [prefix.text, prefix])).values()];
}
