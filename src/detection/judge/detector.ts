/**
 * Judges each tick's rates: which attacks on hosts and hostgroups start, continue or end. Owns the table of attacks in
 * progress. Independent of the source of rates and of what is done about an attack.
 */
import { ACTIVE_ATTACKS_MAX } from "../../limits.ts";
import { ADDRESS_BYTES, addressFromBytes, type IpAddress, parseAddress } from "../../net/address.ts";
import type { Now } from "../../system/now.ts";
import { AddressIndex } from "../../traffic/address-index.ts";
import type { CountRows } from "../../traffic/count-rows.ts";
import { type HostRows, rowRates } from "../../traffic/host-rows.ts";
import { DIRECTIONS, type Direction, METRICS, type Rates } from "../../traffic/rates.ts";
import { ActiveAttacks } from "../attack/active-attacks.ts";
import {
  type Attack,
  endAttack,
  firstCrossed,
  isActive,
  type NewAttackId,
  observeAttack,
  startAttack,
} from "../attack/attack.ts";
import { type Aim, AttackMeters, type DroppedOf } from "../attack/attack-meters.ts";
import { sizeOfRates } from "../attack/attack-size.ts";
import { explain } from "../attack/reason.ts";
import { ReplaceableAttacks } from "../attack/replaceable-attacks.ts";
import { Baselines, type Learner, scratchLearner } from "../baseline/baselines.ts";
import { EXACT, errorsOf, isSampled, type RowWeights, weightsAt } from "../certainty/sampling.ts";
import { Suspicion, type SuspicionPolicy } from "../certainty/suspicion.ts";
import type { Hostgroup } from "../hostgroup.ts";
import { RaisedThresholds, targetOf } from "./raised-thresholds.ts";

export interface DetectionPolicy extends SuspicionPolicy {
  readonly hostgroups: readonly Hostgroup[];
  readonly tickMs: number;
  /** How long all rates must stay within the thresholds before an attack is over. */
  readonly hysteresisMs: (group: string) => number;
  /** The maximum number of attacks in progress, without carpet attacks. */
  readonly maxActive: number;
}

export type AttackFindings = Partial<Pick<Attack, "sample" | "classification" | "lastingRise">>;

export type AttackChange = { readonly kind: "started" | "lasts" | "ended"; readonly attack: Attack };

const SILENT: RowRates = { column: new Float64Array(METRICS.length), row: 0, weights: EXACT };

/** The rates of one direction of a row. */
interface RowRates {
  readonly column: Float64Array;
  readonly row: number;
  readonly weights: RowWeights;
}

/** State of one tick's judgement. */
interface Judgement {
  readonly now: Now;
  readonly changes: AttackChange[];
  readonly suspects: Map<string, number>;
  /** Ids of the attacks that were judged. */
  readonly judged: Set<string>;
  readonly replaceable: ReplaceableAttacks;
}

/** Ticks before its window ends in which a doubtful host is watched: it is by the next fold. */
const WATCHED_TICKS = 3;

export class Detector {
  #policy: DetectionPolicy;
  readonly #newId: NewAttackId;
  readonly baselines: Baselines;
  /** Both are reused for each row: there are thousands per tick. */
  readonly #host = scratchLearner();
  readonly #rates: { column: Float64Array; row: number; readonly weights: { column: Float64Array; from: number } } = {
    column: SILENT.column,
    row: 0,
    weights: { column: SILENT.column, from: 0 },
  };
  readonly active = new ActiveAttacks();
  readonly raised = new RaisedThresholds();
  readonly meters: AttackMeters;
  /** Has hosts and hostgroups as subjects. */
  readonly #suspicion: Suspicion;
  /** The hosts that are above a threshold by their estimated rates, but not certainly. */
  #doubted = new AddressIndex();
  /** Those whose next window is about to end: until then they are judged between ticks, as hosts that rise. */
  #watchedDoubts: readonly string[] = [];
  /** Detections refused because the table was full, and attacks ended early for larger ones. */
  refused = 0;
  replaced = 0;

  constructor(
    policy: DetectionPolicy,
    newId: NewAttackId,
    baselines = new Baselines(null),
    droppedOf: DroppedOf = () => null,
  ) {
    this.#policy = policy;
    this.meters = new AttackMeters({ tickMs: policy.tickMs, droppedOf });
    this.#suspicion = new Suspicion(policy);
    this.#newId = newId;
    this.baselines = baselines;
    baselines.reconfigure(policy.hostgroups);
  }

  /** Attacks in progress keep the thresholds that they started with. */
  reconfigure(policy: DetectionPolicy): void {
    this.#policy = policy;
    this.#suspicion.reconfigure(policy);
    this.baselines.reconfigure(policy.hostgroups);
  }

  /** Hosts above a threshold that are no attacks yet: they are counted tick by tick, and judged in every tick. */
  suspectedHosts(): IpAddress[] {
    const keys = [...this.#suspicion.suspects.keys(), ...this.#watchedDoubts].slice(0, ACTIVE_ATTACKS_MAX);
    return keys.flatMap((key) => hostOf(key) ?? []);
  }

  /** Hosts and hostgroups whose windows are added up. */
  get doubts(): number {
    return this.#suspicion.doubts.size;
  }

  /** Windows of estimated rates above a threshold that were judged by themselves only, for want of room. */
  get doubtsRefused(): number {
    return this.#suspicion.doubts.refused;
  }

  /** How many hostgroup sums judge() needs; 0: no whole hostgroup is judged. */
  get groupsToRead(): number {
    const { hostgroups } = this.#policy;
    const areNeeded = this.active.hasGroups || hostgroups.some(({ calculation }) => calculation === "total");
    return areNeeded ? hostgroups.length : 0;
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
    this.baselines.readAhead(rows, count);
    for (let row = 0; row < count; row++) this.#judgeHost(rows, row, judgement);
    if (groups !== null) this.#judgeGroups(groups, judgement);
    for (const attack of this.active.values()) {
      // Carpet attacks are judged by the passes over all hosts.
      if (attack.carpet === null && !judgement.judged.has(attack.id)) this.#observe(attack, SILENT, judgement);
    }
    this.#suspicion.endJudgement(judgement.suspects, now);
    const { suspects, doubts } = this.#suspicion;
    this.meters.keepSuspects(suspects);
    this.#watchedDoubts = [...doubts.keysDueBefore(now.monotonicMs + WATCHED_TICKS * this.#policy.tickMs)];
    if (doubts.hasChanged()) this.#doubted = new AddressIndex([...doubts.keys()].flatMap((key) => hostOf(key) ?? []));
    return judgement.changes;
  }

  /** After how long within the thresholds the attack ends; null: it has ended. */
  endsAfterSeconds({ endedAt, group }: Attack): number | null {
    return endedAt === null ? this.#policy.hysteresisMs(group) / 1000 : null;
  }

  /** Takes what was counted of attacked hosts, oldest first. Call this before judge(), which ends attacks. */
  measure(rows: CountRows, count: number, now: Now): void {
    for (let row = 0; row < count; row++) {
      const attacked = this.active.attackedHost(rows, row);
      if (attacked === null && this.#suspicion.suspects.size === 0) continue;
      const target = attacked ?? addressFromBytes(rows.addresses, row * ADDRESS_BYTES);
      for (const direction of DIRECTIONS) {
        const attack = this.active.ofHost(target, direction);
        const endMs = now.wallMs - (rows.agesMs[row] as number);
        const [spanMs, isBefore] = [rows.spansMs[row] as number, rows.isBefore[row] === 1];
        const weights = { column: rows.weights, from: weightsAt(row, direction) };
        const counted = { endMs, spanMs, isBefore, amounts: rows[direction], from: row * METRICS.length, weights };
        if (attack !== null) this.meters.add(attack, counted);
        else if (this.#suspicion.suspects.size > 0) this.meters.addToSuspect(`${direction} ${target}`, counted);
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
    this.baselines.readAhead(rows, count);
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
      const rates = this.#ratesOf(rows, row, direction);
      const attack = target === null ? null : this.active.ofHost(target, direction);
      if (attack !== null) this.#observe(attack, rates, judgement);
      // No group: the row refers to a table that a reload has just replaced. The next tick uses the new one.
      else if (group?.calculation === "per_host") {
        const host = this.#host;
        host.keys = rows.addresses;
        host.at = row * ADDRESS_BYTES;
        host.group = group;
        host.direction = direction;
        this.#suspect(host, rates, judgement);
      }
    }
  }

  #judgeGroups(sums: HostRows, judgement: Judgement): void {
    for (const [index, group] of this.#policy.hostgroups.entries()) {
      for (const direction of DIRECTIONS) {
        const attack = this.active.ofGroup(group.name, direction);
        const rates = this.#ratesOf(sums, index, direction);
        if (attack !== null) this.#observe(attack, rates, judgement);
        else if (group.calculation === "total")
          this.#suspect(this.baselines.ofGroup(group, direction), rates, judgement);
      }
    }
  }

  #observe(attack: Attack, { column, row, weights }: RowRates, { now, changes, judged }: Judgement): void {
    const rates = rowRates(column, row);
    const isAbove = this.#suspicion.rule.isLasting(rates, attack.thresholds, weights);
    const { windowMs } = this.#policy;
    if (attack.target === null) this.meters.addWindow(attack, { rates, windowMs, isAbove, weights }, now);
    const volume = this.meters.volumeOf(attack);
    const found = { rates, volume, isAbove, samplingError: errorsOf(rates, weights, windowMs) };
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

  #suspect(subject: Learner, of: RowRates, judgement: Judgement): void {
    const limits = this.raised.of(subject, this.baselines.limits(subject));
    const metric = limits === null ? -1 : this.#firstAbove(subject, of, limits, judgement.now);
    if (limits === null || metric < 0) return;
    const { sustainMs, windowMs } = this.#policy;
    // Without a sustain time, no keys are built: a full table may see thousands of suspects per tick.
    const key = sustainMs === 0 ? "" : keyOf(subject);
    if (sustainMs > 0 && !this.#suspicion.isSustained(key, judgement.suspects, judgement.now)) {
      this.meters.suspect(key, { thresholds: Array.from(limits), metric, ...aimOf(subject) });
      return;
    }
    const { column, row, weights } = of;
    if (!this.#makeRoom(sizeOfRates(column, row * METRICS.length), judgement)) {
      this.refused++;
      return;
    }
    const rates = rowRates(column, row);
    const origin = this.baselines.origin(subject, metric);
    const detection = {
      id: this.#newId({ ...aimOf(subject), group: subject.group.name, carpet: null }),
      ...aimOf(subject),
      group: subject.group.name,
      metric,
      thresholds: Array.from(limits),
      rates,
      samplingError: errorsOf(rates, weights, windowMs),
      reason: explain(rates, { ...origin, baselineConfigured: subject.group.baseline !== null }),
    };
    const attack = startAttack(detection, judgement.now);
    if (sustainMs > 0) this.meters.adopt(key, attack);
    if (attack.target === null)
      this.meters.addWindow(attack, { rates, windowMs, isAbove: true, weights }, judgement.now);
    this.active.set(attack);
    judgement.judged.add(attack.id);
    judgement.changes.push({ kind: "started", attack });
  }

  /** Index of the first metric above its limit, with the stated confidence where rates are estimated; -1: none. */
  #firstAbove(subject: Learner, { column, row, weights }: RowRates, limits: Rates, now: Now): number {
    const from = row * METRICS.length;
    const crossed = firstCrossed(column, limits, from);
    const { doubts, rule } = this.#suspicion;
    const isDoubted = doubts.size > 0 && this.#isDoubted(subject);
    if (!isDoubted && (crossed < 0 || !isSampled(weights))) return crossed;
    const certain = crossed < 0 ? -1 : rule.firstCertain(column, limits, weights, from);
    const samples = (metric: number) =>
      rule.samples(metric, column[from + metric] as number, limits[metric] as number, weights);
    return this.#suspicion.firstCertain(keyOf(subject), { crossed, certain, samples }, now);
  }

  /** The next call overwrites the result. */
  #ratesOf(rows: HostRows, row: number, direction: Direction): RowRates {
    const rates = this.#rates;
    rates.column = rows[direction];
    rates.row = row;
    rates.weights.column = rows.weights;
    rates.weights.from = weightsAt(row, direction);
    return rates;
  }

  #isDoubted({ keys, at, group }: Learner): boolean {
    return group.calculation === "total" || this.#doubted.find(keys, at / ADDRESS_BYTES) !== null;
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

/** null: the key is of a hostgroup as a whole. */
function hostOf(key: string): IpAddress | null {
  return parseAddress(key.slice(key.indexOf(" ") + 1));
}

const aimOf = (subject: Learner): Aim => ({ target: targetOf(subject), direction: subject.direction });

/** null: the hostgroup as a whole. */
