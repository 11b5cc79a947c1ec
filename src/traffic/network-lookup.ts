/**
 * Finds the configured network and the hostgroup of an address with one longest-prefix match: every row names both. The
 * packet counter uses the same rows.
 */
import { ADDRESS_BYTES, type IpAddress } from "../net/address.ts";
import { addressBits, clearHostBits, mappedLength, type Prefix } from "../net/prefix.ts";
import { type PackedPrefixes, PrefixTable } from "../net/prefix-table.ts";

/** With more prefixes it is not looked up whether they leave no address of a wider one to others. */
const COMPARED_MAX = 512;
/** Exact bits of a double. */
const EXACT_BITS = 52;

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

interface GroupedNetworks {
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
    const found = new Set<number>();
    const length = mappedLength(prefix);
    const narrower: number[] = [];
    this.#prefixes.someIn(prefix, (row) => {
      const group = groups[row];
      if (group === undefined || (prefixes.lengths[row] ?? 0) <= length) return false;
      found.add(group);
      narrower.push(row);
      return false;
    });
    if (around !== undefined && !this.#areAll(narrower, length)) found.add(around);
    return [...found];
  }

  /** Whether these prefixes, all of them within one of `length`, leave none of its addresses to others. */
  #areAll(rows: readonly number[], length: number): boolean {
    if (rows.length > COMPARED_MAX) return false;
    const { addresses, lengths } = this.#packed.prefixes;
    const bitsOf = (row: number) => lengths[row] ?? 0;
    const isWithin = (row: number, wider: number) => {
      const [own, other] = [row, wider].map((each) =>
        addresses.slice(each * ADDRESS_BYTES, (each + 1) * ADDRESS_BYTES),
      );
      if (own === undefined || other === undefined) return false;
      clearHostBits(own, bitsOf(wider));
      return Buffer.compare(own, other) === 0;
    };
    const apart: number[] = [];
    for (const row of rows.toSorted((a, b) => bitsOf(a) - bitsOf(b)))
      if (!apart.some((wider) => isWithin(row, wider))) apart.push(row);
    // Sums of such fractions are exact.
    const areExact = apart.every((row) => bitsOf(row) - length <= EXACT_BITS);
    return areExact && apart.reduce((sum, row) => sum + 2 ** (length - bitsOf(row)), 0) === 1;
  }

  /** Index in `config.hostgroups`, 0 for `global`; -1 outside the networks. */
  group(ip: IpAddress): number {
    return this.#packed.groups[this.#prefixes.find(ip)] ?? -1;
  }
}
