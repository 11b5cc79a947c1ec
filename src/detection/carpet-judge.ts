/**
 * Judges the prefixes that a pass has added up. Prefixes that come under attack side by side are one attack, as wide as
 * what holds them with at least half of it attacked; it widens as others join, and ends when none of its prefixes is over
 * the thresholds any more.
 */
import type { Config } from "../config/config.ts";
import { CARPETS_MAX, PREFIXES_MAX } from "../limits.ts";
import { addressToBytes, type IpAddress } from "../net/address.ts";
import { canonicalPrefix, enclosingPrefix, type Prefix } from "../net/prefix.ts";
import { METRICS } from "../traffic/rates.ts";
import type { ActiveAttacks } from "./active-attacks.ts";
import { type Attack, firstCrossed, isActive, type Now, observeAttack, startAttack } from "./attack.ts";
import { type CarpetScan, firstBits, isInside, knownBits, type Leaf } from "./carpet-scan.ts";
import type { AttackChange, DetectionPolicy } from "./detector.ts";
import { explain } from "./reason.ts";

export interface CarpetPolicy extends DetectionPolicy {
  readonly carpet: Config["carpet"];
  readonly networks: readonly Prefix[];
}

/** What an attack is on: a prefix within one network and hostgroup. */
interface Block {
  readonly group: number;
  readonly isIpv4: boolean;
  readonly length: number;
  readonly bits: number;
  readonly anyHost: IpAddress;
}

/** An attack that begins. */
interface Draft {
  block: Block;
  readonly metric: number;
}

/** Prefixes over the thresholds, with the metric. */
type Over = ReadonlyMap<Leaf, number>;

export class CarpetJudge {
  #policy: CarpetPolicy;
  readonly #scan: CarpetScan;
  readonly #active: ActiveAttacks;
  readonly #newId: () => string;
  /** Detections that found no place. */
  refused = 0;
  /** Prefixes over the thresholds, by group: since when, in monotonic ms. */
  #suspects = new Map<string, number>();

  constructor(policy: CarpetPolicy, scan: CarpetScan, active: ActiveAttacks, newId: () => string) {
    this.#policy = policy;
    this.#scan = scan;
    this.#active = active;
    this.#newId = newId;
  }

  reconfigure(policy: CarpetPolicy): void {
    this.#policy = policy;
    this.#scan.reconfigure(policy);
  }

  /** After each pass. */
  judge(now: Now): AttackChange[] {
    if (!this.#scan.isWhole) return [];
    const over = this.#overThresholds(now);
    const places = sortedBits(over.keys());
    const changes: AttackChange[] = [];
    const attacked: Leaf[] = [];
    const taken = new Set<Leaf>();
    for (const attack of [...this.#active.carpets()]) {
      const block = this.#widened(this.#blockOf(attack), over, taken, places);
      const leaves = this.#leavesIn(block);
      for (const leaf of leaves) taken.add(leaf);
      const change = this.#observe(attack, block, leaves, now);
      if (change.kind === "lasts") attacked.push(...leaves);
      changes.push(change);
    }
    for (const draft of this.#drafts(over, taken, places)) {
      if (this.#active.size >= this.#policy.maxActive || this.#active.carpetCount >= CARPETS_MAX) {
        this.refused++;
        continue;
      }
      const leaves = this.#leavesIn(draft.block);
      attacked.push(...leaves);
      changes.push({ kind: "started", attack: this.#start(draft, leaves, now) });
    }
    this.#scan.setAttacked(attacked);
    return changes;
  }

  /** With the metric that each of them is over, spread over enough hosts and held for long enough. */
  #overThresholds(now: Now): Over {
    const { carpet, hostgroups, sustainMs } = this.#policy;
    const over = new Map<Leaf, number>();
    const suspects = new Map<string, number>();
    if (carpet === null) return over;
    for (const leaf of this.#scan.leaves) {
      const metric = firstCrossed(this.#scan.sums(leaf), carpet.thresholds);
      if (metric < 0 || this.#scan.hosts([leaf], metric) < carpet.minHosts) continue;
      // The sums of all of it are judged as they are.
      if (hostgroups[leaf.group]?.calculation !== "per_host") continue;
      const key = `${placeOf(leaf)} ${leaf.bits}`;
      const since = this.#suspects.get(key) ?? now.monotonicMs;
      suspects.set(key, since);
      if (now.monotonicMs - since >= sustainMs) over.set(leaf, metric);
    }
    this.#suspects = suspects;
    return over;
  }

  #drafts(over: Over, taken: ReadonlySet<Leaf>, places: Places): Draft[] {
    const drafts: Draft[] = [];
    const free = [...over.keys()].filter((leaf) => !taken.has(leaf)).sort((a, b) => a.bits - b.bits);
    for (const leaf of free) {
      const joined = drafts.some((draft) => {
        const block = this.#joined(draft.block, leaf, places);
        if (block !== null) draft.block = block;
        return block !== null;
      });
      if (!joined && drafts.length <= CARPETS_MAX) drafts.push({ block: leaf, metric: over.get(leaf) ?? 0 });
    }
    return drafts;
  }

  #widened(block: Block, over: Over, taken: ReadonlySet<Leaf>, places: Places): Block {
    let widest = block;
    for (const leaf of over.keys()) {
      if (!taken.has(leaf) && !isInside(leaf, widest)) widest = this.#joined(widest, leaf, places) ?? widest;
    }
    return widest;
  }

  /** The block that holds both, when at least half of it is over the thresholds; null: they are two attacks. */
  #joined(block: Block, leaf: Leaf, places: Places): Block | null {
    const network = this.#policy.networks[leaf.network];
    if (network === undefined || block.group !== leaf.group || block.isIpv4 !== leaf.isIpv4) return null;
    const known = knownBits(leaf);
    // A network by itself.
    if (block.length > known) return null;
    let { length, bits } = block;
    // Thousands of prefixes times all attacks come through here.
    for (let other = Math.floor(leaf.bits / 2 ** (known - length)); other !== bits; other = Math.floor(other / 2)) {
      if (length <= network.length) return null;
      length--;
      bits = Math.floor(bits / 2);
    }
    const size = 2 ** (known - length);
    const attacked = countBetween(places.get(placeOf(leaf)) ?? [], bits * size, (bits + 1) * size);
    return attacked >= size / 2 ? { ...block, length, bits } : null;
  }

  #leavesIn(block: Block): Leaf[] {
    return this.#scan.leaves.filter((leaf) => isInside(leaf, block));
  }

  #blockOf(attack: CarpetAttack): Block {
    const { address, length, family } = canonicalPrefix(attack.carpet.prefix);
    const bits = firstBits(addressToBytes(address), 0, family === 4, length);
    return { group: this.#groupOf(attack), isIpv4: family === 4, length, bits, anyHost: address };
  }

  /** -1: a reload took it away, and with it all that the attack could be seen by. */
  #groupOf({ group }: Attack): number {
    return this.#policy.hostgroups.findIndex(({ name }) => name === group);
  }

  #observe(attack: CarpetAttack, block: Block, leaves: readonly Leaf[], now: Now): AttackChange {
    // By the busiest of its prefixes, as at the start: the sum of many calm ones says nothing.
    const most = new Array<number>(METRICS.length).fill(0);
    for (const leaf of leaves) {
      for (const [i, rate] of this.#scan.sums(leaf).entries()) most[i] = Math.max(most[i] ?? 0, rate);
    }
    const judged = observeAttack(attack, most, this.#policy.hysteresisMs(attack.group), now);
    if (!isActive(judged)) {
      this.#active.delete(judged);
      return { kind: "ended", attack: { ...judged, rates: attack.rates } };
    }
    const observed = { ...judged, ...this.#extent(block, leaves, METRICS.indexOf(attack.metric)) };
    this.#active.set(observed);
    return { kind: "lasts", attack: observed };
  }

  #start({ block, metric }: Draft, leaves: readonly Leaf[], now: Now): Attack {
    const { hostgroups, carpet } = this.#policy;
    const extent = this.#extent(block, leaves, metric);
    const detection = {
      id: this.#newId(),
      target: null,
      group: hostgroups[block.group]?.name ?? "global",
      direction: "incoming",
      metric,
      thresholds: carpet?.thresholds ?? [],
      rates: extent.rates,
      reason: explain(extent.rates),
    } as const;
    const attack = { ...startAttack(detection, now), ...extent };
    this.#active.set(attack);
    return attack;
  }

  #extent(
    { anyHost, length }: Block,
    leaves: readonly Leaf[],
    metric: number,
  ): Pick<Attack, "rates"> & Pick<CarpetAttack, "carpet"> {
    const rates = new Array<number>(METRICS.length).fill(0);
    for (const leaf of leaves) {
      for (const [i, rate] of this.#scan.sums(leaf).entries()) rates[i] = (rates[i] ?? 0) + rate;
    }
    const hosts = Math.round(this.#scan.hosts(leaves, metric));
    return { rates, carpet: { prefix: enclosingPrefix(anyHost, length).text, hosts } };
  }
}

type CarpetAttack = Attack & { readonly carpet: NonNullable<Attack["carpet"]> };

/** Bits of prefixes over the thresholds, in order, by hostgroup and network. */
type Places = ReadonlyMap<number, readonly number[]>;

function sortedBits(leaves: Iterable<Leaf>): Places {
  const places = new Map<number, number[]>();
  for (const leaf of leaves) {
    const place = placeOf(leaf);
    const bits = places.get(place);
    if (bits === undefined) places.set(place, [leaf.bits]);
    else bits.push(leaf.bits);
  }
  for (const bits of places.values()) bits.sort((a, b) => a - b);
  return places;
}

function placeOf({ group, network }: Leaf): number {
  return group * PREFIXES_MAX + network;
}

/** How many are at least `from` and below `to`. */
function countBetween(sorted: readonly number[], from: number, to: number): number {
  return firstAtLeast(sorted, to) - firstAtLeast(sorted, from);
}

function firstAtLeast(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
