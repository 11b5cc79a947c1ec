/** The section `bgp`: the speaker, its neighbors, and the terms of blackhole routes. */
import type { CommunitiesAt } from "../mitigation/announcer.ts";
import type { IpAddress } from "../net/address.ts";
import type { Community } from "../net/community.ts";
import type { NeighborPolicy } from "./policy-config.ts";

export interface BgpConfig {
  readonly speaker: "managed" | "external";
  /** Socket path or host:port of the external speaker; null when managed. */
  readonly grpc: string | null;
  /** Number of this service among those that use the speaker; null: one that is kept in the state directory. */
  readonly instance: number | null;
  readonly localAsn: number;
  readonly routerId: IpAddress;
  /** Where the managed speaker accepts connections; null: it only connects to its neighbors. */
  readonly listen: ListenAddresses | null;
  readonly nextHop: IpAddress;
  readonly nextHop6: IpAddress;
  readonly communities: readonly Community[];
  /** 0: not set. */
  readonly localPref: number;
  readonly neighbors: readonly BgpNeighbor[];
  /** Also those that no neighbor names. */
  readonly policies: readonly NeighborPolicy[];
  /** All that routes of hostgroups may have. */
  readonly communitiesAt: readonly CommunitiesAt[];
}

/** GoBGP has one port for all of its addresses. */
export interface ListenAddresses {
  readonly addresses: readonly IpAddress[];
  readonly port: number;
}

export interface BgpNeighbor {
  readonly address: IpAddress;
  /** For people, as the next one; the speaker does not get them. Absent: none. */
  readonly name?: string;
  readonly description?: string;
  readonly remoteAsn: number;
  readonly port: number;
  /** Name of the environment variable with the TCP MD5 password. */
  readonly passwordEnv: string | null;
  /** A file with it, in place of that. Absent: none. */
  readonly passwordFile?: string;
  /** 0: directly connected. */
  readonly multihopTtl: number;
  /** Absent: as the speaker chooses, and its own AS number. */
  readonly sourceAddress?: IpAddress;
  readonly localAsn?: number;
  /** Absent: HOLD_SECONDS, and a third of it. */
  readonly holdSeconds?: number;
  readonly keepaliveSeconds?: number;
  /** Packets that came by more hops are dropped (RFC 5082). Absent: none are. */
  readonly gtsmHops?: number;
  /** How long it keeps routes after a graceful restart (RFC 9494). Absent: not. */
  readonly longLivedSeconds?: number;
  /** Absent: it gets all routes, as hostgroups have them. */
  readonly policy?: NeighborPolicy;
  /** It has a session and gets no route. Absent: it gets them. */
  readonly dryRun?: true;
}
