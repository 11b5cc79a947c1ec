/** BGP neighbors: what we ask of the speaker for each, and what a session of theirs looks like in status. */
import { create } from "@bufbuild/protobuf";
import { anyUnpack, type Timestamp } from "@bufbuild/protobuf/wkt";
import type { BgpNeighbor } from "../config/config.ts";
import { MultiProtocolCapabilitySchema } from "./proto/gobgp3/capability_pb.ts";
import {
  type AfiSafi,
  AfiSafiSchema,
  type Peer,
  PeerSchema,
  PeerState_AdminState,
  PeerState_SessionState,
} from "./proto/gobgp3/gobgp_pb.ts";
import { fromGobgpFamily, ROUTE_FAMILIES, type RouteFamily, toGobgpFamily } from "./route-family.ts";

export type SessionState =
  | "unknown"
  | "idle"
  | "connect"
  | "active"
  | "opensent"
  | "openconfirm"
  | "established"
  | "admin_down";

export interface Session {
  readonly address: string;
  readonly remoteAsn: number;
  readonly state: SessionState;
  /** Wall time of the last change to or from established; null: it never was, as far as the speaker knows. */
  readonly changedAtMs: number | null;
  /** That both ends speak; empty unless established. */
  readonly families: readonly RouteFamily[];
}

/** Seconds that a peer keeps our routes after the session broke: enough to start a speaker that died. */
const RESTART_SECONDS = 120;

/**
 * `password`: null without one. All families are offered to each neighbor, and it takes what it knows: a family added
 * on the day on which the first rule is wanted would break the session, in the middle of an attack.
 */
export function toPeer(neighbor: BgpNeighbor, password: string | null): Peer {
  return create(PeerSchema, {
    conf: { neighborAddress: neighbor.address, peerAsn: neighbor.remoteAsn, authPassword: password ?? "" },
    transport: { remotePort: neighbor.port },
    ebgpMultihop: { enabled: neighbor.multihopTtl > 0, multihopTtl: neighbor.multihopTtl },
    gracefulRestart: { enabled: true, restartTime: RESTART_SECONDS },
    afiSafis: ROUTE_FAMILIES.map(offered),
  });
}

function offered(family: RouteFamily): AfiSafi {
  return create(AfiSafiSchema, {
    config: { family: toGobgpFamily(family), enabled: true },
    mpGracefulRestart: { config: { enabled: true } },
  });
}

/** Whether a peer of the speaker is already what toPeer() asks for. The speaker fills in much that we leave open. */
export function isSamePeer(running: Peer, wanted: Peer): boolean {
  return (
    running.conf?.peerAsn === wanted.conf?.peerAsn &&
    running.conf?.authPassword === wanted.conf?.authPassword &&
    running.transport?.remotePort === wanted.transport?.remotePort &&
    ROUTE_FAMILIES.every((family) => offersFamily(running, family)) &&
    (running.ebgpMultihop?.enabled ?? false) === wanted.ebgpMultihop?.enabled &&
    (!wanted.ebgpMultihop.enabled || running.ebgpMultihop?.multihopTtl === wanted.ebgpMultihop.multihopTtl)
  );
}

function offersFamily(peer: Peer, family: RouteFamily): boolean {
  return peer.afiSafis.some(({ config }) => fromGobgpFamily(config?.family) === family);
}

export function peerAddress(peer: Peer): string {
  return peer.conf?.neighborAddress || (peer.state?.neighborAddress ?? "");
}

export function toSession(peer: Peer): Session {
  const state = sessionState(peer);
  const times = peer.timers?.state;
  return {
    address: peerAddress(peer),
    remoteAsn: peer.conf?.peerAsn || (peer.state?.peerAsn ?? 0),
    state,
    changedAtMs: state === "established" ? timestampMs(times?.uptime) : timestampMs(times?.downtime),
    families: state === "established" ? sharedFamilies(peer) : [],
  };
}

function sessionState(peer: Peer): SessionState {
  if (peer.state?.adminState === PeerState_AdminState.DOWN) return "admin_down";
  switch (peer.state?.sessionState) {
    case PeerState_SessionState.IDLE:
      return "idle";
    case PeerState_SessionState.CONNECT:
      return "connect";
    case PeerState_SessionState.ACTIVE:
      return "active";
    case PeerState_SessionState.OPENSENT:
      return "opensent";
    case PeerState_SessionState.OPENCONFIRM:
      return "openconfirm";
    case PeerState_SessionState.ESTABLISHED:
      return "established";
    default:
      return "unknown";
  }
}

function sharedFamilies(peer: Peer): readonly RouteFamily[] {
  const remote = new Set<RouteFamily | null>();
  let announcesFamilies = false;
  for (const capability of peer.state?.remoteCap ?? []) {
    const family = anyUnpack(capability, MultiProtocolCapabilitySchema)?.family;
    announcesFamilies ||= family !== undefined;
    remote.add(fromGobgpFamily(family));
  }
  // RFC 4760: who announces no families at all speaks IPv4 unicast.
  if (!announcesFamilies) remote.add("ipv4-unicast");
  return ROUTE_FAMILIES.filter((family) => remote.has(family) && offersFamily(peer, family));
}

/** GoBGP has whole seconds, and the epoch for never. */
function timestampMs(timestamp: Timestamp | undefined): number | null {
  const seconds = Number(timestamp?.seconds ?? 0n);
  return seconds > 0 ? seconds * 1000 : null;
}
