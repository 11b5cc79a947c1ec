/**
 * Keeps the kernel's rules equal to those of the active bans, those that are always in force, and the operator's: sets
 * all of them, soon after a change, and at a bounded rate, to keep the event loop free. Sums what the rules dropped for
 * each ban.
 */
import type { Ban, BanChange } from "../mitigation/ban.ts";
import { mostValuableFirst } from "../mitigation/ban-value.ts";
import {
  NO_OPERATOR_RULES,
  type OperatorKernelRules,
  type OperatorRulesRequest,
} from "../mitigation/operator/operator-kernel-rules.ts";
import { type Composed, compose } from "../mitigation/rules/compose.ts";
import type { OwnedRule, SetBitOf } from "../mitigation/rules/kernel-rule.ts";
import { kernelRulesOf, rulesOfBans } from "../mitigation/rules/kernel-rules.ts";
import { type LeftOutByLimit, leftOutByLimit } from "../mitigation/rules/room-limit.ts";
import { DROP_REASONS, type DropReason } from "../mitigation/scrub/scrub-rules.ts";
import type { FilterRuleRow, KernelFilter } from "./kernel-filter.ts";
import { countsByName, type RuleCounts } from "./rule-counts.ts";

/** The shortest time between two updates of all ban rules in the kernel, ms; longer if an update takes long. */
const KERNEL_RULES_INTERVAL_MS = 100;

export interface Dropped {
  readonly packets: number;
  /** Bytes of frames. */
  readonly bytes: number;
  /** The part of these that the banned prefix sent. Absent: none. */
  readonly outgoing?: { readonly packets: number; readonly bytes: number };
  /** Packets. Absent: a block of a source, which has one reason. */
  readonly byReason?: Readonly<Partial<Record<DropReason, number>>>;
  /** Packets sent back to sources that had to prove their address. Absent: none. */
  readonly challenged?: number;
  /** Bytes of these, of frames. */
  readonly challengedBytes?: number;
  /** How often a source proved its address. Absent: never. */
  readonly validated?: number;
}

interface DataPlaneRulesOptions {
  readonly bans: () => Iterable<Ban>;
  /** Rules that are always in force, whatever is banned. */
  readonly standing: () => readonly OwnedRule[];
  /** The operator's rules, with those for attacked addresses. */
  readonly operators: (attacked: OperatorRulesRequest["attacked"]) => OperatorKernelRules;
  /** The bit of a named set that is in force in the kernel; null: none. */
  readonly bitOf: SetBitOf;
  /** Rules must wait: the named sets that they ask for are being exchanged. */
  readonly isHeld: () => boolean;
  /** Number of rules that fit beside the pairs of source blocks. */
  readonly room: () => number;
  readonly after: (ms: number, fn: () => void) => () => void;
  readonly monotonicMs: () => number;
  readonly onFault: (cause: unknown) => void;
  /** Called for each change of the numbers. */
  readonly onLeftOut: (rules: LeftOutByLimit) => void;
  /** As destinationsLeftOut. */
  readonly onDestinationsLeftOut: (destinations: number) => void;
}

/** After a write, the pause is this many times as long as the write took. */
const PAUSE_FACTOR = 10;
const RETRY_MS = 1000;
/** When it is looked again whether rules still must wait. */
const HELD_MS = 10;
/** Minimum interval between reads of drop counts. */
const READ_MS = 1000;
const NOTHING: Dropped = { packets: 0, bytes: 0 };
const NOTHING_YET: Composed = { operators: NO_OPERATOR_RULES, rules: [], waiting: [], leftOut: [] };

export class DataPlaneRules {
  readonly #options: DataPlaneRulesOptions;
  #filter: KernelFilter | null = null;
  /** Time of the next write of all rules. Monotonic clock, ms. */
  #due: { readonly atMs: number; readonly cancel: () => void } | null = null;
  #lastMs = 0;
  #tookMs = 0;
  /** The rules in the kernel. */
  #composed: Composed = NOTHING_YET;
  #leftOut: LeftOutByLimit = {};
  #operatorReadings: { readonly untilMs: number; readonly byName: ReadonlyMap<string, RuleCounts> } | null = null;
  /** By ban: what its former rules dropped. */
  readonly #past = new Map<string, Dropped>();
  #readings: { readonly untilMs: number; readonly byBan: ReadonlyMap<string, Dropped> } | null = null;

  constructor(options: DataPlaneRulesOptions) {
    this.#options = options;
  }

  /** Numbers of rules that do not fit into the kernel. */
  get leftOut(): LeftOutByLimit {
    return this.#leftOut;
  }

  /** Sets all rules in a filter that was just opened, and keeps them up to date. */
  begin(filter: KernelFilter): void {
    this.#filter = filter;
    this.#put(filter);
  }

  /**
   * The filter is about to be closed. @param isKept the rules stay in force: then pending changes are written first.
   */
  end(isKept: boolean): void {
    if (isKept && this.#due !== null && this.#filter !== null) this.#put(this.#filter);
    this.#due?.cancel();
    this.#due = null;
    this.#filter = null;
    this.#past.clear();
    this.#readings = null;
    this.#composed = NOTHING_YET;
    this.#leftOut = {};
    this.#operatorReadings = null;
  }

  /** By the name of the operator's rule; null: no filter is in force. */
  operatorCounts(maxAgeMs = READ_MS): ReadonlyMap<string, RuleCounts> | null {
    const filter = this.#filter;
    if (filter === null) return null;
    const now = this.#options.monotonicMs();
    if (this.#operatorReadings === null || now >= this.#operatorReadings.untilMs - READ_MS + maxAgeMs) {
      this.#operatorReadings = {
        untilMs: now + READ_MS,
        byName: countsByName(this.#composed.operators, filter.readRules()),
      };
    }
    return this.#operatorReadings.byName;
  }

  /** Destinations and attacked addresses that have no room for the operator's rules. */
  get destinationsLeftOut(): number {
    return this.#composed.operators.leftOut;
  }

  /**
   * A ban changed, or the room changed. Changes until the next write are merged. A mere extension of an expiry may
   * wait, since the kernel has the old one: with very many bans, one is always being extended.
   */
  changed(change: BanChange | null): void {
    if (this.#filter === null) return;
    const soonMs = Math.max(KERNEL_RULES_INTERVAL_MS, PAUSE_FACTOR * this.#tookMs);
    const extendedMs = change === null ? 0 : extendedByMs(change);
    this.#putAt(this.#lastMs + Math.max(soonMs, Math.min(PAUSE_FACTOR * soonMs, extendedMs)));
  }

  /** Total since the ban is in force on this machine; adopted rules keep their counts. At most a second old. */
  droppedBy(banId: string): Dropped | null {
    const filter = this.#filter;
    if (filter === null) return null;
    const now = this.#options.monotonicMs();
    if (this.#readings === null || now >= this.#readings.untilMs) {
      const byBan = this.#read(filter);
      // Reading very many rules takes time.
      const tookMs = this.#options.monotonicMs() - now;
      this.#readings = { untilMs: now + Math.max(READ_MS, 2 * PAUSE_FACTOR * tookMs), byBan };
    }
    return this.#readings.byBan.get(banId) ?? null;
  }

  /** Whether the kernel has all rules of the ban, but for those that drop nothing, and may not be needed. */
  isInForce(ban: Ban): boolean {
    if (this.#filter === null) return false;
    const rules = kernelRulesOf(ban);
    const ids = new Set(this.#composed.rules.flatMap(({ id, owner }) => (owner === ban.id ? id : [])));
    return rules.every(({ id, rule }) => rule.action.kind === "learn" || ids.has(id));
  }

  #putAt(atMs: number): void {
    if (this.#due !== null && this.#due.atMs <= atMs) return;
    this.#due?.cancel();
    const cancel = this.#options.after(Math.max(0, atMs - this.#options.monotonicMs()), () => {
      if (this.#filter === null) return;
      if (!this.#options.isHeld()) this.#put(this.#filter);
      else {
        this.#due = null;
        this.#putAt(this.#options.monotonicMs() + HELD_MS);
      }
    });
    this.#due = { atMs, cancel };
  }

  #put(filter: KernelFilter): void {
    const { bans, standing, operators, bitOf, room, monotonicMs, onFault, onLeftOut, onDestinationsLeftOut } =
      this.#options;
    const begun = monotonicMs();
    this.#due?.cancel();
    this.#due = null;
    try {
      const next = compose({
        operators: operators(attackedOf(bans())),
        // Bans come first: they are under attack.
        rules: [...rulesOfBans(bans()), ...standing()],
        ...{ room: room(), bitOf },
      });
      const going = this.#dropsOfRemovedRules(filter, next);
      filter.setRules(next.rules, next.operators, bitOf);
      this.#keepPast(going, ownersOf(next));
      const before = this.#composed;
      this.#composed = next;
      if (next.operators.leftOut !== before.operators.leftOut) onDestinationsLeftOut(next.operators.leftOut);
      const leftOut = leftOutByLimit(next.leftOut);
      const isSame = Bun.deepEquals(leftOut, this.#leftOut);
      this.#leftOut = leftOut;
      if (!isSame) onLeftOut(leftOut);
    } catch (cause) {
      onFault(cause);
      this.#putAt(monotonicMs() + RETRY_MS);
    }
    this.#lastMs = monotonicMs();
    this.#tookMs = this.#lastMs - begun;
  }

  /** The counts of a removed rule are lost in the kernel: collects those of bans that stay. */
  #dropsOfRemovedRules(filter: KernelFilter, next: Composed): [banId: string, dropped: Dropped][] {
    const staying = new Set(next.rules.map(({ id }) => id));
    const bans = ownersOf(next);
    const gone = this.#composed.rules.filter(({ id, owner }) => !staying.has(id) && bans.has(owner));
    if (gone.length === 0) return [];
    const goneById = new Map(gone.map((rule) => [rule.id, rule]));
    return filter.readRules().flatMap((row) => {
      const rule = goneById.get(row.id);
      return rule === undefined ? [] : [[rule.owner, droppedOf(row, rule)]];
    });
  }

  #keepPast(going: readonly [banId: string, dropped: Dropped][], bans: ReadonlySet<string>): void {
    for (const banId of this.#past.keys()) if (!bans.has(banId)) this.#past.delete(banId);
    for (const [banId, dropped] of going) add(this.#past, banId, dropped);
  }

  #read(filter: KernelFilter): ReadonlyMap<string, Dropped> {
    const rules = new Map(this.#composed.rules.map((rule) => [rule.id, rule]));
    const sums = new Map([...ownersOf(this.#composed)].map((banId) => [banId, this.#past.get(banId) ?? NOTHING]));
    for (const row of filter.readRules()) {
      const rule = rules.get(row.id);
      if (rule !== undefined && rule.owner !== "") add(sums, rule.owner, droppedOf(row, rule));
    }
    return sums;
  }
}

/** Bans that have rules which are in force, or wait for a set. */
function ownersOf({ rules, waiting }: Composed): ReadonlySet<string> {
  return new Set([...rules, ...waiting].map(({ owner }) => owner).filter((owner) => owner !== ""));
}

/** Prefixes with a ban in force, the most valuable first. */
function attackedOf(bans: Iterable<Ban>): Ban[] {
  return [...bans].filter(({ state, dryRun }) => state === "active" && !dryRun).sort(mostValuableFirst);
}

/** By how much the expiry was extended, ms, if nothing else changed; 0: the rules changed. */
function extendedByMs({ ban, previous }: BanChange): number {
  if (previous === null) return 0;
  const [after, before] = [kernelRulesOf(ban), kernelRulesOf(previous)];
  const isSame = after.length === before.length && after.every(({ id }, i) => id === before[i]?.id);
  return isSame ? Math.max(0, ban.expiresAt - previous.expiresAt) : 0;
}

function droppedOf(row: FilterRuleRow, { reason, rule: { destination } }: OwnedRule): Dropped {
  const { droppedPackets: packets, droppedBytes: bytes, answeredPackets, answeredBytes, validated } = row;
  const all = { packets, bytes, byReason: { [reason]: packets } };
  // Rules against what a host sends have it as their source.
  const dropped = destination === null && packets > 0 ? { ...all, outgoing: { packets, bytes } } : all;
  return answeredPackets === 0
    ? dropped
    : { ...dropped, challenged: answeredPackets, challengedBytes: answeredBytes, validated };
}

function add(sums: Map<string, Dropped>, banId: string, more: Dropped): void {
  const before = sums.get(banId) ?? NOTHING;
  const total = {
    packets: before.packets + more.packets,
    bytes: before.bytes + more.bytes,
    byReason: sumOfReasons(before.byReason, more.byReason),
    ...sumOfOutgoing(before.outgoing, more.outgoing),
  };
  const challenged = (before.challenged ?? 0) + (more.challenged ?? 0);
  const challengedBytes = (before.challengedBytes ?? 0) + (more.challengedBytes ?? 0);
  const validated = (before.validated ?? 0) + (more.validated ?? 0);
  sums.set(banId, challenged === 0 ? total : { ...total, challenged, challengedBytes, validated });
}

function sumOfOutgoing(a: Dropped["outgoing"] = NOTHING, b: Dropped["outgoing"] = NOTHING): Pick<Dropped, "outgoing"> {
  const outgoing = { packets: a.packets + b.packets, bytes: a.bytes + b.bytes };
  return outgoing.packets === 0 ? {} : { outgoing };
}

function sumOfReasons(a: Dropped["byReason"] = {}, b: Dropped["byReason"] = {}): NonNullable<Dropped["byReason"]> {
  const sums = DROP_REASONS.map((reason) => [reason, (a[reason] ?? 0) + (b[reason] ?? 0)] as const);
  return Object.fromEntries(sums.filter(([, packets]) => packets > 0));
}
