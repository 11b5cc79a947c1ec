/**
 * Owns the named sets: reads their files, looks whether they changed, keeps the last good prefixes of each, and makes of
 * all together what the kernel looks up. Does not know how that is put in force.
 */
import type { PrefixSetConfig } from "../config/sections/prefix-sets.ts";
import type { NamedPrefixes, NamedSets } from "../dataplane/native.d.ts";
import { PREFIX_SETS_MAX, PREFIX_SETS_WATCH_MS, SET_PREFIXES_MAX } from "../limits.ts";
import { messageOf } from "../system/error-message.ts";
import type { ReadAnswer } from "./read-thread.ts";
import { assignBits, type SetNames } from "./set-bits.ts";
import { PrefixSetError, type SetContent, stampOf } from "./set-content.ts";
import type { ReadSets } from "./set-reader.ts";

export interface PrefixSetsObserver {
  /** A set cannot be read again: it keeps its last good prefixes. At each attempt; `isNew`: the error was another one. */
  failed(name: string, error: string, isNew: boolean): void;
  /** Read again, after a change or an error. */
  updated(name: string, prefixes: number): void;
  /** The kernel refused the sets: those before stay in force; tried again. */
  refused(cause: unknown): void;
}

export interface PrefixSetsOptions {
  readonly read: ReadSets;
  /** Makes what the kernel looks up. */
  readonly build: (sets: readonly NamedPrefixes[]) => Promise<NamedSets>;
  /** The names that an earlier process left in force, by bit; empty: none. */
  readonly pinned: SetNames;
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
  readonly every: (ms: number, fn: () => void) => () => void;
  readonly stampOf?: (path: string) => Promise<string>;
  readonly observer: PrefixSetsObserver;
}

/** What is wanted: `isKernel` false if nothing is dropped on this machine, and nothing is made for the kernel. */
export interface WantedSets {
  readonly sets: readonly PrefixSetConfig[];
  readonly isKernel: boolean;
}

export interface PrefixSetView {
  readonly config: PrefixSetConfig;
  readonly prefixes: number;
  readonly hash: string;
  /** Wall time; null: a built-in set. */
  readonly fileChangedMs: number | null;
  readonly readMs: number;
  /** Why the newest file is not in use; null: it is. */
  readonly error: string | null;
}

interface OwnedSet {
  readonly config: PrefixSetConfig;
  /** The last good one. */
  readonly content: SetContent;
  readonly readMs: number;
  readonly error: string | null;
  /** Of the file when it was last tried, and when that was (monotonic). */
  readonly triedStamp: string | null;
  readonly triedMs: number;
}

/** All of one generation, which is replaced as a whole. */
interface Generation {
  readonly wanted: WantedSets;
  readonly sets: readonly OwnedSet[];
  readonly names: SetNames;
  /** null: nothing is made for the kernel, which then needs none. */
  readonly built: NamedSets | null;
  /** Why nothing was made; null: nothing is missing. */
  readonly buildError: string | null;
}

/** How often a set that failed is tried again while its file is the same. */
const RETRY_MS = 60_000;

export class PrefixSets {
  readonly #options: PrefixSetsOptions;
  #current: Generation;
  #prepared: Generation | null = null;
  /** One reading at a time. */
  #last: Promise<unknown> = Promise.resolve();
  #look: Promise<void> | null = null;
  #cancel: () => void = () => {};

  private constructor(options: PrefixSetsOptions) {
    const names = Array.from({ length: PREFIX_SETS_MAX }, (_, bit) => options.pinned[bit] ?? "");
    const wanted = { sets: [], isKernel: false };
    this.#options = options;
    this.#current = { wanted, sets: [], names, built: null, buildError: null };
  }

  /** Reads all sets. Rejects with a PrefixSetError. What the kernel refuses is tried again later. */
  static async open(wanted: WantedSets, options: PrefixSetsOptions): Promise<PrefixSets> {
    const made = new PrefixSets(options);
    const sets = await made.#read(wanted.sets, []);
    made.#current = await made.#generation(wanted, sets);
    if (made.#current.buildError !== null) options.observer.refused(made.#current.buildError);
    return made;
  }

  start(): void {
    this.#cancel = this.#options.every(PREFIX_SETS_WATCH_MS, () => void this.watch());
  }

  stop(): void {
    this.#cancel();
    this.#current.built?.close();
  }

  /**
   * Reads what a new configuration wants; nothing changes until apply(). Rejects with a PrefixSetError if a set that has
   * no good prefixes cannot be read, or the kernel refuses the sets.
   */
  prepare(wanted: WantedSets): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#prepared !== null && this.#prepared.built !== this.#current.built) this.#prepared.built?.close();
      this.#prepared = null;
      const next = await this.#generation(wanted, await this.#read(wanted.sets, this.#current.sets));
      if (next.buildError !== null) throw new PrefixSetError(next.buildError);
      this.#prepared = next;
    });
  }

  /** After prepare(), and before rules change. */
  apply(): void {
    if (this.#prepared !== null) this.#replace(this.#prepared);
    this.#prepared = null;
  }

  /** Reads files that changed. Never rejects. While a look is under way, another one is not begun. */
  watch(): Promise<void> {
    this.#look ??= this.#inTurn(() => this.#watch()).finally(() => {
      this.#look = null;
    });
    return this.#look;
  }

  async #watch(): Promise<void> {
    const before = this.#current;
    const { wanted, sets, buildError } = before;
    const stamps = await this.#stamps(wanted.sets);
    if (!sets.some((set) => this.#isDue(set, stamps)) && buildError === null) return;
    const read = await this.#read(wanted.sets, sets);
    const isChanged = read.some(({ content }, i) => content.columns !== sets[i]?.content.columns);
    const next = isChanged || buildError !== null ? await this.#generation(wanted, read) : { ...before, sets: read };
    // A reload came in between: the next look has its sets.
    if (this.#current !== before) return next.built === before.built ? undefined : next.built?.close();
    if (next.buildError !== null && isChanged) this.#options.observer.refused(next.buildError);
    const isKept = next.buildError !== null && before.built !== null;
    this.#replace(isKept ? { ...next, built: before.built } : next);
  }

  /** The bit of a set in force; null: there is no such set. */
  bitOf(name: string): number | null {
    const bit = name === "" ? -1 : this.#current.names.indexOf(name);
    return bit < 0 ? null : bit;
  }

  /** For the kernel, another object after each change; null: no set is configured, and none is in force. Throws when there should be some. */
  forKernel(): NamedSets | null {
    const { built, buildError } = this.#current;
    if (built === null && buildError !== null) throw new Error(buildError);
    return built;
  }

  /** In the order of the configuration. */
  views(): readonly PrefixSetView[] {
    return this.#current.sets.map(({ config, content, readMs, error }) => ({
      config,
      prefixes: content.columns.lengths.length,
      hash: content.hash,
      fileChangedMs: content.file?.changedMs ?? null,
      readMs,
      error,
    }));
  }

  #isDue({ config: { source }, error, triedStamp, triedMs }: OwnedSet, stamps: Stamps): boolean {
    if (source.kind === "builtin") return false;
    if (stamps.get(source.path) !== triedStamp) return true;
    return error !== null && this.#options.monotonicMs() - triedMs >= RETRY_MS;
  }

  /** Sets that are as they were before and are not due are not read. */
  async #read(wanted: readonly PrefixSetConfig[], before: readonly OwnedSet[]): Promise<readonly OwnedSet[]> {
    const known = wanted.map((config) => before.find((set) => isSame(set.config, config)) ?? null);
    const stamps = await this.#stamps(wanted);
    const due = wanted.filter((_, i) => known[i] == null || this.#isDue(known[i], stamps));
    const answers = due.length === 0 ? [] : await this.#options.read(due);
    let total = known.reduce((sum, set) => sum + prefixesOf(set), 0);
    return wanted.map((config, i) => {
      const at = due.indexOf(config);
      const old = known[i] ?? null;
      const answer = at < 0 ? undefined : answers[at];
      const others = total - prefixesOf(old);
      const set = answer === undefined ? old : this.#taken({ config, old, answer, others, stamps });
      if (set === null) throw new Error(`bug: set ${config.name} was not read`);
      total = others + prefixesOf(set);
      return set;
    });
  }

  /** By path, before anything is read. */
  async #stamps(wanted: readonly PrefixSetConfig[]): Promise<Stamps> {
    const paths = wanted.flatMap(({ source }) => (source.kind === "builtin" ? [] : [source.path]));
    const { stampOf: look = stampOf } = this.#options;
    return new Map(await Promise.all(paths.map(async (path) => [path, await look(path)] as const)));
  }

  /** Throws a PrefixSetError if it has no good prefixes. */
  #taken({ config, old, answer, others, stamps }: Taking): OwnedSet {
    const { wallMs, monotonicMs, observer } = this.#options;
    const { source } = config;
    const triedStamp = source.kind === "builtin" ? null : (stamps.get(source.path) ?? null);
    const tried = { config, triedStamp, triedMs: monotonicMs() };
    const taken = orTooMany(answer, others);
    if ("error" in taken) {
      const { error } = taken;
      if (old === null) throw new PrefixSetError(`prefix_sets: ${config.name}: ${error}`);
      observer.failed(config.name, error, error !== old.error);
      return { ...old, ...tried, error };
    }
    const isAsBefore = old !== null && old.content.hash === taken.hash;
    const content = isAsBefore ? { ...old.content, file: taken.file } : taken;
    if (old !== null) observer.updated(config.name, content.columns.lengths.length);
    return { ...tried, content, readMs: wallMs(), error: null, triedStamp: taken.file?.stamp ?? null };
  }

  async #generation(wanted: WantedSets, sets: readonly OwnedSet[]): Promise<Generation> {
    const { names: before } = this.#current;
    const names = assignBits(
      before,
      sets.map(({ config }) => config.name),
    );
    const isNeeded = wanted.isKernel && (sets.length > 0 || before.some((name) => name !== ""));
    const made = { wanted, sets, names: wanted.isKernel ? names : before };
    if (!isNeeded) return { ...made, built: null, buildError: null };
    // Most reloads are about other things.
    if (this.#isBuilt(sets)) return { ...made, built: this.#current.built, buildError: null };
    const named = sets.map(({ config: { name }, content: { columns } }) => ({
      name,
      bit: names.indexOf(name),
      ...columns,
    }));
    try {
      return { ...made, built: await this.#options.build(named), buildError: null };
    } catch (cause) {
      return { ...made, built: null, buildError: messageOf(cause) };
    }
  }

  /** Whether what is made for the kernel is of the same names and prefixes. */
  #isBuilt(sets: readonly OwnedSet[]): boolean {
    const { built, buildError, sets: before } = this.#current;
    if (built === null || buildError !== null || sets.length !== before.length) return false;
    return sets.every(({ config: { name }, content: { columns } }) =>
      before.some((set) => set.config.name === name && set.content.columns === columns),
    );
  }

  #replace(next: Generation): void {
    const { built } = this.#current;
    this.#current = next;
    if (built !== next.built) built?.close();
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(step);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** What stampOf() says, by path. */
type Stamps = ReadonlyMap<string, string>;

interface Taking {
  readonly config: PrefixSetConfig;
  readonly old: OwnedSet | null;
  readonly answer: ReadAnswer;
  /** Prefixes of all other sets. */
  readonly others: number;
  readonly stamps: Stamps;
}

function orTooMany(answer: ReadAnswer, others: number): ReadAnswer {
  if ("error" in answer) return answer;
  const count = answer.columns.lengths.length;
  if (count + others <= SET_PREFIXES_MAX) return answer;
  return {
    error: `${count} prefixes, with ${others} of other sets, are more than ${SET_PREFIXES_MAX}: take smaller lists`,
  };
}

function prefixesOf(set: OwnedSet | null): number {
  return set?.content.columns.lengths.length ?? 0;
}

function isSame(a: PrefixSetConfig, b: PrefixSetConfig): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
