/**
 * The BGP speaker of the simulation: a table of routes and two sessions in memory, behind the calls that a gobgpd answers.
 * It outlives the service, loses sessions, freezes, refuses, keeps rules back and starts anew, as it is told to.
 */

import { create } from "@bufbuild/protobuf";
import { anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import type { GobgpClient } from "../../src/bgp/gobgp-client.ts";
import { toPeer } from "../../src/bgp/neighbor.ts";
import { MpReachNLRIAttributeSchema, NextHopAttributeSchema } from "../../src/bgp/proto/gobgp3/attribute_pb.ts";
import { MultiProtocolCapabilitySchema } from "../../src/bgp/proto/gobgp3/capability_pb.ts";
import {
  type Family,
  type Path,
  PathSchema,
  type Peer,
  PeerState_SessionState,
  PeerStateSchema,
  TimersSchema,
} from "../../src/bgp/proto/gobgp3/gobgp_pb.ts";
import { fromGobgpFamily, type RouteFamily, toGobgpFamily } from "../../src/bgp/route-family.ts";
import { familyOfKey, isOurs, keyOfPath, type RouteKey } from "../../src/bgp/route-path.ts";
import type { Speaker } from "../../src/bgp/speaker.ts";
import { SpeakerFault } from "../../src/bgp/speaker-fault.ts";
import { address } from "../fixtures/host-rows.ts";

/** The second one takes no rules. */
export const NEIGHBORS = [
  { address: "10.1.0.1", families: ["ipv4-unicast", "ipv6-unicast", "ipv4-flowspec", "ipv6-flowspec"] },
  { address: "10.1.0.2", families: ["ipv4-unicast", "ipv6-unicast"] },
] as const satisfies readonly { address: string; families: readonly RouteFamily[] }[];
export const ASN = 64500;

/** The calls that a link makes of a client. */
type Calls = Pick<GobgpClient, "listPeers" | "sendPaths" | "listGlobal" | "listAdjOut" | "watchPeers" | "close">;

interface Session {
  isUp: boolean;
  /** Wall clock. */
  changedAtMs: number;
}

/** Who watches the sessions. */
interface Connection {
  readonly onChange: () => void;
  readonly end: (fault: Error) => void;
}

export interface SimulatedSpeakerOptions {
  readonly wallMs: () => number;
  /** Rejects with a fault once a call has waited for its deadline. */
  readonly deadline: () => Promise<never>;
  /** Before a path is taken; `rib` is as it was. */
  readonly onPath: (path: { key: RouteKey; isWithdraw: boolean; isOurs: boolean }) => void;
}

export class SimulatedSpeaker implements Speaker {
  readonly kind = "managed";
  readonly #options: SimulatedSpeakerOptions;
  readonly #rib = new Map<RouteKey, Path>();
  readonly #sessions: Session[];
  #peers: readonly Peer[] | null = null;
  /** Of the clients that are connected. */
  readonly #connected = new Set<Connection>();
  isRunning = true;
  isFrozen = false;
  isRefusing = false;
  keepsRulesBack = false;

  constructor(options: SimulatedSpeakerOptions) {
    this.#options = options;
    this.#sessions = NEIGHBORS.map(() => ({ isUp: true, changedAtMs: options.wallMs() }));
  }

  get routes(): ReadonlySet<RouteKey> {
    return new Set(this.#rib.keys());
  }

  /** Some neighbor has it. */
  isOut(key: RouteKey): boolean {
    if (!this.#rib.has(key)) return false;
    const family = familyOfKey(key);
    return NEIGHBORS.some((_, index) => this.#takes(index, family));
  }

  async connect(): Promise<GobgpClient> {
    await this.#answer("GetBgp", () => {});
    // A class with private parts is of no other type; these are all the calls that the link makes.
    return this.#client() as unknown as GobgpClient;
  }

  async configure() {
    return [];
  }

  reload(): void {}

  /** By the service, when it leaves no routes. */
  async end(): Promise<void> {
    this.restart();
  }

  setSession(index: number, isUp: boolean): void {
    const session = this.#sessions[index];
    if (session === undefined || session.isUp === isUp) return;
    session.isUp = isUp;
    session.changedAtMs = this.#options.wallMs();
    this.#changed();
  }

  /** All of its routes are gone, and whoever is connected notices. */
  restart(): void {
    this.#rib.clear();
    for (const session of this.#sessions) session.changedAtMs = this.#options.wallMs();
    this.disconnect();
    this.#changed();
  }

  /** The other end of all connections is gone. */
  disconnect(): void {
    for (const client of [...this.#connected]) client.end(unreachable("WatchEvent"));
    this.#connected.clear();
  }

  get hasSession(): boolean {
    return this.isRunning && this.#sessions.some(({ isUp }) => isUp);
  }

  #client(): Calls {
    let isOpen = true;
    const ask = <T>(operation: string, answer: () => T) => {
      if (!isOpen) return Promise.reject(unreachable(operation));
      return this.#answer(operation, answer);
    };
    let handle: Connection | null = null;
    return {
      listPeers: () => ask("ListPeer", () => this.#peersNow()),
      sendPaths: (paths) => ask("AddPath", () => this.#take(paths)),
      listGlobal: (family) => ask("ListPath", () => this.#pathsOf(family)),
      listAdjOut: ({ neighbor, family, prefixes }) => ask("ListPath", () => this.#out(neighbor, family, prefixes)),
      watchPeers: (onChange) =>
        new Promise((_, reject) => {
          handle = { onChange, end: reject };
          this.#connected.add(handle);
        }),
      close: () => {
        isOpen = false;
        if (handle !== null) this.#connected.delete(handle);
      },
    };
  }

  async #answer<T>(operation: string, answer: () => T): Promise<T> {
    if (!this.isRunning) throw unreachable(operation);
    if (this.isFrozen) return this.#options.deadline();
    return answer();
  }

  #changed(): void {
    this.#peers = null;
    for (const { onChange } of this.#connected) onChange();
  }

  #take(paths: Iterable<Path>): void {
    if (this.isRefusing) throw new SpeakerFault("AddPath", "the simulation refuses");
    for (const path of paths) {
      const key = keyOfPath(path);
      if (key === null) throw new Error("a path of no family of ours");
      const stored = create(PathSchema, { ...path, neighborIp: "<nil>", pattrs: asListed(path, key) });
      this.#options.onPath({ key, isWithdraw: path.isWithdraw, isOurs: isOurs(stored) });
      if (path.isWithdraw) this.#rib.delete(key);
      else this.#rib.set(key, stored);
    }
  }

  #pathsOf(family: Family): Path[] {
    const name = fromGobgpFamily(family);
    return [...this.#rib].filter(([key]) => familyOfKey(key) === name).map(([, path]) => path);
  }

  #out(neighbor: string, family: Family, prefixes: readonly string[]): Path[] {
    const index = NEIGHBORS.findIndex(({ address }) => address === neighbor);
    const name = fromGobgpFamily(family);
    if (name === null || !this.#takes(index, name)) return [];
    const paths = this.#pathsOf(family);
    return prefixes.length === 0 ? paths : paths.filter((path) => prefixes.includes(keyOfPath(path) ?? ""));
  }

  #takes(index: number, family: RouteFamily): boolean {
    const taken: readonly RouteFamily[] = NEIGHBORS[index]?.families ?? [];
    if (this.keepsRulesBack && family.endsWith("flowspec")) return false;
    return this.#sessions[index]?.isUp === true && taken.includes(family);
  }

  #peersNow(): readonly Peer[] {
    this.#peers ??= NEIGHBORS.map((neighbor, i) => peerOf(neighbor, this.#sessions[i] as Session));
    return this.#peers;
  }
}

function unreachable(operation: string): SpeakerFault {
  return new SpeakerFault(operation, "the simulated speaker is not reachable", "unreachable");
}

/** What is not IPv4 unicast has its next hop in another attribute when it is listed. */
function asListed({ pattrs }: Path, key: RouteKey): Path["pattrs"] {
  if (familyOfKey(key) !== "ipv6-unicast") return pattrs;
  return pattrs.map((attribute) => {
    const hop = anyUnpack(attribute, NextHopAttributeSchema);
    if (hop === undefined) return attribute;
    return anyPack(MpReachNLRIAttributeSchema, create(MpReachNLRIAttributeSchema, { nextHops: [hop.nextHop] }));
  });
}

function peerOf({ address: text, families }: (typeof NEIGHBORS)[number], { isUp, changedAtMs }: Session): Peer {
  const configured = { address: address(text), remoteAsn: ASN, port: 179, passwordEnv: null, multihopTtl: 0 };
  const seconds = BigInt(Math.floor(changedAtMs / 1000));
  const remoteCap = families.map((family) => {
    const capability = create(MultiProtocolCapabilitySchema, { family: toGobgpFamily(family) });
    return anyPack(MultiProtocolCapabilitySchema, capability);
  });
  const sessionState = isUp ? PeerState_SessionState.ESTABLISHED : PeerState_SessionState.ACTIVE;
  const peer = toPeer(configured, null);
  peer.state = create(PeerStateSchema, { sessionState, remoteCap });
  peer.timers = create(TimersSchema, { state: isUp ? { uptime: { seconds } } : { downtime: { seconds } } });
  return peer;
}
