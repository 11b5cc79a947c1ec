/**
 * Judges each tick's rates: which hosts come under attack, which attacks go on, which are over. Owns the table of
 * attacks in progress. Knows nothing of where rates come from, nor of what is done about an attack.
 */
import type { Hostgroup } from "../config/config.ts";
import type { IpAddress } from "../net/address.ts";
import { type HostRows, rowAddress, rowRates } from "../traffic/host-rows.ts";
import { METRICS, type Rates } from "../traffic/rates.ts";
import { type Attack, firstCrossed, isActive, type Now, observeAttack, startAttack } from "./attack.ts";
import { explain } from "./reason.ts";
import type { Sample } from "./sample.ts";

export interface DetectionPolicy {
  readonly hostgroups: readonly Hostgroup[];
  /** How long a rate must hold before it is an attack. */
  readonly sustainMs: number;
  /** How long all rates must stay within the thresholds before an attack is over. */
  readonly hysteresisMs: number;
  /** Attacks in progress at once. */
  readonly maxActive: number;
}

export type AttackChange = { readonly kind: "started" | "lasts" | "ended"; readonly attack: Attack };

const QUIET: Rates = new Array<number>(METRICS.length).fill(0);

export class Detector {
  #policy: DetectionPolicy;
  readonly #newId: () => string;
  readonly #attacks = new Map<IpAddress, Attack>();
  /** Hosts over a threshold that have not been so for `sustainMs` yet: since when, in monotonic ms. */
  #suspects = new Map<IpAddress, number>();
  /** Detections that found the table full. */
  refused = 0;

  constructor(policy: DetectionPolicy, newId: () => string) {
    this.#policy = policy;
    this.#newId = newId;
  }

  /** Attacks in progress keep the thresholds that they started with. */
  reconfigure(policy: DetectionPolicy): void {
    this.#policy = policy;
  }

  /** Attacks that an earlier process saw start; their calm is counted anew. */
  restore(attacks: readonly Attack[]): void {
    for (const attack of attacks) this.#attacks.set(attack.target, { ...attack, calmSinceMs: null });
  }

  get active(): ReadonlyMap<IpAddress, Attack> {
    return this.#attacks;
  }

  /** `count` rows: every host over a threshold and every host in attack; one that is missing has no traffic. */
  judge(rows: HostRows, count: number, now: Now): AttackChange[] {
    const changes: AttackChange[] = [];
    const seen = new Set<IpAddress>();
    const suspects = new Map<IpAddress, number>();
    for (let row = 0; row < count; row++) {
      const target = rowAddress(rows, row);
      seen.add(target);
      const attack = this.#attacks.get(target);
      if (attack !== undefined) changes.push(this.#observe(attack, rowRates(rows.incoming, row), now));
      else this.#suspect(rows, row, target, now, suspects, changes);
    }
    for (const attack of this.#attacks.values()) {
      if (!seen.has(attack.target)) changes.push(this.#observe(attack, QUIET, now));
    }
    this.#suspects = suspects;
    return changes;
  }

  /** null: no attack on the target is in progress. */
  attachSample(target: IpAddress, sample: Sample): Attack | null {
    const attack = this.#attacks.get(target);
    if (attack === undefined) return null;
    const sampled = { ...attack, sample };
    this.#attacks.set(target, sampled);
    return sampled;
  }

  #observe(attack: Attack, rates: Rates, now: Now): AttackChange {
    const observed = observeAttack(attack, rates, this.#policy.hysteresisMs, now);
    if (isActive(observed)) {
      this.#attacks.set(observed.target, observed);
      return { kind: "lasts", attack: observed };
    }
    this.#attacks.delete(observed.target);
    return { kind: "ended", attack: observed };
  }

  #suspect(
    rows: HostRows,
    row: number,
    target: IpAddress,
    now: Now,
    suspects: Map<IpAddress, number>,
    changes: AttackChange[],
  ): void {
    const group = this.#policy.hostgroups[rows.groups[row] as number];
    // A row that was counted under a table which a reload has just replaced: its new group comes with the next tick.
    if (group === undefined) return;
    const rates = rowRates(rows.incoming, row);
    const metric = firstCrossed(rates, group.thresholds);
    if (metric < 0) return;
    const since = this.#suspects.get(target) ?? now.monotonicMs;
    if (now.monotonicMs - since < this.#policy.sustainMs) {
      suspects.set(target, since);
      return;
    }
    if (this.#attacks.size >= this.#policy.maxActive) {
      this.refused++;
      suspects.set(target, since);
      return;
    }
    const reason = explain(rates);
    const detection = { id: this.#newId(), target, group, direction: "incoming", metric, rates, reason } as const;
    const attack = startAttack(detection, now);
    this.#attacks.set(target, attack);
    changes.push({ kind: "started", attack });
  }
}
