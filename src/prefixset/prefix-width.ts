/** How wide the prefixes of a set may be: one that is too wide, most often half a line, contains users without number. Pure. */
import { ADDRESS_BYTES, addressFromBytes, isMappedAt, MAPPED_BITS } from "../net/address.ts";
import { canonicalPrefix, type Prefix, prefixCovers } from "../net/prefix.ts";
import type { PrefixColumns } from "../net/prefix-columns.ts";
import { bogons } from "../net/special-purpose.ts";

/** The shortest length of a prefix, by family. */
export interface ShortestPrefix {
  readonly ipv4: number;
  readonly ipv6: number;
}

/** A shorter one is taken where no users can be: block lists have 224.0.0.0/3. The last has neighbors on a link as well. */
const WITHOUT_USERS = [...bogons(), canonicalPrefix("8000::/1")];

/** null: it is not too wide. */
export function widthFault(prefix: Prefix, shortest: ShortestPrefix): string | null {
  const [most, key] = prefix.family === 4 ? [shortest.ipv4, "shortest_prefix"] : [shortest.ipv6, "shortest_prefix6"];
  if (prefix.length >= most || WITHOUT_USERS.some((one) => prefixCovers(one, prefix))) return null;
  return `is wider than /${most}: correct it, or set ${key} of the set if it is meant`;
}

/** The fault of the first prefix that is too wide; null: none is. */
export function columnsFault({ addresses, lengths }: PrefixColumns, shortest: ShortestPrefix): string | null {
  for (let row = 0; row < lengths.length; row++) {
    const mapped = lengths[row] ?? 0;
    const isIpv4 = mapped >= MAPPED_BITS && isMappedAt(addresses, ADDRESS_BYTES * row);
    if (mapped >= (isIpv4 ? MAPPED_BITS + shortest.ipv4 : shortest.ipv6)) continue;
    const prefix = prefixAt(addresses, row, mapped);
    const fault = widthFault(prefix, shortest);
    if (fault !== null) return `${prefix.text} ${fault}`;
  }
  return null;
}

function prefixAt(addresses: Uint8Array, row: number, mapped: number): Prefix {
  const address = addressFromBytes(addresses, ADDRESS_BYTES * row);
  const family = address.includes(":") ? 6 : 4;
  const length = family === 4 ? mapped - MAPPED_BITS : mapped;
  return { text: `${address}/${length}`, address, length, family };
}
