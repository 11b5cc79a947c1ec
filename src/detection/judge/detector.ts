/**
 * Judges each tick's rates: which attacks on hosts and hostgroups start, continue or end. Owns the table of attacks in
 * progress. Independent of the source of rates and of what is done about an attack.
 */
import type { Hostgroup } from "../../config/config.ts";
import { ACTIVE_ATTACKS_MAX } from "../../limits.ts";
import { ADDRESS_BYTES, addressFromBytes, type IpAddress, parseAddress } from "../../net/address.ts";
import type { Now } from "../../system/now.ts";
import type { CountRows } from "../../traffic/count-rows.ts";
import { type HostRows, rowRates } from "../../traffic/host-rows.ts";
import { METRICS, type Rates } from "../../traffic/rates.ts";
import { ActiveAttacks } from "../attack/active-attacks.ts";
import {
  type Attack,
  type Calm,
  endAttack,
  firstCrossed,
  isActive,
  observeAttack,
  startAttack,
} from "../attack/attack.ts";
import { AttackMeters, type CountedWindow, type DroppedOf } from "../attack/attack-meters.ts";
import { sizeOfRates } from "../attack/attack-size.ts";
import { explain } from "../attack/reason.ts";
import { ReplaceableAttacks } from "../attack/replaceable-attacks.ts";
import { Baselines, type Learner, scratchLearner } from "../baseline/baselines.ts";

export interface DetectionPolicy {
  readonly hostgroups: readonly Hostgroup[];
  /** Rates are those of this time. */
  readonly windowMs: number;
  readonly tickMs: number;
  /** How long a rate must hold before it is an attack. */
  readonly sustainMs: number;
  /** How long all rates must stay within the thresholds before an attack is over. */
  readonly hysteresisMs: (group: string) => number;
  /** The maximum number of attacks in progress, without carpet attacks. */
  readonly maxActive: number;
}

export type AttackFindings = Partial<Pick<Attack, "sample" | "classification" | "lastingRise">>;

export type AttackChange = { readonly kind: "started" | "lasts" | "ended"; readonly attack: Attack };

const QUIET: Rates = new Array<number>(METRICS.length).fill(0);
const DIRECTIONS = ["incoming", "outgoing"] as const;
/** For a detector without a given table. */
const MINIMAL_TABLE = { capacity: 1, directions: 1, seed: 0 } as const;

/** State of one tick's judgement. */
interface Judgement {
  readonly now: Now;
  readonly changes: AttackChange[];
  readonly suspects: Map<string, number>;
  /** Ids of the attacks that were judged. */
  readonly judged: Set<string>;
  readonly replaceable: ReplaceableAttacks;
}

export class Detector {
  #policy: DetectionPolicy;
  readonly #newId: () => string;
  readonly baselines: Baselines;
  /** Reused for each row: there are thousands per tick. */
  readonly #host = scratchLearner();
  readonly active = new ActiveAttacks();
  readonly meters: AttackMeters;
  /** Targets above a threshold for less than `sustainMs`: since when, monotonic ms. */
  #suspects = new Map<string, number>();
  /** Detections refused because the table was full, and attacks ended early for larger ones. */
  refused = 0;
  replaced = 0;

  constructor(
    policy: DetectionPolicy,
    newId: () => string,
    baselines = new Baselines(MINIMAL_TABLE),
    droppedOf: DroppedOf = () => null,
  ) {
    this.#policy = policy;
    this.meters = new AttackMeters({ tickMs: policy.tickMs, droppedOf });
    this.#newId = newId;
    this.baselines = baselines;
    baselines.reconfigure(policy.hostgroups);
  }

  /** Attacks in progress keep the thresholds that they started with. */
  reconfigure(policy: DetectionPolicy): void {
    this.#policy = policy;
    this.baselines.reconfigure(policy.hostgroups);
  }

  /** Hosts above a threshold that are no attacks yet: they are counted tick by tick as well. */
  suspectedHosts(): IpAddress[] {
    const names = [...this.#suspects.keys()].slice(0, ACTIVE_ATTACKS_MAX).map((key) => key.slice(key.indexOf(" ") + 1));
    return names.flatMap((name) => parseAddress(name) ?? []);
  }

  /** How many hostgroup sums judge() needs; 0: no whole hostgroup is judged. */
  get groupsToRead(): number {
    const { hostgroups } = this.#policy;
    const areAsked = this.active.hasGroups || hostgroups.some(({ calculation }) => calculation === "total");
    return areAsked ? hostgroups.length : 0;
  }

  /** Restores attacks of an earlier process; their calm time starts again from zero. */
  restore(attacks: readonly Attack[]): void {
    for (const attack of attacks) this.active.set({ ...attack, lastingRise: false, calmSinceMs: null });
  }

  /**
   * @param rows `count` rows: every host above a threshold and every attacked host; a missing host has no traffic.
   * @param groups the sums of all hostgroups, needed if one of them is judged as a whole.
   */
  judge(rows: HostRows, count: number, now: Now, groups: HostRows | null = null): AttackChange[] {
    const judgement = this.#judgement(now);
    for (let row = 0; row < count; row++) this.#judgeHost(rows, row, judgement);
    if (groups !== null) this.#judgeGroups(groups, judgement);
    for (const attack of this.active.values()) {
      // Carpet attacks are judged by the passes over all hosts.
      if (attack.carpet === null && !judgement.judged.has(attack.id)) this.#observe(attack, QUIET, judgement);
    }
    this.#suspects = judgement.suspects;
    this.meters.keepSuspects(this.#suspects);
    return judgement.changes;
  }

  /** null: the attack is above a threshold, or over. */
  calmOf({ calmSinceMs, endedAt, group }: Attack, monotonicMs: number): Calm | null {
    if (calmSinceMs === null || endedAt !== null) return null;
    const ofSeconds = this.#policy.hysteresisMs(group) / 1000;
    return { seconds: Math.min((monotonicMs - calmSinceMs) / 1000, ofSeconds), ofSeconds };
  }

  /** Takes what was counted of attacked hosts, oldest first. Call this before judge(), which ends attacks. */
  measure(rows: CountRows, count: number, now: Now): void {
    for (let row = 0; row < count; row++) {
      const attacked = this.active.attackedHost(rows, row);
      if (attacked === null && this.#suspects.size === 0) continue;
      const target = attacked ?? addressFromBytes(rows.addresses, row * ADDRESS_BYTES);
      for (const direction of DIRECTIONS) {
        const attack = this.active.ofHost(target, direction);
        const endMs = now.wallMs - (rows.agesMs[row] as number);
        const spanMs = rows.spansMs[row] as number;
        const isBefore = rows.isBefore[row] === 1;
        const counted = { endMs, spanMs, isBefore, amounts: rows[direction], from: row * METRICS.length };
        if (attack !== null) this.meters.add(attack, counted);
        else if (this.#suspects.size > 0) this.meters.addToSuspect(`${direction} ${target}`, counted);
      }
    }
  }

  /** Whether judgeRising() may start attacks: a sustain time is counted in ticks. */
  get startsBetweenTicks(): boolean {
    return this.#policy.sustainMs === 0;
  }

  /**
   * Starts attacks between two ticks, so that they need not wait for the next one. Attacks in progress do not change.
   * @param rows `count` rows of hosts that have risen since the last tick; others are as they were.
   */
  judgeRising(rows: HostRows, count: number, now: Now): AttackChange[] {
    const judgement = this.#judgement(now);
    for (let row = 0; row < count; row++) {
      if (this.active.attackedHost(rows, row) === null) this.#judgeHost(rows, row, judgement);
    }
    return judgement.changes;
  }

  /** Attaches findings other than rates to an attack. null: it is not in progress. */
  attach(id: string, findings: AttackFindings): Attack | null {
    for (const attack of this.active.values()) {
      if (attack.id !== id) continue;
      const attached = { ...attack, ...findings };
      this.active.set(attached);
      return attached;
    }
    return null;
  }

  #judgement(now: Now): Judgement {
    const replaceable = new ReplaceableAttacks(this.active);
    return { now, changes: [], suspects: new Map(), judged: new Set(), replaceable };
  }

  #judgeHost(rows: HostRows, row: number, judgement: Judgement): void {
    const group = this.#policy.hostgroups[rows.groups[row] as number];
    const target = this.active.attackedHost(rows, row);
    for (const direction of DIRECTIONS) {
      const column = rows[direction];
      const attack = target === null ? null : this.active.ofHost(target, direction);
      if (attack !== null) this.#observe(attack, rowRates(column, row), judgement);
      // No group: the row refers to a table that a reload has just replaced. The next tick uses the new one.
      else if (group?.calculation === "per_host") {
        const host = this.#host;
        host.keys = rows.addresses;
        host.at = row * ADDRESS_BYTES;
        host.group = group;
        host.direction = direction;
        this.#suspect(host, column, row, judgement);
      }
    }
  }

  #judgeGroups(sums: HostRows, judgement: Judgement): void {
    for (const [index, group] of this.#policy.hostgroups.entries()) {
      for (const direction of DIRECTIONS) {
        const attack = this.active.ofGroup(group.name, direction);
        if (attack !== null) this.#observe(attack, rowRates(sums[direction], index), judgement);
        else if (group.calculation === "total") {
          this.#suspect(this.baselines.ofGroup(group, direction), sums[direction], index, judgement);
        }
      }
    }
  }

  #observe(attack: Attack, rates: Rates, { now, changes, judged }: Judgement): void {
    if (attack.target === null) this.meters.addWindow(attack, this.#windowOf(attack, rates), now);
    const found = { rates, volume: this.meters.volumeOf(attack) };
    const observed = observeAttack(attack, found, this.#policy.hysteresisMs(attack.group), now);
    judged.add(observed.id);
    if (isActive(observed)) {
      this.active.set(observed);
      changes.push({ kind: "lasts", attack: observed });
    } else {
      this.active.delete(observed);
      this.meters.ended(observed.id);
      changes.push({ kind: "ended", attack: observed });
    }
  }

  #windowOf({ thresholds }: Attack, rates: Rates): CountedWindow {
    return { rates, windowMs: this.#policy.windowMs, isAbove: firstCrossed(rates, thresholds) >= 0 };
  }

  #suspect(subject: Learner, column: Float64Array, row: number, judgement: Judgement): void {
    const limits = this.baselines.limits(subject);
    const metric = limits === null ? -1 : firstCrossed(column, limits, row * METRICS.length);
    if (limits === null || metric < 0) return;
    const { sustainMs } = this.#policy;
    // Without a sustain time, no keys are built: a full table may see thousands of suspects per tick.
    const key = sustainMs === 0 ? "" : keyOf(subject);
    if (sustainMs > 0 && !this.#isSustained(key, judgement)) {
      this.meters.suspect(key, Array.from(limits), metric);
      return;
    }
    if (!this.#makeRoom(sizeOfRates(column, row * METRICS.length), judgement)) {
      this.refused++;
      return;
    }
    const { group, direction } = subject;
    const rates = rowRates(column, row);
    const origin = this.baselines.origin(subject, metric);
    const detection = {
      id: this.#newId(),
      target: targetOf(subject),
      group: group.name,
      direction,
      metric,
      thresholds: Array.from(limits),
      rates,
      reason: explain(rates, { ...origin, baselineConfigured: group.baseline !== null }),
    };
    const attack = startAttack(detection, judgement.now);
    if (sustainMs > 0) this.meters.adopt(key, attack);
    if (attack.target === null) this.meters.addWindow(attack, this.#windowOf(attack, rates), judgement.now);
    this.active.set(attack);
    judgement.judged.add(attack.id);
    judgement.changes.push({ kind: "started", attack });
  }

  /** Whether the target has been above a limit for `sustainMs`. */
  #isSustained(key: string, { now, suspects }: Judgement): boolean {
    const since = this.#suspects.get(key) ?? now.monotonicMs;
    suspects.set(key, since);
    return now.monotonicMs - since >= this.#policy.sustainMs;
  }

  /** Whether the table has room for an attack of this size. In a full table it replaces one that is calm or smaller. */
  #makeRoom(size: number, { now, changes, replaceable }: Judgement): boolean {
    // Carpet attacks have a bound of their own.
    if (this.active.size - this.active.carpetCount < this.#policy.maxActive) return true;
    const replaced = replaceable.takeFor(size, ({ carpet }) => carpet === null);
    if (replaced === null) return false;
    this.replaced++;
    this.active.delete(replaced);
    this.meters.ended(replaced.id);
    changes.push({ kind: "ended", attack: endAttack(replaced, now.wallMs) });
    return true;
  }
}

function keyOf(subject: Learner): string {
  return `${subject.direction} ${targetOf(subject) ?? `group ${subject.group.name}`}`;
}

/** null: the hostgroup as a whole. */
function targetOf({ keys, at, group }: Learner): IpAddress | null {
  return group.calculation === "total" ? null : addressFromBytes(keys, at);
}
