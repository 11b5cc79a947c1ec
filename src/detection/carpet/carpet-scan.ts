/**
 * Sums the rates of the hosts of each prefix in one pass over all hosts: the counting part of carpet detection. Hosts
 * of different hostgroups are never summed together.
 */

import { ADDRESS_BYTES, addressFromBytes, type IpAddress } from "../../net/address.ts";
import type { Prefix } from "../../net/prefix.ts";
import { type HostRows, ROW_WEIGHTS } from "../../traffic/host-rows.ts";
import { METRICS, type Thresholds } from "../../traffic/rates.ts";
import { firstCrossed } from "../attack/attack.ts";
import { sizeOfRates } from "../attack/attack-size.ts";
import { WEIGHTS } from "../certainty/sampling.ts";
import type { CarpetConfig } from "./carpet-config.ts";

/** Prefixes over which the traffic of hosts is summed. */
export const CARPET_PREFIXES_MAX = 65_536;

/** Significant bits of an IPv6 prefix: as many as a number represents exactly. */
const BITS_MAX = 52;

/** One packet per second. */
const LEAST_SIZE = 0.01;

/** One prefix of the configured size, or a smaller network. */
export interface Leaf {
  readonly index: number;
  readonly group: number;
  readonly network: number;
  readonly length: number;
  readonly isIpv4: boolean;
  /** The first bits of its addresses, at most BITS_MAX. */
  readonly bits: number;
  readonly anyHost: IpAddress;
}

interface Policy {
  /** null: off. */
  readonly carpet: CarpetConfig | null;
  readonly networks: readonly Prefix[];
}

export class CarpetScan {
  #policy: Policy;
  #leaves: Leaf[] = [];
  /** Leaf index by group and network, then by bits. */
  readonly #places = new Map<number, Map<number, number>>();
  readonly #sums = new Float64Array(CARPET_PREFIXES_MAX * METRICS.length);
  readonly #squares = new Float64Array(CARPET_PREFIXES_MAX * METRICS.length);
  /** Of the estimates, as counts in the window: of packets and of bytes, and the sums that they are of. */
  readonly #variances = new Float64Array(CARPET_PREFIXES_MAX * WEIGHTS);
  readonly #attacked = new Uint8Array(CARPET_PREFIXES_MAX);
  #isWhole = false;
  /** Size of a host (attack-size.ts) below which it starts no prefix of its own; 0 unless there were too many. */
  #least = 0;
  /** Hosts that were not summed because of too many prefixes. */
  overflow = 0;

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  get isOn(): boolean {
    return this.#policy.carpet !== null;
  }

  /** False: a reload happened during the pass, and the sums mix two configurations. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  get leaves(): readonly Leaf[] {
    return this.#leaves;
  }

  reconfigure(policy: Policy): void {
    this.#policy = policy;
    this.#isWhole = false;
    this.#clear();
  }

  /** Call this before each pass. */
  begin(): void {
    this.#isWhole = true;
    // Otherwise a packet a minute to each of very many prefixes would keep out those that are attacked.
    if (this.#leaves.length === CARPET_PREFIXES_MAX) {
      this.#least = Math.max(LEAST_SIZE, 2 * this.#least);
      this.#clear();
    } else if (this.#leaves.length < CARPET_PREFIXES_MAX / 4) {
      this.#least = this.#least > LEAST_SIZE ? this.#least / 2 : 0;
    }
    this.#sums.fill(0, 0, this.#leaves.length * METRICS.length);
    this.#squares.fill(0, 0, this.#leaves.length * METRICS.length);
    this.#variances.fill(0, 0, this.#leaves.length * WEIGHTS);
  }

  /** Returns whether the host's prefix was attacked at the last judgement. */
  add(rows: HostRows, row: number): boolean {
    const index = this.#leafOf(rows, row);
    if (index < 0) return false;
    const [to, from] = [index * METRICS.length, row * METRICS.length];
    for (let i = 0; i < METRICS.length; i++) {
      const rate = rows.incoming[from + i] as number;
      (this.#sums[to + i] as number) += rate;
      (this.#squares[to + i] as number) += rate * rate;
    }
    for (let i = 0; i < WEIGHTS; i++) {
      const weight = rows.weights[row * ROW_WEIGHTS.length + i] as number;
      if (weight > 0) (this.#variances[index * WEIGHTS + i] as number) += weight * (rows.incoming[from + i] as number);
    }
    return this.#attacked[index] === 1;
  }

  /** The sum of the last pass. */
  sum({ index }: Leaf, metric: number): number {
    return this.#sums[index * METRICS.length + metric] as number;
  }

  /** The sum of the squared rates of its hosts. */
  squares({ index }: Leaf, metric: number): number {
    return this.#squares[index * METRICS.length + metric] as number;
  }

  /**
   * The weight times the sum, of packets (metric 0) and of megabits (metric 1): errors of different hosts are independent,
   * so that their variances add up.
   */
  variance({ index }: Leaf, metric: number): number {
    return this.#variances[index * WEIGHTS + metric] as number;
  }

  isExact(leaf: Leaf): boolean {
    return this.variance(leaf, 0) === 0 && this.variance(leaf, 1) === 0;
  }

  /** The rates of its sum, and where they begin. */
  rates({ index }: Leaf): { readonly rates: Float64Array; readonly from: number } {
    return { rates: this.#sums, from: index * METRICS.length };
  }

  /** Index of the first metric strictly above its threshold; -1: none. */
  firstCrossed({ index }: Leaf, thresholds: Thresholds): number {
    return firstCrossed(this.#sums, thresholds, index * METRICS.length);
  }

  /** As of an attack (attack-size.ts). */
  size({ index }: Leaf): number {
    return sizeOfRates(this.#sums, index * METRICS.length);
  }

  hosts(leaf: Leaf, metric: number): number {
    return hostsOfEqualRates(this.sum(leaf, metric), this.squares(leaf, metric));
  }

  /** Sets the attacked leaves; nothing is learned from their hosts. */
  setAttacked(lists: readonly (readonly Leaf[])[]): void {
    this.#attacked.fill(0, 0, this.#leaves.length);
    for (const leaves of lists) for (const { index } of leaves) this.#attacked[index] = 1;
  }

  #leafOf(rows: HostRows, row: number): number {
    const { carpet, networks } = this.#policy;
    const network = rows.networks[row] as number;
    const whole = networks[network];
    // The row refers to a table that a reload has just replaced.
    if (carpet === null || whole === undefined) return -1;
    const length = leafLength(whole, carpet);
    const bits = firstBits(rows.addresses, row * ADDRESS_BYTES, whole.family === 4, length);
    const place = (rows.groups[row] as number) * networks.length + network;
    let leaves = this.#places.get(place);
    if (leaves === undefined) {
      leaves = new Map();
      this.#places.set(place, leaves);
    }
    const known = leaves.get(bits);
    if (known !== undefined) return known;
    const index = this.#leaves.length;
    const isTooSmall = this.#least > 0 && sizeOfRates(rows.incoming, row * METRICS.length) < this.#least;
    if (isTooSmall || index === CARPET_PREFIXES_MAX) {
      this.overflow++;
      return -1;
    }
    const anyHost = addressFromBytes(rows.addresses, row * ADDRESS_BYTES);
    const group = rows.groups[row] as number;
    this.#leaves.push({ index, group, network, length, isIpv4: whole.family === 4, bits, anyHost });
    leaves.set(bits, index);
    return index;
  }

  #clear(): void {
    this.#leaves = [];
    this.#places.clear();
    this.#sums.fill(0);
    this.#squares.fill(0);
    this.#variances.fill(0);
    this.#attacked.fill(0);
  }
}

/** How many bits of the prefix `bits` holds. */
export function knownBits({ isIpv4, length }: Pick<Leaf, "isIpv4" | "length">): number {
  return isIpv4 ? length : Math.min(length, BITS_MAX);
}

/** The leaf length of a network: the configured size, or the network itself if it is smaller. */
export function leafLength(network: Prefix, { prefixV4, prefixV6 }: CarpetConfig): number {
  return Math.max(network.length, network.family === 4 ? prefixV4 : prefixV6);
}

/** The effective number of hosts, (Σx)²/Σx²: 40 flooded hosts among 200 nearly idle ones give about 40. */
export function hostsOfEqualRates(sum: number, squares: number): number {
  return squares === 0 ? 0 : (sum * sum) / squares;
}

/** The first bits as a number; of IPv6 at most BITS_MAX, since a longer prefix is a network by itself. */
export function firstBits(bytes: Uint8Array, at: number, isIpv4: boolean, length: number): number {
  if (isIpv4) return Math.floor(wordAt(bytes, at + 12) / 2 ** (32 - length));
  const first = wordAt(bytes, at) * 2 ** 20 + Math.floor(wordAt(bytes, at + 4) / 2 ** 12);
  return Math.floor(first / 2 ** (BITS_MAX - Math.min(length, BITS_MAX)));
}

function wordAt(bytes: Uint8Array, at: number): number {
  const high = ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
  return high * 0x1_0000 + (((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number));
}
