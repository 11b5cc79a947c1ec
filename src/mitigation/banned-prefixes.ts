/** The prefixes whose traffic active bans drop, filter or divert: what is left of it is not normal. */
import { ADDRESS_BYTES, addressToBytes } from "../net/address.ts";
import { mappedLength } from "../net/prefix.ts";
import { type Ban, wantedRoutes } from "./ban.ts";

/** 16 bytes an address, and lengths of the 128-bit form. Virtual bans and those that only watch keep no traffic away. */
export function bannedPrefixes(bans: Iterable<Ban>): { readonly addresses: Uint8Array; readonly lengths: Uint8Array } {
  const held = [...bans].filter((ban) => wantedRoutes(ban).length > 0);
  const addresses = new Uint8Array(held.length * ADDRESS_BYTES);
  for (const [i, { target }] of held.entries()) addresses.set(addressToBytes(target), i * ADDRESS_BYTES);
  return { addresses, lengths: Uint8Array.from(held, ({ prefix }) => mappedLength(prefix)) };
}
