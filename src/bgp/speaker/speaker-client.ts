/**
 * One connection to a BGP speaker, with plain values for requests and results: the same for every version of GoBGP's
 * API. Each call throws a SpeakerFault.
 */
import type { Community } from "../../net/community.ts";
import type { ExportTerms } from "../export-terms.ts";
import type { Component } from "../flowspec-nlri.ts";
import type { Marks } from "../neighbor-mark.ts";
import type { RouteFamily } from "../route-family.ts";

export interface SpeakerClient {
  /** Major version of the GoBGP API that the speaker has. */
  readonly apiVersion: ApiVersion;
  /** State when the connection was made. */
  readonly global: SpeakerGlobal;
  listPeers(): Promise<readonly SpeakerPeer[]>;
  addPeer(peer: PeerSettings): Promise<void>;
  deletePeer(address: string): Promise<void>;
  /** Ends its session after all that is to be sent to it; the neighbor stays as one without a session. */
  disablePeer(address: string): Promise<void>;
  /**
   * Replaces the policy of a managed speaker: only our own routes are taken and sent, to no neighbor a route with its
   * mark, and to the neighbors of a policy those with the mark of a variant as that has them. Routes that were sent before
   * are not looked at again.
   */
  setExportPolicy(terms: ExportTerms): Promise<void>;
  /** Sends all routes to a neighbor with a session again; no effect without a session. */
  resend(address: string): Promise<void>;
  /**
   * Adds each path or replaces the one of the same name. A path without attributes is withdrawn; a missing one is no
   * error. The speaker processes the first paths before the last ones are generated. Names must be unique, since
   * messages may be reordered.
   */
  sendPaths(changes: Iterable<PathChange>): Promise<void>;
  /** All paths of the global table, which holds the routes of all peers. */
  listGlobal(family: RouteFamily): Promise<readonly ListedPath[]>;
  /**
   * The Adj-RIB-Out of a neighbor; `prefixes` empty: all of it. GoBGP looks up single prefixes only in unicast
   * families.
   */
  listAdjOut(query: AdjOutQuery): Promise<readonly ListedName[]>;
  /**
   * Calls back at every change of a peer's session. Resolves or throws when the stream ends; the client cannot be used
   * after that.
   */
  watchPeers(onChange: () => void): Promise<void>;
  /** Fails calls in progress. May be called twice. */
  close(): void;
}

export type ApiVersion = 3 | 4;

export interface SpeakerGlobal {
  readonly asn: number;
  readonly routerId: string;
  /** -1: not listening. */
  readonly listenPort: number;
  readonly listenAddresses: readonly string[];
}

/** The settings of a neighbor that we set. */
export interface PeerSettings {
  readonly address: string;
  readonly remoteAsn: number;
  readonly port: number;
  /** Empty: none. */
  readonly password: string;
  /** 0: directly connected. */
  readonly multihopTtl: number;
  /** Empty: any. */
  readonly sourceAddress: string;
  /** As the neighbor knows us. */
  readonly localAsn: number;
  readonly holdSeconds: number;
  readonly keepaliveSeconds: number;
  /** The least TTL of its packets (RFC 5082); 0: any. */
  readonly leastTtl: number;
  /** How long it keeps routes after a graceful restart (RFC 9494); 0: not. */
  readonly longLivedSeconds: number;
  /** Families that we offer. */
  readonly families: readonly RouteFamily[];
}

/** Indexed by their numbers in the API. */
export const SESSION_STATES = [
  "unknown",
  "idle",
  "connect",
  "active",
  "opensent",
  "openconfirm",
  "established",
] as const;
export type SessionState = (typeof SESSION_STATES)[number] | "admin_down";

export interface SpeakerPeer extends PeerSettings {
  readonly state: SessionState;
  /** It sent more routes than the speaker takes, which ended its session. */
  readonly isOverLimit: boolean;
  /** Wall time of the last change to established, and from it; null: never. */
  readonly upSinceMs: number | null;
  readonly downSinceMs: number | null;
  /**
   * The speaker sends this neighbor no changes yet, withdrawals included: it restarted and waits for the routes of its
   * peers (RFC 4724, 4.1). resend() sends all the same.
   */
  readonly isDeferring: boolean;
  /** Families that the neighbor announced when the session came up. */
  readonly remoteFamilies: readonly RouteFamily[];
}

export type Nlri =
  | { readonly kind: "prefix"; readonly address: string; readonly length: number }
  | { readonly kind: "flowspec"; readonly components: readonly Component[] };

/** Identifies a path in the speaker, among those from one source. */
export interface PathName {
  readonly family: RouteFamily;
  readonly nlri: Nlri;
  /** Path identifier on the receiving side (RFC 7911). */
  readonly identifier: number;
}

export interface PathAttributes {
  /** Sent as NEXT_HOP for all families: GoBGP moves it to MP_REACH_NLRI if required. */
  readonly nextHop: string;
  /** Communities of all kinds, without marks and rates, sorted by sortedCommunities(). */
  readonly communities: readonly Community[];
  /** Marks of the neighbors that are not to get it. */
  readonly marks: Marks;
  /** 0: none. */
  readonly localPref: number;
  /**
   * Rates of FlowSpec's traffic-rate communities, bytes per second; null: an extended community in a message that we do
   * not send. The AS number beside a rate is 0: it is informational (RFC 8955, 7.1).
   */
  readonly rates: readonly (number | null)[];
}

export interface PathChange extends PathName {
  /** Adapters encode a shared object once. null: the path is withdrawn. */
  readonly attributes: PathAttributes | null;
}

export interface ListedName extends PathName {
  /** The source of the path; `<nil>` (GoBGP 3) or empty (GoBGP 4): no neighbor. */
  readonly neighborIp: string;
}

export interface ListedPath extends ListedName {
  readonly attributes: PathAttributes;
}

export interface AdjOutQuery {
  readonly neighbor: string;
  readonly family: RouteFamily;
  readonly prefixes: readonly string[];
}
