/**
 * Keeps the kernel's dynamic rules those of the bans in force: the whole set at once, soon after a change, and never so
 * often that the event loop would be busy with it. What the rules dropped is added up for each ban.
 */
import { KERNEL_RULES_INTERVAL_MS } from "../limits.ts";
import type { Ban, BanChange } from "../mitigation/ban.ts";
import { type KernelRule, type KernelRules, kernelRules, kernelRulesOf } from "../mitigation/rules/kernel-rules.ts";
import type { KernelFilter } from "./kernel-filter.ts";

export interface Dropped {
  readonly packets: number;
  /** Of frames. */
  readonly bytes: number;
}

export interface DataPlaneRulesOptions {
  readonly bans: () => Iterable<Ban>;
  /** How many rules there is room for beside the pairs of source blocks. */
  readonly room: () => number;
  readonly after: (ms: number, fn: () => void) => () => void;
  readonly monotonicMs: () => number;
  readonly onFault: (cause: unknown) => void;
  /** Once for each time that it changes. */
  readonly onLeftOut: (rules: number) => void;
}

/** After what the kernel took it is left alone for so many times as long as that took. */
const REST = 10;
const RETRY_MS = 1000;
/** What was dropped is read from the kernel no more often. */
const READ_MS = 1000;
const NOTHING: Dropped = { packets: 0, bytes: 0 };

export class DataPlaneRules {
  readonly #options: DataPlaneRulesOptions;
  #filter: KernelFilter | null = null;
  /** The next time that all is put. Monotonic clock, ms. */
  #due: { readonly atMs: number; readonly cancel: () => void } | null = null;
  #lastMs = 0;
  #tookMs = 0;
  #wanted: KernelRules = { rules: [], leftOut: 0 };
  /** By ban: what rules dropped that the ban has no more. */
  readonly #past = new Map<string, Dropped>();
  #readings: { readonly untilMs: number; readonly byBan: ReadonlyMap<string, Dropped> } | null = null;

  constructor(options: DataPlaneRulesOptions) {
    this.#options = options;
  }

  /** For which there is no room in the kernel. */
  get leftOut(): number {
    return this.#wanted.leftOut;
  }

  /** Puts all rules into a filter that was opened just now, and keeps them there. */
  begin(filter: KernelFilter): void {
    this.#filter = filter;
    this.#put(filter);
  }

  /** The filter is about to be closed. @param isKept what is in force stays so: then it has what is wanted by now. */
  end(isKept: boolean): void {
    if (isKept && this.#due !== null && this.#filter !== null) this.#put(this.#filter);
    this.#due?.cancel();
    this.#due = null;
    this.#filter = null;
    this.#past.clear();
    this.#readings = null;
    this.#wanted = { rules: [], leftOut: 0 };
  }

  /**
   * A ban is another than before, or there is more or less room. All changes until the kernel is told are one. Where only
   * an expiry was pushed on, that may wait, since the kernel has the one before: with very many bans some is always pushed.
   */
  changed(change: BanChange | null): void {
    if (this.#filter === null) return;
    const soonMs = Math.max(KERNEL_RULES_INTERVAL_MS, REST * this.#tookMs);
    const pushedMs = change === null ? 0 : pushedOnBy(change);
    this.#putAt(this.#lastMs + Math.max(soonMs, Math.min(REST * soonMs, pushedMs)));
  }

  /** Since the ban is in force here, as far as is known: adopted rules keep counting. At most a second old. */
  droppedBy(banId: string): Dropped | null {
    const filter = this.#filter;
    if (filter === null) return null;
    const now = this.#options.monotonicMs();
    if (this.#readings === null || now >= this.#readings.untilMs) {
      const byBan = this.#read(filter);
      // With very many rules reading takes its time.
      const tookMs = this.#options.monotonicMs() - now;
      this.#readings = { untilMs: now + Math.max(READ_MS, 2 * REST * tookMs), byBan };
    }
    return this.#readings.byBan.get(banId) ?? null;
  }

  #putAt(atMs: number): void {
    if (this.#due !== null && this.#due.atMs <= atMs) return;
    this.#due?.cancel();
    const cancel = this.#options.after(Math.max(0, atMs - this.#options.monotonicMs()), () => {
      if (this.#filter !== null) this.#put(this.#filter);
    });
    this.#due = { atMs, cancel };
  }

  #put(filter: KernelFilter): void {
    const { bans, room, monotonicMs, onFault, onLeftOut } = this.#options;
    const begun = monotonicMs();
    this.#due?.cancel();
    this.#due = null;
    try {
      const next = kernelRules(bans(), room());
      const going = this.#going(filter, next.rules);
      filter.setRules(next.rules);
      this.#keepPast(going, next.rules);
      if (next.leftOut !== this.#wanted.leftOut) onLeftOut(next.leftOut);
      this.#wanted = next;
    } catch (cause) {
      onFault(cause);
      this.#putAt(monotonicMs() + RETRY_MS);
    }
    this.#lastMs = monotonicMs();
    this.#tookMs = this.#lastMs - begun;
  }

  /** A rule takes its counts with it when it goes: what those of bans that stay have dropped. */
  #going(filter: KernelFilter, next: readonly KernelRule[]): [banId: string, dropped: Dropped][] {
    const staying = new Set(next.map(({ id }) => id));
    const bans = new Set(next.map(({ banId }) => banId));
    const gone = this.#wanted.rules.filter(({ id, banId }) => !staying.has(id) && bans.has(banId));
    if (gone.length === 0) return [];
    const banOf = new Map(gone.map(({ id, banId }) => [id, banId]));
    return filter.readRules().flatMap(({ id, droppedPackets: packets, droppedBytes: bytes }) => {
      const banId = banOf.get(id);
      return banId === undefined ? [] : [[banId, { packets, bytes }]];
    });
  }

  #keepPast(going: readonly [banId: string, dropped: Dropped][], next: readonly KernelRule[]): void {
    const bans = new Set(next.map(({ banId }) => banId));
    for (const banId of this.#past.keys()) if (!bans.has(banId)) this.#past.delete(banId);
    for (const [banId, dropped] of going) add(this.#past, banId, dropped);
  }

  #read(filter: KernelFilter): ReadonlyMap<string, Dropped> {
    const bans = new Map(this.#wanted.rules.map(({ id, banId }) => [id, banId]));
    const sums = new Map([...bans.values()].map((banId) => [banId, this.#past.get(banId) ?? NOTHING]));
    for (const { id, droppedPackets: packets, droppedBytes: bytes } of filter.readRules()) {
      const banId = bans.get(id);
      if (banId !== undefined) add(sums, banId, { packets, bytes });
    }
    return sums;
  }
}

/** By how much its expiry, if that is all; 0: its rules are others. Milliseconds. */
function pushedOnBy({ ban, previous }: BanChange): number {
  if (previous === null) return 0;
  const [after, before] = [kernelRulesOf(ban), kernelRulesOf(previous)];
  const isSame = after.length === before.length && after.every(({ id }, i) => id === before[i]?.id);
  return isSame ? Math.max(0, ban.expiresAt - previous.expiresAt) : 0;
}

function add(sums: Map<string, Dropped>, banId: string, { packets, bytes }: Dropped): void {
  const sum = sums.get(banId) ?? NOTHING;
  sums.set(banId, { packets: sum.packets + packets, bytes: sum.bytes + bytes });
}
