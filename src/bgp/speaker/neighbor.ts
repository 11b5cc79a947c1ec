/** BGP neighbors: their settings for the speaker, and their sessions for the status. */
import type { BgpNeighbor } from "../bgp-config.ts";
import { ROUTE_FAMILIES, type RouteFamily } from "../route-family.ts";
import type { PeerSettings, SessionState, SpeakerPeer } from "./speaker-client.ts";

export interface Session {
  readonly address: string;
  readonly remoteAsn: number;
  readonly state: SessionState;
  /** Wall time of the last change to or from established; null: the speaker knows none. */
  readonly changedAtMs: number | null;
  /** Families that both ends support; empty unless established. */
  readonly families: readonly RouteFamily[];
  /** The speaker sends it no changes yet; see SpeakerPeer. */
  readonly isDeferring: boolean;
}

/**
 * `password`: null if none. Without a policy all families are offered to a neighbor, which selects those it supports: to
 * add a family later resets the session, perhaps during an attack.
 */
export function toPeer(neighbor: BgpNeighbor, password: string | null, localAsn: number): PeerSettings {
  const { address, remoteAsn, port, multihopTtl, policy, gtsmHops, holdSeconds = HOLD_SECONDS } = neighbor;
  return {
    ...{ address, remoteAsn, port, multihopTtl, holdSeconds },
    password: password ?? "",
    sourceAddress: neighbor.sourceAddress ?? "",
    localAsn: neighbor.localAsn ?? localAsn,
    keepaliveSeconds: neighbor.keepaliveSeconds ?? Math.max(1, Math.floor(holdSeconds / 3)),
    leastTtl: gtsmHops === undefined ? 0 : TTL_MAX + 1 - gtsmHops,
    longLivedSeconds: neighbor.longLivedSeconds ?? 0,
    families: policy?.families ?? ROUTE_FAMILIES,
  };
}

/** GoBGP's default. */
const HOLD_SECONDS = 90;
const TTL_MAX = 255;

/** Whether a peer has the wanted settings, regardless of its other settings. */
export function isSamePeer(running: PeerSettings, wanted: PeerSettings): boolean {
  return (
    running.remoteAsn === wanted.remoteAsn &&
    running.password === wanted.password &&
    running.port === wanted.port &&
    running.multihopTtl === wanted.multihopTtl &&
    // For a peer with a session and without this setting, the speaker has the address that the kernel selected.
    (wanted.sourceAddress === "" || running.sourceAddress === wanted.sourceAddress) &&
    running.localAsn === wanted.localAsn &&
    running.holdSeconds === wanted.holdSeconds &&
    running.keepaliveSeconds === wanted.keepaliveSeconds &&
    running.leastTtl === wanted.leastTtl &&
    running.longLivedSeconds === wanted.longLivedSeconds &&
    wanted.families.length === running.families.length &&
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
    isDeferring: isEstablished && peer.isDeferring,
  };
}
