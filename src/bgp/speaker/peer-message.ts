/** GoBGP's message for a neighbor. It is equal in all API versions except two fields, which the adapters read. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { Peer as Peer3 } from "../gobgp/proto/gobgp3_pb.ts";
import type { Peer as Peer4 } from "../gobgp/proto/gobgp4_pb.ts";
import { type FamilyNumbers, familyNumbers, familyOfNumbers, type RouteFamily } from "../route-family.ts";
import { type PeerSettings, SESSION_STATES, type SpeakerPeer } from "./speaker-client.ts";

/** Seconds that a peer keeps our routes after the session broke: enough to restart a crashed speaker. */
const RESTART_SECONDS = 120;
/**
 * A restarting speaker sends updates when all its peers have sent theirs (RFC 4724, 4.1). We take no routes: the least
 * time that GoBGP knows.
 */
const DEFERRAL_SECONDS = 1;
/**
 * Seconds between two attempts to dial, at least: GoBGP 3 waits for one to two times as long, GoBGP 4 for three quarters
 * of it or longer. Neither takes less than 5 (GoBGP 3) and 2 (GoBGP 4); the default is 120.
 */
const CONNECT_RETRY_SECONDS = 5n;

/**
 * Routes of each family that a neighbor may send: none is used, but the speaker keeps them, about 0.5 kB each. Over it the
 * speaker ends the session.
 */
export const ROUTES_TAKEN_MAX = 10_000;

export type PeerMessage = ReturnType<typeof peerMessage>;

/**
 * The fields of a message of either version. The first OPEN says that the speaker has restarted and has preserved the
 * forwarding state (RFC 4724, 3), which is true of the discarding routers: without it, a peer that kept our routes drops
 * them before it takes them again.
 */
export function peerMessage(peer: PeerSettings) {
  const { address, remoteAsn, port, password, multihopTtl, leastTtl, longLivedSeconds, families } = peer;
  const isLongLived = longLivedSeconds > 0;
  return {
    conf: { neighborAddress: address, peerAsn: remoteAsn, localAsn: peer.localAsn, authPassword: password },
    transport: { remotePort: port, localAddress: peer.sourceAddress },
    ebgpMultihop: { enabled: multihopTtl > 0, multihopTtl },
    ttlSecurity: { enabled: leastTtl > 0, ttlMin: leastTtl },
    timers: {
      config: {
        connectRetry: CONNECT_RETRY_SECONDS,
        holdTime: BigInt(peer.holdSeconds),
        keepaliveInterval: BigInt(peer.keepaliveSeconds),
      },
    },
    gracefulRestart: {
      enabled: true,
      restartTime: RESTART_SECONDS,
      localRestarting: true,
      deferralTime: DEFERRAL_SECONDS,
      longlivedEnabled: isLongLived,
    },
    afiSafis: families.map((family) => ({
      config: { family: familyNumbers(family), enabled: true },
      mpGracefulRestart: { config: { enabled: true } },
      prefixLimits: { family: familyNumbers(family), maxPrefixes: ROUTES_TAKEN_MAX },
      ...(isLongLived && { longLivedGracefulRestart: { config: { enabled: true, restartTime: longLivedSeconds } } }),
    })),
  };
}

interface PeerFields {
  readonly isAdminDown: boolean;
  /** The limit is ROUTES_TAKEN_MAX. */
  readonly isOverLimit: boolean;
  /** The neighbor's multiprotocol capabilities. */
  readonly announced: readonly FamilyNumbers[];
}

export function speakerPeer(peer: Peer3 | Peer4, { isAdminDown, isOverLimit, announced }: PeerFields): SpeakerPeer {
  const { conf, state, transport, ebgpMultihop } = peer;
  const sessionState = SESSION_STATES[state?.sessionState ?? 0] ?? "unknown";
  return {
    address: conf?.neighborAddress || (state?.neighborAddress ?? ""),
    remoteAsn: conf?.peerAsn || (state?.peerAsn ?? 0),
    port: transport?.remotePort ?? 0,
    password: conf?.authPassword ?? "",
    multihopTtl: ebgpMultihop?.enabled === true ? ebgpMultihop.multihopTtl : 0,
    ...settingsOf(peer),
    families: familiesOf(peer.afiSafis.map(({ config }) => config?.family)),
    state: isAdminDown || isOverLimit ? "admin_down" : sessionState,
    isOverLimit,
    upSinceMs: timestampMs(peer.timers?.state?.uptime),
    downSinceMs: timestampMs(peer.timers?.state?.downtime),
    isDeferring: peer.gracefulRestart?.localRestarting === true,
    // RFC 4760: a neighbor that announces no families uses IPv4 unicast.
    remoteFamilies: announced.length === 0 ? ["ipv4-unicast"] : familiesOf(announced),
  };
}

/** Addresses that stand for any. */
const ANY = ["", "0.0.0.0", "::", "invalid IP"];

function settingsOf(peer: Peer3 | Peer4) {
  const { conf, transport, timers, ttlSecurity, afiSafis } = peer;
  const source = transport?.localAddress ?? "";
  const longLived = afiSafis[0]?.longLivedGracefulRestart?.config;
  return {
    sourceAddress: ANY.includes(source) ? "" : source,
    localAsn: conf?.localAsn ?? 0,
    holdSeconds: Number(timers?.config?.holdTime ?? 0n),
    keepaliveSeconds: Number(timers?.config?.keepaliveInterval ?? 0n),
    leastTtl: ttlSecurity?.enabled === true ? ttlSecurity.ttlMin : 0,
    longLivedSeconds: longLived?.enabled === true ? longLived.restartTime : 0,
  };
}

function familiesOf(families: readonly (FamilyNumbers | undefined)[]): readonly RouteFamily[] {
  return families.flatMap((family) => familyOfNumbers(family) ?? []);
}

/** GoBGP has whole seconds; the epoch means never. */
function timestampMs(timestamp: Timestamp | undefined): number | null {
  const seconds = Number(timestamp?.seconds ?? 0n);
  return seconds > 0 ? seconds * 1000 : null;
}
