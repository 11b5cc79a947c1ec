/**
 * Brings the kernel to what the last document wants, and keeps it there: bans that are new, gone or over, rules that found no
 * room, a kernel that refuses. Never enforces what is virtual, nor anything while this node is in dry run.
 */
import type { KernelFilter } from "../../dataplane/kernel-filter.ts";
import { fittingRules, ruleId } from "../../mitigation/rules/kernel-rules.ts";
import type { Rule } from "../../mitigation/rules/rule.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { Clock } from "../../system/clock.ts";

/** A ban as this node holds it. */
export interface HeldBan {
  readonly prefix: Prefix;
  readonly isVirtual: boolean;
  /** By this node's monotonic clock: nobody can set it. */
  readonly expiresAtMs: number;
  readonly rules: readonly Rule[];
}

export interface EnforcementOptions {
  readonly filter: Pick<KernelFilter, "setRules">;
  readonly clock: Clock;
  readonly dryRun: boolean;
  /** Rules that the filter has room for. */
  readonly maxRules: number;
  /** The kernel refused; it is asked again at the next tick. */
  readonly onFault: (cause: unknown) => void;
  /** So many rules more, or fewer, find no room. */
  readonly onLeftOut: (rules: number) => void;
}

export interface Enforced {
  /** Of the document, not over: real ones, and virtual ones. */
  readonly bans: number;
  readonly virtualBans: number;
  /** In the kernel. */
  readonly rules: number;
  readonly leftOutRules: number;
  /** Of the document that the kernel was brought to last; null: none. */
  readonly etag: string | null;
}

interface Wanted {
  readonly bans: readonly HeldBan[];
  readonly etag: string | null;
}

export class Enforcement {
  readonly #options: EnforcementOptions;
  #wanted: Wanted | null = null;
  /** In the kernel, as far as this process knows. */
  #enforced: readonly HeldRule[] = [];
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

  /** Before anything is wanted: a filter that was taken over from a process before keeps its rules until then. */
  clear(): void {
    this.want([], null);
  }

  /** All bans from now on; those that are missing are removed at once. */
  want(bans: readonly HeldBan[], etag: string | null): void {
    this.#wanted = { bans, etag };
    this.#bring(this.#wanted);
  }

  /** About once a second. What lapses does so in the kernel; here it makes room. */
  tick(): void {
    if (this.#wanted === null) return;
    const isOver = this.#live(this.#enforced).length < this.#enforced.length;
    if (this.#isDue || isOver) this.#bring(this.#wanted);
  }

  #bring({ bans, etag }: Wanted): void {
    const { filter, clock, dryRun, maxRules, onFault, onLeftOut } = this.#options;
    const real = dryRun ? [] : this.#live(bans).filter(({ isVirtual }) => !isVirtual);
    const rules = rulesOf(real);
    const fitting = fit(rules, maxRules, new Set(this.#enforced.map(({ id }) => id)));
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

interface HeldRule {
  readonly id: string;
  readonly rule: Rule;
  readonly expiresAtMs: number;
}

function rulesOf(bans: readonly HeldBan[]): readonly HeldRule[] {
  const byId = new Map<string, HeldRule>();
  for (const { prefix, rules, expiresAtMs } of bans) {
    for (const rule of rules) {
      const id = ruleId(`${prefix.text} `, rule);
      byId.set(id, { id, rule, expiresAtMs });
    }
  }
  return [...byId.values()];
}

/** Within the kernel's bounds; those that are in force already go first. */
function fit(rules: readonly HeldRule[], maxRules: number, inForce: ReadonlySet<string>): readonly HeldRule[] {
  const [old, fresh] = [rules.filter(({ id }) => inForce.has(id)), rules.filter(({ id }) => !inForce.has(id))];
  return fittingRules([...old, ...fresh], maxRules);
}
