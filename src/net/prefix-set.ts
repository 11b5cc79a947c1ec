/** Longest-prefix match over many prefixes: one hash lookup for each length in use, the longest first. */
import { ADDRESS_BYTES, addressFamily, addressToBytes, type IpAddress, MAPPED_BITS } from "./address.ts";
import { clearHostBits, mappedLength, type Prefix } from "./prefix.ts";

export class PrefixSet {
  /** Longest first. Lengths are of the 128-bit form; each table goes by the key of a prefix's first address. */
  readonly #tables: readonly { readonly bits: number; readonly prefixes: ReadonlyMap<string, Prefix> }[];

  constructor(prefixes: Iterable<Prefix>) {
    const byLength = new Map<number, Map<string, Prefix>>();
    for (const prefix of prefixes) {
      const bits = mappedLength(prefix);
      const table = byLength.get(bits) ?? new Map<string, Prefix>();
      byLength.set(bits, table.set(keyOf(addressToBytes(prefix.address)), prefix));
    }
    this.#tables = [...byLength].map(([bits, prefixes]) => ({ bits, prefixes })).sort((a, b) => b.bits - a.bits);
  }

  /** The longest prefix that contains `ip`. */
  match(ip: IpAddress): Prefix | null {
    const bytes = addressToBytes(ip);
    // Without this, ::/0 would contain every IPv4 address by its mapped form.
    const shortest = addressFamily(ip) === 4 ? MAPPED_BITS : 0;
    for (const { bits, prefixes } of this.#tables) {
      if (bits < shortest) break;
      clearHostBits(bytes, bits);
      const prefix = prefixes.get(keyOf(bytes));
      if (prefix !== undefined) return prefix;
    }
    return null;
  }
}

/** Eight UTF-16 units: a string, because Map compares typed arrays by identity. */
function keyOf(bytes: Uint8Array): string {
  let key = "";
  for (let i = 0; i < ADDRESS_BYTES; i += 2) key += String.fromCharCode(((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0));
  return key;
}
