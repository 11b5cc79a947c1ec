/**
 * Keeps the kernel's rules equal to those of the last document: handles new, removed and expired bans, rules that do
 * not fit, and kernel faults. Never enforces virtual bans, nor anything in dry run of this node.
 */
import type { KernelFilter } from "../../dataplane/kernel-filter.ts";
import { fittingRules } from "../../mitigation/rules/fitting-rules.ts";
import { type KernelRule, ofAttack, toKernelRules } from "../../mitigation/rules/kernel-rules.ts";
import type { Rule } from "../../mitigation/rules/rule.ts";
import type { ScrubFilter } from "../../mitigation/scrub/scrub-filter.ts";
import { scrubRules } from "../../mitigation/scrub/scrub-rules.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { Clock } from "../../system/clock.ts";

/** A ban with its expiry on this node's clock. */
export interface HeldBan {
  readonly prefix: Prefix;
  readonly isVirtual: boolean;
  /** On this node's monotonic clock, which cannot be set. */
  readonly expiresAtMs: number;
  readonly rules: readonly Rule[];
  /** What is done beside these; null: nothing. */
  readonly filter: ScrubFilter | null;
}

export interface EnforcementOptions {
  readonly filter: Pick<KernelFilter, "setRules">;
  readonly clock: Clock;
  readonly dryRun: boolean;
  /** Number of rules that fit into the filter. */
  readonly maxRules: number;
  /** The kernel refused; the next tick retries. */
  readonly onFault: (cause: unknown) => void;
  /** The number of rules that do not fit changed. */
  readonly onLeftOut: (rules: number) => void;
}

export interface Enforced {
  /** Number of bans of the document that have not expired: real and virtual ones. */
  readonly bans: number;
  readonly virtualBans: number;
  /** Number of rules in the kernel. */
  readonly rules: number;
  readonly leftOutRules: number;
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
  #enforced: readonly KernelRule[] = [];
  #etag: string | null = null;
  #leftOut = 0;
  #isDue = false;

  constructor(options: EnforcementOptions) {
    this.#options = options;
  }

  get state(): Enforced {
    const bans = this.#live(this.#wanted?.bans ?? []);
    const virtualBans = bans.filter(({ isVirtual }) => isVirtual).length;
    const rules = this.#live(this.#enforced).length;
    return { bans: bans.length - virtualBans, virtualBans, rules, leftOutRules: this.#leftOut, etag: this.#etag };
  }

  /** Removes all rules. Before the first want(), an adopted filter keeps its rules until this call. */
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
    if (this.#isDue || isOver) this.#apply(this.#wanted);
  }

  #apply({ bans, etag }: Wanted): void {
    const { filter, clock, dryRun, maxRules, onFault, onLeftOut } = this.#options;
    const real = dryRun ? [] : this.#live(bans).filter(({ isVirtual }) => !isVirtual);
    const rules = rulesOf(real);
    const fitting = fittingRules(rules, maxRules, new Set(this.#enforced.map(({ id }) => id)));
    const wallAheadMs = clock.wallMs() - clock.monotonicMs();
    this.#isDue = true;
    try {
      filter.setRules(fitting.map((held) => ({ ...held, expiresAtMs: held.expiresAtMs + wallAheadMs })));
    } catch (cause) {
      onFault(cause);
      return;
    }
    this.#isDue = false;
    this.#enforced = fitting;
    this.#etag = etag;
    const leftOut = rules.length - fitting.length;
    if (leftOut !== this.#leftOut) onLeftOut(leftOut);
    this.#leftOut = leftOut;
  }

  #live<Held extends { readonly expiresAtMs: number }>(held: readonly Held[]): readonly Held[] {
    const now = this.#options.clock.monotonicMs();
    return held.filter(({ expiresAtMs }) => expiresAtMs > now);
  }
}

function rulesOf(bans: readonly HeldBan[]): readonly KernelRule[] {
  const byId = new Map<string, KernelRule>();
  for (const { prefix, rules, filter, expiresAtMs } of bans) {
    const all = filter === null ? rules.map(ofAttack) : scrubRules(prefix, filter, rules);
    const whole = filter === null ? {} : { whole: prefix.text };
    const rest = { banId: prefix.text, isDryRun: filter?.countsOnly === true, expiresAtMs, ...whole };
    for (const rule of toKernelRules(all, `${prefix.text} `, rest)) byId.set(rule.id, rule);
  }
  return [...byId.values()];
}
