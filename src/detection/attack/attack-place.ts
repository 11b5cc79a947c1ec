/** Where to search for packets of an attack: a host, a prefix, or a hostgroup; in one direction. Pure. */
import { SAMPLE_PLACE } from "../../native/constants.ts";
import { ADDRESS_BYTES, writeAddress } from "../../net/address.ts";
import { canonicalPrefix, hostPrefix, mappedLength, type Prefix } from "../../net/prefix.ts";
import type { Attack } from "./attack.ts";

export interface Groups {
  /** The number of the hostgroup in the packet counter; null: no such hostgroup. */
  readonly numberOf: (group: string) => number | null;
}

type Placed = Pick<Attack, "target" | "carpet" | "group" | "direction">;

/** `192.0.2.7`, `192.0.2.0/24`, or `hostgroup web`. */
export function placeName({ target, carpet, group }: Placed): string {
  return target ?? carpet?.prefix ?? `hostgroup ${group}`;
}

/** A group that is not there has no packets. */
const NO_GROUP = SAMPLE_PLACE.noGroup - 1;

/** The places of attacks as the packet counter takes them, in their order. */
export function placesOf(attacks: readonly Placed[], { numberOf }: Groups): Uint8Array {
  const places = new Uint8Array(attacks.length * SAMPLE_PLACE.bytes);
  const view = new DataView(places.buffer);
  for (const [i, attack] of attacks.entries()) {
    const at = i * SAMPLE_PLACE.bytes;
    const prefix = prefixOf(attack);
    const group = prefix === null ? (numberOf(attack.group) ?? NO_GROUP) : SAMPLE_PLACE.noGroup;
    view.setUint32(at + SAMPLE_PLACE.group, group, true);
    view.setUint8(at + SAMPLE_PLACE.direction, attack.direction === "incoming" ? 0 : 1);
    if (prefix === null) continue;
    const address = at + SAMPLE_PLACE.address;
    writeAddress(prefix.address, places.subarray(address, address + ADDRESS_BYTES));
    view.setUint8(at + SAMPLE_PLACE.length, mappedLength(prefix));
  }
  return places;
}

function prefixOf({ target, carpet }: Placed): Prefix | null {
  if (target !== null) return hostPrefix(target);
  return carpet === null ? null : canonicalPrefix(carpet.prefix);
}
