/** The sums of the hosts of each prefix in the addon, made by the same pass over all hosts that learns normal rates. */

/** Prefixes have numbers from 0 on, in the order in which they were first seen. Rows of one prefix are METRICS long. */
export interface PrefixSums {
  /** By network: the length of its prefixes, and 1 for IPv4. Empty: nothing is summed. Forgets all prefixes. */
  setNetworks(lengths: Uint8Array, isIpv4: Uint8Array): void;
  /** Call this before each pass. */
  begin(): void;
  stats(): {
    readonly count: number;
    /** Another one when all prefixes were forgotten. */
    readonly generation: number;
    /** Hosts that were not summed because of too many prefixes. */
    readonly overflow: number;
  };
  /**
   * For the first prefixes, as many as fit: the sums of the rates, of their squares, and of packets and megabits the
   * variance of the estimates.
   */
  read(sums: Float64Array, squares: Float64Array, variances: Float64Array): void;
  /** Reads those from `first` on: the first bits of their addresses, and the 16 bytes of the address of any host. */
  readNames(first: number, groups: Uint32Array, networks: Uint32Array, bits: Float64Array, addresses: Uint8Array): void;
  /** By number, 1 for an attacked one: nothing is learned from its hosts. */
  setAttacked(isAttacked: Uint8Array): void;
  close(): void;
}

/** @param capacity the maximum number of prefixes. */
export type OpenPrefixSums = (capacity: number) => PrefixSums;
