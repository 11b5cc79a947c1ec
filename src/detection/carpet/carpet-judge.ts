/**
 * Judges the prefixes that a pass has summed. Neighboring prefixes above the thresholds are one attack on the widest
 * block of which at least half is attacked. It widens as more prefixes join, and ends when none is above the
 * thresholds, or when it has become part of another attack.
 */
import { CARPETS_MAX } from "../../limits.ts";
import type { IpAddress } from "../../net/address.ts";
import { canonicalPrefix, enclosingPrefix, type Prefix } from "../../net/prefix.ts";
import type { Now } from "../../system/now.ts";
import { METRICS, type Thresholds } from "../../traffic/rates.ts";
import type { ActiveAttacks } from "../attack/active-attacks.ts";
import { type Attack, endAttack, isActive, type NewAttackId, observeAttack, startAttack } from "../attack/attack.ts";
import type { AttackMeters } from "../attack/attack-meters.ts";
import { sizeOfRates } from "../attack/attack-size.ts";
import { explain } from "../attack/reason.ts";
import { ReplaceableAttacks } from "../attack/replaceable-attacks.ts";
import { errorsOf, type RowWeights, WEIGHTS } from "../certainty/sampling.ts";
import { DOUBTFUL_TARGETS_MAX, Suspicion } from "../certainty/suspicion.ts";
import type { AttackChange, DetectionPolicy } from "../judge/detector.ts";
import {
  type Block,
  BlockIndex,
  blockOf,
  containsBlock,
  type Places,
  placeOf,
  type Reach,
  widestBlock,
} from "./carpet-blocks.ts";
import type { CarpetConfig } from "./carpet-config.ts";
import { type CarpetScan, type Leaf, leafLength } from "./carpet-scan.ts";
import { CarpetSums } from "./carpet-sums.ts";
import { HostSpread } from "./host-spread.ts";

export interface CarpetPolicy extends DetectionPolicy {
  /** null: off. */
  readonly carpet: CarpetConfig | null;
  readonly networks: readonly Prefix[];
  /** Index in `networks`; -1: in no network. */
  networkOf(address: IpAddress): number;
  /**
   * Whether a prefix may be banned: attacks do not grow beyond that. null: attacks only alert, and may be as wide as a
   * network.
   */
  readonly isBannable: ((prefix: Prefix) => boolean) | null;
}

/** An attack in progress, or a new one. */
interface Subject {
  readonly of:
    | { readonly kind: "known"; readonly id: string; readonly isPart: boolean }
    | { readonly kind: "new"; readonly metric: number };
  readonly block: Block;
  readonly sums: CarpetSums;
}

interface OverThresholds {
  /** Leaves above a threshold for long enough and over enough hosts, each with its first such metric. */
  readonly metrics: ReadonlyMap<Leaf, number>;
  readonly places: Places;
}

/** Leaves checked in one slice: well under a millisecond, a few when all of them are attacked. */
const SLICE_LEAVES = 2048;

export class CarpetJudge {
  #policy: CarpetPolicy;
  readonly #scan: CarpetScan;
  readonly #active: ActiveAttacks;
  readonly #meters: AttackMeters;
  readonly #newId: NewAttackId;
  /** Detections refused because there were too many, and attacks ended early for larger ones. */
  refused = 0;
  replaced = 0;
  /** By group and prefix. */
  readonly #suspicion: Suspicion;
  readonly #spread = new HostSpread(DOUBTFUL_TARGETS_MAX);

  constructor(
    policy: CarpetPolicy,
    scan: CarpetScan,
    { active, meters }: { readonly active: ActiveAttacks; readonly meters: AttackMeters },
    newId: NewAttackId,
  ) {
    this.#policy = policy;
    this.#suspicion = new Suspicion(policy);
    this.#scan = scan;
    this.#active = active;
    this.#meters = meters;
    this.#newId = newId;
  }

  /** Windows of estimated sums above a threshold that were judged by themselves only, for want of room. */
  get doubtsRefused(): number {
    return this.#suspicion.doubts.refused + this.#spread.refused;
  }

  reconfigure(policy: CarpetPolicy): void {
    this.#policy = policy;
    this.#suspicion.reconfigure(policy);
    this.#scan.reconfigure(policy);
    this.#spread.clear();
  }

  /** Call this after each pass, before the next. Other work may run at each yield: changes happen in the last step. */
  *judge(now: Now): Generator<void, AttackChange[]> {
    if (!this.#scan.isWhole) return [];
    this.#scan.read();
    const over = yield* this.#overThresholds(now);
    // A reload happened meanwhile: the next pass counts for the new configuration.
    if (!this.#scan.isWhole) return [];
    const subjects = yield* this.#known(over.places);
    yield* this.#addNew(subjects, over);
    yield* this.#addUp(subjects);
    return this.#scan.isWhole ? this.#changes(subjects, now) : [];
  }

  /** Runs judge() without pauses, for a replay. */
  judgeWithoutPauses(now: Now): AttackChange[] {
    const steps = this.judge(now);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    return step.value;
  }

  *#overThresholds(now: Now): Generator<void, OverThresholds> {
    const { carpet, hostgroups, sustainMs } = this.#policy;
    const metrics = new Map<Leaf, number>();
    const bits = new Map<number, number[]>();
    const suspects = new Map<string, number>();
    for (const leaf of carpet === null ? [] : this.#scan.leaves) {
      if (leaf.index % SLICE_LEAVES === SLICE_LEAVES - 1) yield;
      const metric = this.#firstAbove(leaf, carpet?.thresholds ?? [], now);
      const isSpread = this.#isSpread(leaf, metric, now);
      if (metric < 0 || !isSpread) continue;
      // Only the group's total is judged.
      if (hostgroups[leaf.group]?.calculation !== "per_host") continue;
      if (sustainMs > 0 && !this.#suspicion.isSustained(keyOf(leaf), suspects, now)) continue;
      metrics.set(leaf, metric);
      const place = placeOf(leaf);
      const known = bits.get(place);
      if (known === undefined) bits.set(place, [leaf.bits]);
      else known.push(leaf.bits);
    }
    this.#suspicion.endJudgement(suspects, now);
    this.#spread.forget(this.#suspicion.windowAt(now));
    yield;
    return { metrics, places: new Map([...bits].map(([place, all]) => [place, Float64Array.from(all).sort()])) };
  }

  /** Index of the first metric above its threshold, with the stated confidence where rates are estimated; -1: none. */
  #firstAbove(leaf: Leaf, thresholds: Thresholds, now: Now): number {
    const crossed = this.#scan.firstCrossed(leaf, thresholds);
    if (this.#scan.isExact(leaf)) return crossed;
    const weights = this.#weightsOf(leaf);
    const { rates, from } = this.#scan.rates(leaf);
    const { rule } = this.#suspicion;
    const certain = crossed < 0 ? -1 : rule.firstCertain(rates, thresholds, weights, from);
    const samples = (metric: number) =>
      rule.samples(metric, this.#scan.sum(leaf, metric), thresholds[metric] as number, weights);
    return this.#suspicion.firstCertain(keyOf(leaf), { crossed, certain, samples }, now);
  }

  /** Windows above a threshold count as well while it is not certain, so that the hosts are known when it is. */
  #isSpread(leaf: Leaf, certain: number, now: Now): boolean {
    const { carpet } = this.#policy;
    if (carpet === null) return false;
    const isExact = this.#scan.isExact(leaf);
    const metric = certain >= 0 || isExact ? certain : this.#scan.firstCrossed(leaf, carpet.thresholds);
    if (metric < 0) return false;
    const [sum, squares] = [this.#scan.sum(leaf, metric), this.#scan.squares(leaf, metric)];
    const variance = this.#suspicion.rule.variance(metric, sum, this.#weightsOf(leaf));
    return this.#spread.isOver(carpet.minHosts, keyOf(leaf), { sum, squares, variance }, this.#suspicion.windowAt(now));
  }

  #weightsOf(leaf: Leaf): RowWeights {
    const column = new Array<number>(WEIGHTS);
    for (let i = 0; i < WEIGHTS; i++) column[i] = this.#scan.variance(leaf, i) / (this.#scan.sum(leaf, i) || 1);
    return { column, from: 0 };
  }

  /** Widest first: an attack that became part of another one ends. */
  *#known(places: Places): Generator<void, Subject[]> {
    const subjects: Subject[] = [];
    const before: Block[] = [];
    const attacks = [...this.#active.carpets()].map((attack) => ({ id: attack.id, block: this.#blockOf(attack) }));
    for (const { id, block } of attacks.sort((a, b) => a.block.length - b.block.length)) {
      const isPart = before.some((other) => containsBlock(other, block));
      // An attack that becomes part of another one stays for one more pass, until the other one's ban is in force.
      const isTaken = isPart || subjects.some((other) => containsBlock(other.block, block));
      before.push(block);
      const widest = isTaken ? block : widestBlock(block, this.#reach(block, places));
      subjects.push({ of: { kind: "known", id, isPart }, block: widest, sums: new CarpetSums() });
      // With many hostgroups the check of a prefix takes time.
      yield;
    }
    return subjects;
  }

  *#addNew(subjects: Subject[], { metrics, places }: OverThresholds): Generator<void> {
    const index = new BlockIndex<Subject>();
    for (const subject of subjects) if (!isPart(subject)) index.add(subject.block, subject);
    let drafts = 0;
    let looked = 0;
    for (const [leaf, metric] of largestFirst(metrics, this.#scan)) {
      if (++looked % SLICE_LEAVES === 0) yield;
      if (index.has(leaf)) continue;
      if (drafts++ > CARPETS_MAX) return;
      const { group, network, isIpv4, length, bits, anyHost } = leaf;
      const block = { group, network, isIpv4, length, bits, anyHost };
      const subject: Subject = {
        of: { kind: "new", metric },
        block: widestBlock(block, this.#reach(block, places)),
        sums: new CarpetSums(),
      };
      index.add(subject.block, subject);
      subjects.push(subject);
      yield;
    }
  }

  *#addUp(subjects: readonly Subject[]): Generator<void> {
    const index = new BlockIndex<CarpetSums>();
    for (const subject of subjects) if (!isPart(subject)) index.add(subject.block, subject.sums);
    for (const leaf of subjects.length === 0 ? [] : this.#scan.leaves) {
      if (leaf.index % SLICE_LEAVES === SLICE_LEAVES - 1) yield;
      index.visit(leaf, (sums) => sums.add(leaf, this.#scan));
    }
  }

  #changes(subjects: readonly Subject[], now: Now): AttackChange[] {
    const changes: AttackChange[] = [];
    const replaceable = new ReplaceableAttacks(this.#active);
    const attacked: Leaf[][] = [];
    for (const subject of subjects) {
      if (subject.of.kind === "new" && !this.#makeRoom(subject.sums, replaceable, changes, now)) continue;
      const change = subject.of.kind === "known" ? this.#observe(subject, now) : this.#start(subject, now);
      if (change === null) continue;
      changes.push(change);
      if (change.kind !== "ended") attacked.push(subject.sums.leaves);
    }
    this.#scan.setAttacked(attacked);
    return changes;
  }

  #reach(block: Block, over: Places): Reach {
    const { carpet, networks, isBannable } = this.#policy;
    const network = networks[block.network];
    const shortest = network?.length ?? block.length;
    return {
      over,
      leafLength: network === undefined || carpet === null ? block.length : leafLength(network, carpet),
      shortest,
      isPossible: ({ anyHost, length }) => isBannable === null || isBannable(enclosingPrefix(anyHost, length)),
    };
  }

  /** A hostgroup or network that a reload removed has no traffic. */
  #blockOf({ group, carpet }: CarpetAttack): Block {
    const prefix = canonicalPrefix(carpet.prefix);
    return blockOf(prefix, {
      group: this.#policy.hostgroups.findIndex(({ name }) => name === group),
      network: this.#policy.networkOf(prefix.address),
    });
  }

  /** null: the attack ended already. */
  #observe({ of, block, sums }: Subject, now: Now): AttackChange | null {
    const attack = of.kind === "known" ? this.#active.carpet(of.id) : null;
    if (of.kind !== "known" || attack === null) return null;
    const isAbove = this.#suspicion.rule.isLasting(sums.most, attack.thresholds, sums.weights);
    const found = { rates: sums.most, volume: attack.volume, isAbove };
    // Judged by its busiest prefix, as at the start: the sum of many calm prefixes means nothing.
    const judged = of.isPart
      ? endAttack(attack, now.wallMs)
      : observeAttack(attack, found, this.#policy.hysteresisMs(attack.group), now);
    const spread = extent(block, sums, METRICS.indexOf(attack.metric));
    const { windowMs } = this.#policy;
    const isAttacked = judged.calmSinceMs === null;
    const leaves = { targets: leavesIn(block, this.#policy.carpet), busiest: sums.most };
    const { weights } = sums;
    this.#meters.addWindow(
      judged,
      { rates: spread.rates, windowMs, isAbove: isAttacked, weights, spread: leaves },
      now,
    );
    const volume = this.#meters.volumeOf(judged);
    if (!isActive(judged)) {
      this.#active.delete(judged);
      this.#meters.ended(judged.id);
      return { kind: "ended", attack: { ...judged, rates: attack.rates, volume } };
    }
    // A calm attack keeps the number of hosts that it had: before its end there would be none.
    const hosts = isAttacked ? spread.carpet.hosts : (attack.carpet?.hosts ?? 0);
    const carpet = { ...spread.carpet, hosts };
    const samplingError = errorsOf(spread.rates, weights, windowMs);
    const observed = { ...judged, ...spread, carpet, volume, samplingError };
    this.#active.set(observed);
    return { kind: "lasts", attack: observed };
  }

  /** Known attacks come first in a pass. If there are too many, a new one replaces one that is calm or smaller. */
  #makeRoom({ rates }: CarpetSums, replaceable: ReplaceableAttacks, changes: AttackChange[], now: Now): boolean {
    if (this.#active.carpetCount < CARPETS_MAX) return true;
    const replaced = replaceable.takeFor(sizeOfRates(rates), ({ carpet }) => carpet !== null);
    if (replaced === null) {
      this.refused++;
      return false;
    }
    this.replaced++;
    this.#active.delete(replaced);
    this.#meters.ended(replaced.id);
    changes.push({ kind: "ended", attack: endAttack(replaced, now.wallMs) });
    return true;
  }

  #start({ of, block, sums }: Subject, now: Now): AttackChange | null {
    if (of.kind !== "new") return null;
    const { hostgroups, carpet } = this.#policy;
    const spread = extent(block, sums, of.metric);
    const on = { target: null, group: hostgroups[block.group]?.name ?? "global", direction: "incoming" } as const;
    const detection = {
      id: this.#newId({ ...on, carpet: spread.carpet }),
      ...on,
      metric: of.metric,
      thresholds: carpet?.thresholds ?? [],
      rates: spread.rates,
      samplingError: errorsOf(spread.rates, sums.weights, this.#policy.windowMs),
      reason: explain(spread.rates),
    } as const;
    const attack = { ...startAttack(detection, now), ...spread };
    const { windowMs } = this.#policy;
    this.#meters.addWindow(attack, { rates: spread.rates, windowMs, isAbove: true, weights: sums.weights }, now);
    this.#active.set(attack);
    return { kind: "started", attack };
  }
}

/** By powers of two of their size: to sort tens of thousands of prefixes would block the event loop. */
function largestFirst(metrics: OverThresholds["metrics"], scan: CarpetScan): [Leaf, number][] {
  const bySize = Map.groupBy(metrics, ([leaf]) => Math.round(Math.log2(1 + scan.size(leaf))));
  return [...bySize].sort(([a], [b]) => b - a).flatMap(([, leaves]) => leaves);
}

type CarpetAttack = Attack & { readonly carpet: NonNullable<Attack["carpet"]> };

/** One at a place has the bits of one length. */
function keyOf(leaf: Leaf): string {
  return `${placeOf(leaf)} ${leaf.bits}`;
}

function isPart({ of }: Subject): boolean {
  return of.kind === "known" && of.isPart;
}

function extent(
  { anyHost, length }: Block,
  sums: CarpetSums,
  metric: number,
): Pick<Attack, "rates"> & Pick<CarpetAttack, "carpet"> {
  const carpet = { prefix: enclosingPrefix(anyHost, length).text, hosts: Math.round(sums.hosts(metric)) };
  return { rates: Array.from(sums.rates), carpet };
}

/** The number of leaves, prefixes of the configured length. */
function leavesIn({ isIpv4, length }: Block, carpet: CarpetPolicy["carpet"]): number {
  if (carpet === null) return 1;
  return 2 ** Math.max(0, (isIpv4 ? carpet.prefixV4 : carpet.prefixV6) - length);
}
