/**
 * Brings the kernel to what the last document wants, and keeps it there: bans that are new, gone or over, rules that found no
 * room, a kernel that refuses. Never enforces what is virtual, nor anything while this node is in dry run.
 */
import type { FilterRulePut, KernelFilter } from "../../dataplane/kernel-filter.ts";
import type { Rule } from "../../mitigation/rule.ts";
import type { Clock } from "../../system/clock.ts";

/** A ban as this node holds it. */
export interface HeldBan {
  readonly target: string;
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
  readonly onLeftOut: (leftOut: LeftOut) => void;
}

export interface LeftOut {
  readonly bans: number;
  readonly rules: number;
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
  #enforced: readonly HeldBan[] = [];
  #etag: string | null = null;
  #leftOut: LeftOut = NOTHING;
  #isDue = false;

  constructor(options: EnforcementOptions) {
    this.#options = options;
  }

  get state(): Enforced {
    const bans = this.#live(this.#wanted?.bans ?? []);
    const virtualBans = bans.filter(({ isVirtual }) => isVirtual).length;
    const rules = ruleCount(this.#live(this.#enforced));
    return { bans: bans.length - virtualBans, virtualBans, rules, leftOutRules: this.#leftOut.rules, etag: this.#etag };
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
    const { filter, dryRun, maxRules, onFault, onLeftOut } = this.#options;
    const real = dryRun ? [] : this.#live(bans).filter(({ isVirtual }) => !isVirtual);
    const before = new Set(this.#enforced.map(({ target }) => target));
    const { taken, leftOut } = fit(real, maxRules, (ban) => before.has(ban.target));
    this.#isDue = true;
    try {
      filter.setRules(taken.flatMap((ban) => this.#putsOf(ban)));
    } catch (cause) {
      onFault(cause);
      return;
    }
    this.#isDue = false;
    this.#enforced = taken;
    this.#etag = etag;
    if (leftOut.rules > 0 && leftOut.rules !== this.#leftOut.rules) onLeftOut(leftOut);
    this.#leftOut = leftOut;
  }

  #putsOf({ target, rules, expiresAtMs }: HeldBan): FilterRulePut[] {
    const { clock } = this.#options;
    const expiresAtWallMs = clock.wallMs() + expiresAtMs - clock.monotonicMs();
    return rules.map((rule, i) => ({ id: `${target}#${i}`, rule, expiresAtMs: expiresAtWallMs }));
  }

  #live(bans: readonly HeldBan[]): readonly HeldBan[] {
    const now = this.#options.clock.monotonicMs();
    return bans.filter(({ expiresAtMs }) => expiresAtMs > now);
  }
}

const NOTHING: LeftOut = { bans: 0, rules: 0 };

/** A ban is taken whole or not at all; those that are in force already go first. */
function fit(
  bans: readonly HeldBan[],
  maxRules: number,
  isInForce: (ban: HeldBan) => boolean,
): { readonly taken: readonly HeldBan[]; readonly leftOut: LeftOut } {
  if (ruleCount(bans) <= maxRules) return { taken: bans, leftOut: NOTHING };
  const taken: HeldBan[] = [];
  let room = maxRules;
  for (const ban of [...bans.filter(isInForce), ...bans.filter((ban) => !isInForce(ban))]) {
    if (ban.rules.length > room) continue;
    taken.push(ban);
    room -= ban.rules.length;
  }
  const leftOut = { bans: bans.length - taken.length, rules: ruleCount(bans) - ruleCount(taken) };
  return { taken, leftOut };
}

function ruleCount(bans: readonly HeldBan[]): number {
  return bans.reduce((sum, { rules }) => sum + rules.length, 0);
}
