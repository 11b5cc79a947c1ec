/** The status of the speaker and its sessions, for people. */
import type { BgpConfig } from "./bgp-config.ts";
import type { RouteFamily } from "./route-family.ts";
import type { ApiVersion, SessionState } from "./speaker/speaker-client.ts";

interface NeighborStatus {
  readonly address: string;
  readonly remoteAsn: number;
  readonly state: SessionState;
  /** Wall time when the session was last established or lost, or else when it was first seen. */
  readonly sinceMs: number;
  /** The families that both ends support; empty without a session. */
  readonly families: readonly RouteFamily[];
  /** Number of our routes in its Adj-RIB-Out. */
  readonly advertised: number;
  /** Number of FlowSpec rules that no neighbor gets for now, since this neighbor reset its session over them. */
  readonly keptBack: number;
  /** The notification with which it ended its last session; null: none, or it has a session. */
  readonly fault: string | null;
}

export interface BgpStatus {
  readonly speaker: BgpConfig["speaker"];
  /** Whether the speaker answers. */
  readonly connected: boolean;
  /** Major version of the GoBGP API; null while the speaker does not answer. */
  readonly gobgpVersion: ApiVersion | null;
  /** Why the speaker does not answer, or which neighbors could not be set. */
  readonly fault: string | null;
  readonly neighbors: readonly NeighborStatus[];
}
