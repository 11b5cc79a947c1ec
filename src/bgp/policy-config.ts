/** The section `bgp.policies`: the neighbors that name a policy. */
import type { RouteMethod } from "../mitigation/announcer.ts";
import type { FlowspecSupport } from "../mitigation/rules/flowspec-support.ts";
import type { IpAddress } from "../net/address.ts";
import type { Community } from "../net/community.ts";
import type { Range } from "../net/range.ts";

export const ROUTE_FAMILIES = ["ipv4-unicast", "ipv6-unicast", "ipv4-flowspec", "ipv6-flowspec"] as const;
export type RouteFamily = (typeof ROUTE_FAMILIES)[number];

export interface NeighborPolicy {
  readonly name: string;
  readonly families: readonly RouteFamily[];
  readonly methods: readonly RouteMethod[];
  /** Lengths of the prefixes of blackholes and diverts, by address family. */
  readonly lengths: Readonly<Record<4 | 6, Range>>;
  readonly blackhole: RouteChanges;
  readonly divert: RouteChanges;
  readonly flowspec: FlowspecPolicy;
}

/** In place of what hostgroups say; null, and 0 of `prepend`: as they say. */
export interface RouteChanges {
  readonly communities: readonly Community[] | null;
  readonly nextHop: IpAddress | null;
  readonly nextHop6: IpAddress | null;
  /** null: none. */
  readonly med: number | null;
  /** How often the own AS number is prepended to the AS path. */
  readonly prepend: number;
}

interface FlowspecPolicy extends FlowspecSupport {
  /** Standard and large ones: the action is in extended ones, which a speaker's policy must leave alone. */
  readonly communities: readonly Community[] | null;
  /** Rules of all bans together, IPv4 and IPv6; null: no limit. */
  readonly rules: number | null;
}

export const NO_CHANGES: RouteChanges = { communities: null, nextHop: null, nextHop6: null, med: null, prepend: 0 };
