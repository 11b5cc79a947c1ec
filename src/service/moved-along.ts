/** The hosts whose traffic moves with a ban's where a wider prefix is announced for it. */
import type { Ban } from "../mitigation/ban.ts";
import type { MovedAlong } from "../mitigation/enclosing.ts";
import { enclosingIn } from "../mitigation/measure.ts";
import type { IpAddress } from "../net/address.ts";
import { type Prefix, prefixContains } from "../net/prefix.ts";
import type { Floodwall } from "./floodwall.ts";

type Running = Pick<Floodwall, "config"> & {
  readonly packetPath: Pick<NonNullable<Floodwall["packetPath"]>, "minute"> | null;
};

/** Number of the hosts that are named. */
export const MOVED_NAMED_MAX = 8;

/** Bytes that hosts got in the last minute, of the sampled headers. */
type Minute = { readonly seconds: number; readonly bytes: ReadonlyMap<IpAddress, number> };

/** null: the ban's own prefix is announced, or nothing is. The last minute is read once for all bans. */
export function movedAlong({ config, packetPath }: Running): (ban: Ban) => MovedAlong | null {
  let minute: Minute | null = null;
  return ({ measure, prefix }) => {
    const wider = enclosingIn(measure, prefix);
    if (wider === null) return null;
    const { hostgroups, lookup, samples } = config;
    const names = lookup.groupsIn(wider).map((group) => hostgroups[group]?.name ?? "global");
    const isSeen = packetPath !== null && samples.enabled;
    if (isSeen) minute ??= bytesByHost(packetPath);
    return {
      prefix: wider,
      hostgroups: names.sort(),
      hosts: minute === null ? null : hostsIn(wider, prefix, minute),
    };
  };
}

function bytesByHost(packetPath: NonNullable<Running["packetPath"]>): Minute {
  const { headers, seconds } = packetPath.minute();
  const bytes = new Map<IpAddress, number>();
  for (const { header, wireBytes, packets } of headers) {
    bytes.set(header.destination, (bytes.get(header.destination) ?? 0) + wireBytes * packets);
  }
  return { seconds, bytes };
}

function hostsIn(wider: Prefix, own: Prefix, { seconds, bytes }: Minute): NonNullable<MovedAlong["hosts"]> {
  const hosts = [...bytes]
    .filter(([host]) => prefixContains(wider, host) && !prefixContains(own, host))
    .map(([target, sum]) => ({ target, mbps: seconds === 0 ? 0 : (sum * 8) / seconds / 1e6 }))
    .sort((a, b) => b.mbps - a.mbps);
  return { count: hosts.length, busiest: hosts.slice(0, MOVED_NAMED_MAX) };
}
