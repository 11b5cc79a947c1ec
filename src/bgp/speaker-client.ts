/**
 * One connection to a BGP speaker and what goes over it, as plain values: the same for every version of GoBGP's API. Each
 * call throws a SpeakerFault.
 */
import type { Component } from "./flowspec-nlri.ts";
import type { RouteFamily } from "./route-family.ts";

export interface SpeakerClient {
  /** Major version of the GoBGP whose API the speaker offers. */
  readonly apiVersion: ApiVersion;
  /** As it was when the connection was made. */
  readonly global: SpeakerGlobal;
  listPeers(): Promise<readonly SpeakerPeer[]>;
  addPeer(peer: PeerSettings): Promise<void>;
  deletePeer(address: string): Promise<void>;
  /**
   * Adds each path, or replaces the one of the same name; one without attributes is withdrawn, and it is no error that it
   * is not there. The speaker works on the first paths before the last ones are asked for. No name may come twice, since
   * messages overtake each other.
   */
  sendPaths(changes: Iterable<PathChange>): Promise<void>;
  /** All paths of the table that every peer's routes come together in. */
  listGlobal(family: RouteFamily): Promise<readonly ListedPath[]>;
  /** What goes out to a neighbor; `prefixes` empty: all of it. GoBGP looks up single prefixes of unicast families only. */
  listAdjOut(query: AdjOutQuery): Promise<readonly ListedName[]>;
  /** Calls back at every change of a peer's session. Resolves or throws when the stream ends; the client is done then. */
  watchPeers(onChange: () => void): Promise<void>;
  /** Calls under way fail. Twice is fine. */
  close(): void;
}

export type ApiVersion = 3 | 4;

export interface SpeakerGlobal {
  readonly asn: number;
  readonly routerId: string;
  /** -1: it does not listen. */
  readonly listenPort: number;
  readonly listenAddresses: readonly string[];
}

/** What we set of a neighbor. */
export interface PeerSettings {
  readonly address: string;
  readonly remoteAsn: number;
  readonly port: number;
  /** Empty: none. */
  readonly password: string;
  /** 0: directly connected. */
  readonly multihopTtl: number;
  /** That we offer to it. */
  readonly families: readonly RouteFamily[];
}

/** By their numbers in the API. */
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
  /** Wall time of the last change to established, and from it; null: it never was. */
  readonly upSinceMs: number | null;
  readonly downSinceMs: number | null;
  /** Families that the neighbor announced when the session came up. */
  readonly remoteFamilies: readonly RouteFamily[];
}

export type Nlri =
  | { readonly kind: "prefix"; readonly address: string; readonly length: number }
  | { readonly kind: "flowspec"; readonly components: readonly Component[] };

/** What a path is known by in the speaker, among those that came from one place. */
export interface PathName {
  readonly family: RouteFamily;
  readonly nlri: Nlri;
  /** Path identifier on the receiving side (RFC 7911). */
  readonly identifier: number;
}

export interface PathAttributes {
  /** Sent as NEXT_HOP for all families: GoBGP moves it into MP_REACH_NLRI where it belongs there. */
  readonly nextHop: string;
  readonly communities: readonly number[];
  /** 0: none. */
  readonly localPref: number;
  /**
   * Of FlowSpec's traffic-rate communities, bytes a second; null: an extended community of another kind. The AS beside a
   * rate is 0: it informs people only (RFC 8955, 7.1).
   */
  readonly rates: readonly (number | null)[];
}

export interface PathChange extends PathName {
  /** Adapters encode the same object once. null: the path is withdrawn. */
  readonly attributes: PathAttributes | null;
}

export interface ListedName extends PathName {
  /** Where the path came from; `<nil>` (GoBGP 3) or empty (GoBGP 4): from no neighbor. */
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
