/** Names of the configuration beside the addresses that have them. Pure. */
import type { BanWire } from "../../src/http/wire/ban.ts";
import type { StatusWire } from "../../src/http/wire/status.ts";

/** Address → name. */
export type KnownNames = ReadonlyMap<string, string>;

/** Names of BGP neighbors, and of next hops of scrubbing. */
export function knownNames({ bgp, scrubbing }: Pick<StatusWire, "bgp" | "scrubbing">): KnownNames {
  const names = new Map<string, string>();
  for (const { address, name } of bgp?.neighbors ?? []) if (name !== undefined) names.set(address, name);
  const { next_hop: hop, next_hop6: hop6, next_hop_name: name } = scrubbing ?? {};
  if (name !== undefined) for (const each of [hop, hop6]) if (each !== undefined) names.set(each, name);
  return names;
}

/** `edge1 (192.0.2.254)`; an address without a name is itself. */
export function withName(names: KnownNames, address: string): string {
  const name = names.get(address);
  return name === undefined ? address : `${name} (${address})`;
}

/** Names each ban once: ten thousand of them are shown again with every change of one. */
export function banNamer(names: KnownNames): (ban: BanWire) => BanWire {
  const made = new WeakMap<BanWire, BanWire>();
  return (ban) => {
    const known = made.get(ban) ?? namedBan(names, ban);
    made.set(ban, known);
    return known;
  };
}

/** With the names of the neighbors that have the ban or lack it, and of its next hop. */
function namedBan(names: KnownNames, ban: BanWire): BanWire {
  if (names.size === 0) return ban;
  const { sent_to: sent, missing_at: missing, maybe_invalid_at: maybe, next_hop: hop } = ban;
  const named = (address: string) => withName(names, address);
  return {
    ...ban,
    ...(sent !== undefined && { sent_to: sent.map(named) }),
    ...(missing !== undefined && { missing_at: missing.map((each) => ({ ...each, neighbor: named(each.neighbor) })) }),
    ...(maybe !== undefined && { maybe_invalid_at: maybe.map(named) }),
    ...(hop !== undefined && { next_hop: named(hop) }),
  };
}
