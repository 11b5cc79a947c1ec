/**
 * Finds the configured network and the hostgroup of an address with one longest-prefix match: every row names both. The
 * packet counter uses the same rows.
 */
import type { IpAddress } from "../net/address.ts";
import { addressBits, mappedLength, type Prefix } from "../net/prefix.ts";
import { type PackedPrefixes, PrefixTable } from "../net/prefix-table.ts";

/** The configured prefixes for the addon, replaced as a whole; the longest match wins. */
export interface NetworksTable {
  /** 16 bytes per prefix, IPv4 in its mapped form; lengths refer to that form. */
  readonly addresses: Uint8Array;
  readonly lengths: Uint8Array;
  readonly networks: Uint32Array;
  readonly groups: Uint32Array;
  /** One more than the largest identifier used. */
  readonly networkCount: number;
  readonly groupCount: number;
}

/** The data with which another thread can make the same lookup. */
export interface PackedLookup {
  readonly prefixes: PackedPrefixes;
  readonly networks: Uint32Array<ArrayBuffer>;
  readonly groups: Uint32Array<ArrayBuffer>;
  /** One more than the largest identifier used. */
  readonly networkCount: number;
  readonly groupCount: number;
}

export interface GroupedNetworks {
  readonly networks: readonly Prefix[];
  /** Each network of a group must lie in one of `networks`. */
  readonly hostgroups: readonly { readonly name: string; readonly networks: readonly Prefix[] }[];
}

/** The implicit group `global`, of all addresses that no hostgroup names. */
const GLOBAL_GROUP = 0;

export class NetworkLookup {
  readonly #packed: PackedLookup;
  readonly #prefixes: PrefixTable;

  constructor(packed: PackedLookup) {
    this.#packed = packed;
    this.#prefixes = new PrefixTable(packed.prefixes);
  }

  static of({ networks, hostgroups }: GroupedNetworks): NetworkLookup {
    // By text: a hostgroup may contain a complete network, whose prefix must be in the table once.
    const rows = new Map<string, { prefix: Prefix; network: number; group: number }>();
    networks.forEach((prefix, network) => {
      rows.set(prefix.text, { prefix, network, group: GLOBAL_GROUP });
    });
    const table = PrefixTable.of(networks);
    hostgroups.forEach((hostgroup, group) => {
      for (const prefix of hostgroup.networks) {
        const network = table.find(prefix.address);
        if (network < 0) throw new Error(`hostgroup ${hostgroup.name}: ${prefix.text} lies in no network`);
        rows.set(prefix.text, { prefix, network, group });
      }
    });
    return new NetworkLookup({
      prefixes: PrefixTable.of(Array.from(rows.values(), ({ prefix }) => prefix)).packed,
      networks: Uint32Array.from(rows.values(), ({ network }) => network),
      groups: Uint32Array.from(rows.values(), ({ group }) => group),
      networkCount: networks.length,
      groupCount: hostgroups.length,
    });
  }

  get packed(): PackedLookup {
    return this.#packed;
  }

  get table(): NetworksTable {
    const { prefixes, ...rest } = this.#packed;
    return { addresses: prefixes.addresses, lengths: prefixes.lengths, ...rest };
  }

  /** Whether the address lies in any of the networks. */
  holds(ip: IpAddress): boolean {
    return this.#prefixes.find(ip) >= 0;
  }

  /** Index in `config.networks`; -1: in no network. */
  network(ip: IpAddress): number {
    return this.#packed.networks[this.#prefixes.find(ip)] ?? -1;
  }

  /** Whether all addresses of a prefix are in one hostgroup. The prefix must lie in one network. Scans all prefixes. */
  isOfOneGroup(prefix: Prefix): boolean {
    return this.groupOf(prefix) >= 0;
  }

  /**
   * Index of the hostgroup of all addresses of a prefix; -1: it lies in no network, or in several hostgroups. Scans all
   * prefixes, unless it is one address.
   */
  groupOf(prefix: Prefix): number {
    const group = this.#packed.groups[this.#prefixes.findAround(prefix)] ?? -1;
    if (prefix.length === addressBits(prefix.family)) return group;
    const { prefixes, groups } = this.#packed;
    const length = mappedLength(prefix);
    // A wider one may begin with it.
    const isOther = (row: number) => groups[row] !== group && (prefixes.lengths[row] ?? 0) > length;
    return this.#prefixes.someIn(prefix, isOther) ? -1 : group;
  }

  /** Indexes of the hostgroups that have addresses in a prefix within one network, in no order. Scans all prefixes. */
  groupsIn(prefix: Prefix): number[] {
    const { prefixes, groups } = this.#packed;
    const around = groups[this.#prefixes.findAround(prefix)];
    const found = new Set(around === undefined ? [] : [around]);
    const length = mappedLength(prefix);
    this.#prefixes.someIn(prefix, (row) => {
      const group = groups[row];
      if (group !== undefined && (prefixes.lengths[row] ?? 0) > length) found.add(group);
      return false;
    });
    return [...found];
  }

  /** Index in `config.hostgroups`, 0 for `global`; -1 outside the networks. */
  group(ip: IpAddress): number {
    return this.#packed.groups[this.#prefixes.find(ip)] ?? -1;
  }
}
