/** BGP neighbors: what we ask of the speaker for each, and what a session of theirs looks like in status. */
import type { BgpNeighbor } from "../config/config.ts";
import { ROUTE_FAMILIES, type RouteFamily } from "./route-family.ts";
import type { PeerSettings, SessionState, SpeakerPeer } from "./speaker-client.ts";

export interface Session {
  readonly address: string;
  readonly remoteAsn: number;
  readonly state: SessionState;
  /** Wall time of the last change to or from established; null: it never was, as far as the speaker knows. */
  readonly changedAtMs: number | null;
  /** That both ends speak; empty unless established. */
  readonly families: readonly RouteFamily[];
}

/**
 * `password`: null without one. All families are offered to each neighbor, and it takes what it knows: a family added
 * on the day on which the first rule is wanted would break the session, in the middle of an attack.
 */
export function toPeer({ address, remoteAsn, port, multihopTtl }: BgpNeighbor, password: string | null): PeerSettings {
  return { address, remoteAsn, port, multihopTtl, password: password ?? "", families: ROUTE_FAMILIES };
}

/** Whether a peer of the speaker is already what is wanted, whatever else is set of it. */
export function isSamePeer(running: PeerSettings, wanted: PeerSettings): boolean {
  return (
    running.remoteAsn === wanted.remoteAsn &&
    running.password === wanted.password &&
    running.port === wanted.port &&
    running.multihopTtl === wanted.multihopTtl &&
    wanted.families.every((family) => running.families.includes(family))
  );
}

export function toSession(peer: SpeakerPeer): Session {
  const { address, remoteAsn, state, families, remoteFamilies } = peer;
  const isEstablished = state === "established";
  return {
    address,
    remoteAsn,
    state,
    changedAtMs: isEstablished ? peer.upSinceMs : peer.downSinceMs,
    families: isEstablished ? families.filter((family) => remoteFamilies.includes(family)) : [],
  };
}
