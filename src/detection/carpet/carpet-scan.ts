/**
 * The sums of the hosts of each prefix, of one pass over all hosts in which the addon makes them: the counting part of
 * carpet detection. Hosts of different hostgroups are never summed together.
 */

import { ADDRESS_BYTES, addressFromBytes, type IpAddress } from "../../net/address.ts";
import type { Prefix } from "../../net/prefix.ts";
import { METRICS, type Thresholds } from "../../traffic/rates.ts";
import { firstCrossed } from "../attack/attack.ts";
import { sizeOfRates } from "../attack/attack-size.ts";
import { WEIGHTS } from "../certainty/sampling.ts";
import type { CarpetConfig } from "./carpet-config.ts";
import type { OpenPrefixSums, PrefixSums } from "./prefix-sums.ts";

/** Prefixes over which the traffic of hosts is summed. */
export const CARPET_PREFIXES_MAX = 65_536;

/** Significant bits of an IPv6 prefix: as many as a number represents exactly. */
const BITS_MAX = 52;

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
  /** The numbers in them are those of the leaves. */
  readonly sums: PrefixSums;
  #policy: Policy;
  #leaves: Leaf[] = [];
  #generation = 0;
  readonly #sums = new Float64Array(CARPET_PREFIXES_MAX * METRICS.length);
  readonly #squares = new Float64Array(CARPET_PREFIXES_MAX * METRICS.length);
  /** Variances of the estimates, as counts in the window: of packets and of bytes, and the sums that they are of. */
  readonly #variances = new Float64Array(CARPET_PREFIXES_MAX * WEIGHTS);
  #isWhole = false;

  constructor(policy: Policy, open: OpenPrefixSums) {
    this.sums = open(CARPET_PREFIXES_MAX);
    this.#policy = policy;
    this.#setNetworks();
  }

  /** Hosts that were not summed because of too many prefixes. */
  get overflow(): number {
    return this.sums.stats().overflow;
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
    this.#setNetworks();
  }

  /** Call this before each pass. */
  begin(): void {
    this.#isWhole = true;
    this.sums.begin();
  }

  /** Reads the sums: call this after each pass. */
  read(): void {
    const { count, generation } = this.sums.stats();
    if (generation !== this.#generation) this.#leaves = [];
    this.#generation = generation;
    this.#addLeaves(count);
    const [rates, variances] = [count * METRICS.length, count * WEIGHTS];
    this.sums.read(
      this.#sums.subarray(0, rates),
      this.#squares.subarray(0, rates),
      this.#variances.subarray(0, variances),
    );
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
    const isAttacked = new Uint8Array(this.#leaves.length);
    for (const leaves of lists) for (const { index } of leaves) isAttacked[index] = 1;
    this.sums.setAttacked(isAttacked);
  }

  /** Those that are new since the last pass. */
  #addLeaves(count: number): void {
    const first = this.#leaves.length;
    const added = count - first;
    if (added === 0) return;
    const [groups, networks] = [new Uint32Array(added), new Uint32Array(added)];
    const [bits, addresses] = [new Float64Array(added), new Uint8Array(added * ADDRESS_BYTES)];
    this.sums.readNames(first, groups, networks, bits, addresses);
    for (let i = 0; i < added; i++) {
      const network = networks[i] as number;
      const { length, isIpv4 } = this.#shapeOf(network);
      const anyHost = addressFromBytes(addresses, i * ADDRESS_BYTES);
      const place = { group: groups[i] as number, network, length, isIpv4 };
      this.#leaves.push({ index: first + i, ...place, bits: bits[i] as number, anyHost });
    }
  }

  /** The form of the prefixes of a network. */
  #shapeOf(network: number): Pick<Leaf, "length" | "isIpv4"> {
    const { carpet, networks } = this.#policy;
    const whole = networks[network];
    if (carpet === null || whole === undefined) throw new Error(`network ${network} of a prefix is not configured`);
    return { length: leafLength(whole, carpet), isIpv4: whole.family === 4 };
  }

  #setNetworks(): void {
    const { carpet, networks } = this.#policy;
    const shapes = carpet === null ? [] : networks.map((_, network) => this.#shapeOf(network));
    this.sums.setNetworks(
      Uint8Array.from(shapes, ({ length }) => length),
      Uint8Array.from(shapes, ({ isIpv4 }) => Number(isIpv4)),
    );
    this.#leaves = [];
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
