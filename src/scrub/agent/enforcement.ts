/**
 * Keeps the kernel's rules equal to those of the last document and of this node's operator: handles new, removed and
 * expired bans, rules that do not fit, and kernel faults. Never enforces virtual bans, nor anything in dry run of this
 * node.
 */

import type { KernelFilter } from "../../dataplane/kernel-filter.ts";
import { countsByName, type RuleCounts } from "../../dataplane/rule-counts.ts";
import {
  isOperatorRuleId,
  NO_OPERATOR_RULES,
  type OperatorKernelRules,
  operatorKernelRules,
} from "../../mitigation/operator/operator-kernel-rules.ts";
import type { OperatorRule } from "../../mitigation/operator/operator-rule.ts";
import { type Composed, compose } from "../../mitigation/rules/compose.ts";
import type { OwnedRule, SetBitOf } from "../../mitigation/rules/kernel-rule.ts";
import { ofAttack, toKernelRules } from "../../mitigation/rules/kernel-rules.ts";
import {
  type LeftOutByLimit,
  leftOutByLimit,
  leftOutInAll,
  type RoomLimit,
} from "../../mitigation/rules/room-limit.ts";
import { scrubRules } from "../../mitigation/scrub/scrub-rules.ts";
import { OPERATOR_ENTRIES_MAX } from "../../native/constants.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { Clock } from "../../system/clock.ts";
import type { WantedBan } from "./rule-document.ts";

/** A ban with its expiry on this node's clock. */
export interface HeldBan extends Omit<WantedBan, "expiresAtMs"> {
  /** On this node's monotonic clock, which cannot be set. */
  readonly expiresAtMs: number;
}

interface EnforcementOptions {
  readonly filter: Pick<KernelFilter, "setRules" | "readRules">;
  readonly clock: Clock;
  readonly dryRun: boolean;
  /** Number of rules that fit into the filter. */
  readonly maxRules: number;
  readonly local: LocalRules;
  /** The kernel refused; the next tick retries. */
  readonly onFault: (cause: unknown) => void;
  /** The numbers of rules that do not fit changed. */
  readonly onLeftOut: (rules: LeftOutByLimit) => void;
  /** The same of destinations and attacked addresses that have no room for the local rules. */
  readonly onLocalLeftOut: (destinations: number) => void;
}

/** Rules of this node's operator. */
interface LocalRules {
  /** In the order in which they are tried, before all of the document. */
  readonly rules: readonly OperatorRule[];
  /** Those of rules without destinations. */
  readonly networks: readonly Prefix[];
  /** The bit of a named set that is in force in the kernel; null: none. */
  readonly bitOf: SetBitOf;
}

/** A ban that has rules, of which the kernel holds none. */
export interface BanWithoutRoom {
  readonly prefix: Prefix;
  /** That of the last of its rules. */
  readonly limit: RoomLimit;
}

export interface Enforced {
  /** Number of bans of the document that have not expired: real and virtual ones. */
  readonly bans: number;
  readonly virtualBans: number;
  /** Number of rules in the kernel. */
  readonly rules: number;
  readonly leftOutRules: number;
  /** Destinations and attacked addresses that local rules are not tried for, since there is no room. */
  readonly localLeftOut: number;
  readonly withoutRoom: readonly BanWithoutRoom[];
  /** ETag of the last document that was enforced; null: none. */
  readonly etag: string | null;
}

interface Wanted {
  readonly bans: readonly HeldBan[];
  readonly etag: string | null;
}

export class Enforcement {
  readonly #options: EnforcementOptions;
  #wanted: Wanted | null = null;
  /** The rules in the kernel that this process knows of. */
  #enforced: readonly OwnedRule[] = [];
  #local: OperatorKernelRules = NO_OPERATOR_RULES;
  /** Real bans that the kernel was given: local rules are tried for their addresses while these are attacked. */
  #enforcedBans = 0;
  #etag: string | null = null;
  #leftOut: LeftOutByLimit = {};
  #withoutRoom: readonly BanWithoutRoom[] = [];
  #isDue = false;

  constructor(options: EnforcementOptions) {
    this.#options = options;
  }

  /** Those that are to be in force, until their expiry. */
  get bans(): readonly HeldBan[] {
    return this.#live(this.#wanted?.bans ?? []);
  }

  get state(): Enforced {
    const bans = this.#live(this.#wanted?.bans ?? []);
    const virtualBans = bans.filter(({ isVirtual }) => isVirtual).length;
    const rules = this.#live(this.#enforced).length;
    const leftOut = {
      leftOutRules: leftOutInAll(this.#leftOut),
      localLeftOut: this.#local.leftOut,
      withoutRoom: this.#withoutRoom,
    };
    return { bans: bans.length - virtualBans, virtualBans, rules, ...leftOut, etag: this.#etag };
  }

  /** Counts of the local rules, by name. Throws if the kernel cannot be read. */
  localCounts(): ReadonlyMap<string, RuleCounts> {
    if (this.#local.rules.length === 0) return new Map();
    return countsByName(this.#local, this.#options.filter.readRules());
  }

  /**
   * Puts the local rules in force before the first document, in the place of those of an earlier process. False: that
   * process left rules of bans as well, which stay until a document comes, and the rules before with them.
   */
  begin(): boolean {
    const before = this.#options.filter.readRules();
    if (before.some(({ id }) => !isOperatorRuleId(id))) return this.#options.local.rules.length === 0;
    if (before.length + this.#options.local.rules.length > 0) this.clear();
    return true;
  }

  /** The named sets are others: local rules may wait for them. */
  setsChanged(): void {
    if (this.#wanted !== null) this.#apply(this.#wanted);
  }

  /** Removes all rules of bans. Before the first want(), an adopted filter keeps its rules until this call. */
  clear(): void {
    this.want([], null);
  }

  /** Sets all bans; missing ones are removed at once. */
  want(bans: readonly HeldBan[], etag: string | null): void {
    this.#wanted = { bans, etag };
    this.#apply(this.#wanted);
  }

  /** Call this about once a second. The kernel expires rules itself; tick() reuses their room. */
  tick(): void {
    if (this.#wanted === null) return;
    const isOver = this.#live(this.#enforced).length < this.#enforced.length;
    const isCalm = this.#real(this.#wanted.bans).length < this.#enforcedBans;
    if (this.#isDue || isOver || isCalm) this.#apply(this.#wanted);
  }

  #apply({ bans, etag }: Wanted): void {
    const { filter, clock, maxRules, local, onFault, onLeftOut, onLocalLeftOut } = this.#options;
    const real = this.#real(bans);
    const rules = rulesOf(real);
    const wallAheadMs = clock.wallMs() - clock.monotonicMs();
    const onWall = <Held extends { readonly expiresAtMs: number }>(held: Held): Held => ({
      ...held,
      expiresAtMs: held.expiresAtMs + wallAheadMs,
    });
    const { bitOf } = local;
    const inForce = new Set(this.#enforced.map(({ id }) => id));
    const next = compose({ operators: this.#localFor(real.map(onWall)), rules, room: maxRules, bitOf, inForce });
    const { operators: first, rules: fitting } = next;
    this.#isDue = true;
    try {
      filter.setRules(fitting.map(onWall), first, bitOf);
    } catch (cause) {
      onFault(cause);
      return;
    }
    this.#isDue = false;
    if (first.leftOut !== this.#local.leftOut) onLocalLeftOut(first.leftOut);
    [this.#enforced, this.#enforcedBans, this.#local] = [fitting, real.length, first];
    this.#etag = etag;
    const leftOut = leftOutByLimit(next.leftOut);
    if (!Bun.deepEquals(leftOut, this.#leftOut)) onLeftOut(leftOut);
    this.#leftOut = leftOut;
    this.#withoutRoom = bansWithoutRoom(real, next);
  }

  /** The local rules beside these bans, whose expiries are wall time. */
  #localFor(bans: readonly HeldBan[]): OperatorKernelRules {
    const { dryRun, clock, local } = this.#options;
    const { rules, networks } = local;
    if (dryRun) return NO_OPERATOR_RULES;
    const attacked = bans.map(({ prefix, expiresAtMs }) => ({ prefix, expiresAt: expiresAtMs }));
    const request = { rules, networks, attacked, wallMs: clock.wallMs(), room: OPERATOR_ENTRIES_MAX };
    return operatorKernelRules(request);
  }

  /** Those that are enforced. */
  #real(bans: readonly HeldBan[]): readonly HeldBan[] {
    return this.#options.dryRun ? [] : this.#live(bans).filter(({ isVirtual }) => !isVirtual);
  }

  #live<Held extends { readonly expiresAtMs: number }>(held: readonly Held[]): readonly Held[] {
    const now = this.#options.clock.monotonicMs();
    return held.filter(({ expiresAtMs }) => expiresAtMs > now);
  }
}

function bansWithoutRoom(bans: readonly HeldBan[], { rules, leftOut }: Composed): readonly BanWithoutRoom[] {
  if (leftOut.length === 0) return [];
  const isIn = new Set(rules.map(({ owner }) => owner));
  const limits = new Map(leftOut.map(({ rule, limit }) => [rule.owner, limit]));
  return bans.flatMap(({ prefix }) => {
    const limit = limits.get(prefix.text);
    return limit === undefined || isIn.has(prefix.text) ? [] : { prefix, limit };
  });
}

function rulesOf(bans: readonly HeldBan[]): readonly OwnedRule[] {
  const byId = new Map<string, OwnedRule>();
  for (const { prefix, rules, filter, expiresAtMs } of bans) {
    const all = filter === null ? rules.map(ofAttack) : scrubRules(prefix, filter, rules);
    const whole = filter === null ? {} : { whole: prefix.text };
    const rest = { owner: prefix.text, isDryRun: filter?.countsOnly === true, expiresAtMs, ...whole };
    for (const rule of toKernelRules(all, `${prefix.text} `, rest)) byId.set(rule.id, rule);
  }
  return [...byId.values()];
}
