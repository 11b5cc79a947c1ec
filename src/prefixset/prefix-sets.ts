/**
 * Owns the named sets: reads their files, looks whether they changed, keeps the last good prefixes of each, also on disk,
 * and makes of all together what the kernel looks up. A set without any good prefixes is not in force. Does not know how
 * sets are put in force.
 */
import type { NamedPrefixes, NamedSets } from "../dataplane/native.d.ts";
import { PREFIX_SETS_MAX } from "../limits.ts";
import { NAMED_PREFIXES_MAX } from "../native/constants.ts";
import type { PrefixColumns } from "../net/prefix-columns.ts";
import { messageOf } from "../system/error-message.ts";
import type { KeepSets } from "./kept-sets.ts";
import type { PrefixSetConfig } from "./prefix-set-config.ts";
import type { ReadAnswer } from "./read-answers.ts";
import { assignBits, type SetNames } from "./set-bits.ts";
import { PrefixSetError, type SetContent, stampOf } from "./set-content.ts";
import type { ReadSets } from "./set-reader.ts";
import { changeFault } from "./set-size.ts";
import { usersFault } from "./set-users.ts";

/** How often the files of sets are looked at, ms. */
const PREFIX_SETS_WATCH_MS = 10_000;

interface PrefixSetsObserver {
  /** The file of a set cannot be used: its last good prefixes stay, if there are any. At each attempt; `isNew`: the error was another one. */
  failed(name: string, error: string, isNew: boolean): void;
  /** Read again, after a change or an error. */
  updated(name: string, prefixes: number): void;
  /** Called if the sets in use, or the fault of a newer file, may have changed. */
  changed(): void;
  /** The last good prefixes cannot be written to the disk, or those of removed sets not be removed. */
  notKept(cause: unknown): void;
  /** The kernel refused the sets: those before stay in force; tried again. */
  refused(cause: unknown): void;
}

interface PrefixSetsOptions {
  readonly read: ReadSets;
  readonly kept: KeepSets;
  /** Users of the last minute, 16 bytes each, IPv4 in its mapped form; empty: unknown. */
  readonly users: () => Uint8Array;
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

/** The wanted sets: `isKernel` false if nothing is dropped on this machine, and nothing is made for the kernel. */
export interface WantedSets {
  readonly sets: readonly PrefixSetConfig[];
  readonly isKernel: boolean;
  /** Names of sets whose members are dropped: before they have any prefixes they drop no packet. */
  readonly dropping: ReadonlySet<string>;
}

export interface PrefixSetView {
  readonly config: PrefixSetConfig;
  readonly prefixes: number;
  /** Hash of the file that the prefixes are from; null: there are none, and the set is not in force. */
  readonly hash: string | null;
  /** Wall time; null: a built-in set, or none. */
  readonly fileChangedMs: number | null;
  /** When the prefixes were read, or when a start found them on disk. */
  readonly readMs: number | null;
  /** Why the newest file is not in use; null: it is. */
  readonly error: string | null;
}

interface OwnedSet {
  readonly config: PrefixSetConfig;
  /** The last good one; null: there is none. */
  readonly content: SetContent | null;
  readonly readMs: number | null;
  readonly error: string | null;
  /** Stamp of the file when it was last tried, and when that was (monotonic). */
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

const NO_PREFIXES: PrefixColumns = { addresses: new Uint8Array(0), lengths: new Uint8Array(0) };
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
  /** The hash that is on disk, or being written, by the name of the set. */
  readonly #onDisk = new Map<string, string>();
  #keptNames: string | null = null;

  private constructor(options: PrefixSetsOptions) {
    const names = Array.from({ length: PREFIX_SETS_MAX }, (_, bit) => options.pinned[bit] ?? "");
    const wanted = { sets: [], isKernel: false, dropping: new Set<string>() };
    this.#options = options;
    this.#current = { wanted, sets: [], names, built: null, buildError: null };
  }

  /** Reads all sets, and where a file cannot be used what an earlier process kept of it. Sets that the kernel refuses are tried again later. */
  static async open(wanted: WantedSets, options: PrefixSetsOptions): Promise<PrefixSets> {
    const made = new PrefixSets(options);
    const sets = await made.#read(wanted, made.#fromDisk(wanted.sets, []));
    made.#current = await made.#generation(wanted, sets);
    made.#keep();
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
   * Reads what a new configuration wants; nothing changes until apply(). Rejects with a PrefixSetError if a set that is
   * new cannot be read and nothing good of it is kept, or the kernel refuses the sets.
   */
  prepare(wanted: WantedSets): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#prepared !== null && this.#prepared.built !== this.#current.built) this.#prepared.built?.close();
      this.#prepared = null;
      const { sets } = this.#current;
      const read = await this.#read(wanted, this.#fromDisk(wanted.sets, sets));
      const bad = read.find(
        ({ config, content }) => content === null && !sets.some((set) => isSame(set.config, config)),
      );
      if (bad !== undefined) throw new PrefixSetError(`prefix_sets: ${bad.config.name}: ${bad.error}`);
      const next = await this.#generation(wanted, read);
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
    const read = await this.#read(wanted, sets);
    const isChanged = read.some(({ content }, i) => content?.columns !== sets[i]?.content?.columns);
    const next = isChanged || buildError !== null ? await this.#generation(wanted, read) : { ...before, sets: read };
    // A reload came in between: the next look has its sets.
    if (this.#current !== before) return next.built === before.built ? undefined : next.built?.close();
    if (next.buildError !== null && isChanged) this.#options.observer.refused(next.buildError);
    const isKept = next.buildError !== null && before.built !== null;
    this.#replace(isKept ? { ...next, built: before.built } : next);
  }

  /** The bit of a set in force; null: there is no such set, or it has no good prefixes. */
  bitOf(name: string): number | null {
    if (this.#current.sets.some(({ config, content }) => config.name === name && content === null)) return null;
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
      prefixes: content?.columns.lengths.length ?? 0,
      hash: content?.hash ?? null,
      fileChangedMs: content?.file?.changedMs ?? null,
      readMs,
      error,
    }));
  }

  #isDue({ config: { source }, error, triedStamp, triedMs }: OwnedSet, stamps: Stamps): boolean {
    if (source.kind === "builtin") return false;
    if (stamps.get(source.path) !== triedStamp) return true;
    return error !== null && this.#options.monotonicMs() - triedMs >= RETRY_MS;
  }

  /** Those before, and of the others what is kept on disk. */
  #fromDisk(wanted: readonly PrefixSetConfig[], before: readonly OwnedSet[]): readonly OwnedSet[] {
    const { kept, wallMs } = this.#options;
    const others = wanted.filter((config) => !before.some((set) => isSame(set.config, config)));
    return [
      ...before,
      ...others.flatMap((config) => {
        const content = kept.read(config);
        if (content === null) return [];
        this.#onDisk.set(config.name, keptKey(config, content));
        return [{ config, content, readMs: wallMs(), error: null, triedStamp: null, triedMs: 0 }];
      }),
    ];
  }

  /** Sets that are as they were before and are not due are not read. */
  async #read({ sets: wanted, dropping }: WantedSets, before: readonly OwnedSet[]): Promise<readonly OwnedSet[]> {
    const known = wanted.map((config) => before.find((set) => isSame(set.config, config)) ?? null);
    const stamps = await this.#stamps(wanted);
    const isDue = (config: PrefixSetConfig, old: OwnedSet | null | undefined) =>
      old == null || this.#isDue(old, stamps) || !hasSameChecks(old.config, config);
    const due = wanted.filter((config, i) => isDue(config, known[i]));
    const orders = due.map((config) => {
      const inUse = known[wanted.indexOf(config)]?.content?.columns ?? null;
      return { config, before: inUse ?? (dropping.has(config.name) ? NO_PREFIXES : null) };
    });
    const { read, users } = this.#options;
    const answers = due.length === 0 ? [] : await read({ sets: orders, users: users() });
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

  #taken({ config, old, answer, others, stamps }: Taking): OwnedSet {
    const { wallMs, monotonicMs, observer } = this.#options;
    const { source } = config;
    const triedStamp = source.kind === "builtin" ? null : (stamps.get(source.path) ?? null);
    const tried = { config, triedStamp, triedMs: monotonicMs() };
    const taken = orRefused(orTooMany(answer, others), config, old?.content ?? null);
    if ("error" in taken) {
      const { error } = taken;
      observer.failed(config.name, error, error !== old?.error);
      return { content: old?.content ?? null, readMs: old?.readMs ?? null, ...tried, error };
    }
    const { moved: _, ...fresh } = taken;
    const inUse = old?.content ?? null;
    const content = inUse?.hash === fresh.hash ? { ...inUse, file: fresh.file } : fresh;
    if (old !== null && old.triedStamp !== null) observer.updated(config.name, content.columns.lengths.length);
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
    const named = sets.flatMap(({ config: { name }, content }) =>
      content === null ? [] : [{ name, bit: names.indexOf(name), ...content.columns }],
    );
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
    return sets.every(({ config: { name }, content }) =>
      before.some((set) => set.config.name === name && set.content?.columns === content?.columns),
    );
  }

  #replace(next: Generation): void {
    const { built } = this.#current;
    this.#current = next;
    if (built !== next.built) built?.close();
    this.#keep();
    this.#options.observer.changed();
  }

  /** Another generation is in use: writes what is good and not on disk yet, and removes what is of no set any more. */
  #keep(): void {
    const { kept, observer } = this.#options;
    const { sets } = this.#current;
    const configs = sets.map(({ config }) => config);
    const names = configs.map(({ name }) => name).join();
    if (names !== this.#keptNames) {
      this.#keptNames = names;
      kept.retain(configs).catch((cause: unknown) => observer.notKept(cause));
    }
    for (const { config, content } of sets) {
      const { name, source } = config;
      if (content === null || source.kind === "builtin") continue;
      const key = keptKey(config, content);
      if (this.#onDisk.get(name) === key) continue;
      this.#onDisk.set(name, key);
      kept.keep(config, content).catch((cause: unknown) => {
        // Tried again with the next change, or the next look at a faulty file.
        this.#onDisk.delete(name);
        observer.notKept(cause);
      });
    }
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(step);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** The answers of stampOf(), by path. */
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
  const count = answer.size.prefixes;
  if (count + others <= NAMED_PREFIXES_MAX) return answer;
  return {
    error: `${count} prefixes, with ${others} of other sets, are more than ${NAMED_PREFIXES_MAX}: take smaller lists`,
  };
}

/** A newer file that changed the set too much has no effect until the operator accepts it. */
function orRefused(answer: ReadAnswer, { checks }: PrefixSetConfig, inUse: SetContent | null): ReadAnswer {
  if ("error" in answer || answer.hash === inUse?.hash || answer.hash === checks.accepted) return answer;
  const { size, moved, hash } = answer;
  const changed = inUse === null ? null : changeFault(inUse.size, size, checks.changePercentMax);
  const fault = changed ?? (moved === null ? null : usersFault(moved, checks.usersPercentMax));
  return fault === null ? answer : { error: `${fault}: correct it, or set accept: ${hash} of the set if it is meant` };
}

function prefixesOf(set: OwnedSet | null): number {
  return set?.content?.columns.lengths.length ?? 0;
}

/** Whether what is known of the one is of the other too. */
function isSame(a: PrefixSetConfig, b: PrefixSetConfig): boolean {
  return a.name === b.name && JSON.stringify(a.source) === JSON.stringify(b.source);
}

function keptKey({ source }: PrefixSetConfig, { hash }: SetContent): string {
  return `${hash} ${JSON.stringify(source)}`;
}

function hasSameChecks(a: PrefixSetConfig, b: PrefixSetConfig): boolean {
  return JSON.stringify(a.checks) === JSON.stringify(b.checks);
}
