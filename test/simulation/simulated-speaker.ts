/**
 * The BGP speaker of the simulation: a table of routes and two sessions in memory, behind the calls that a gobgpd answers.
 * It outlives the service, loses sessions, freezes, refuses, keeps rules back and starts anew, as it is told to.
 */

import type { RouteFamily } from "../../src/bgp/route-family.ts";
import { familyOfKey, instanceOf, keyOfPath, type RouteKey } from "../../src/bgp/route-path.ts";
import { toPeer } from "../../src/bgp/speaker/neighbor.ts";
import type { Speaker } from "../../src/bgp/speaker/speaker.ts";
import type {
  AdjOutQuery,
  ListedPath,
  PathChange,
  SpeakerClient,
  SpeakerPeer,
} from "../../src/bgp/speaker/speaker-client.ts";
import { SpeakerFault } from "../../src/bgp/speaker/speaker-fault.ts";
import { address } from "../fixtures/host-rows.ts";

/** The second one takes no rules. */
export const NEIGHBORS = [
  { address: "10.1.0.1", families: ["ipv4-unicast", "ipv6-unicast", "ipv4-flowspec", "ipv6-flowspec"] },
  { address: "10.1.0.2", families: ["ipv4-unicast", "ipv6-unicast"] },
] as const satisfies readonly { address: string; families: readonly RouteFamily[] }[];
export const ASN = 64500;

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

export interface SpeakerPath {
  readonly key: RouteKey;
  readonly isWithdraw: boolean;
  /** Number of the service that sends it; null: none that there could be. */
  readonly instance: number | null;
}

export interface SimulatedSpeakerOptions {
  readonly wallMs: () => number;
  /** Rejects with a fault once a call has waited for its deadline. */
  readonly deadline: () => Promise<never>;
  /** Before a path is taken; `rib` is as it was. */
  readonly onPath: (path: SpeakerPath) => void;
}

export class SimulatedSpeaker implements Speaker {
  readonly kind = "managed";
  readonly #options: SimulatedSpeakerOptions;
  /** By the instance of the service: each has paths of its own. */
  readonly #ribs = new Map<number | null, Map<RouteKey, ListedPath>>();
  readonly #sessions: Session[];
  #peers: readonly SpeakerPeer[] | null = null;
  /** Of the clients that are connected. */
  readonly #connected = new Set<Connection>();
  isRunning = true;
  /** New connections fail, those that there are go on. */
  isFull = false;
  isFrozen = false;
  isRefusing = false;
  keepsRulesBack = false;

  constructor(options: SimulatedSpeakerOptions) {
    this.#options = options;
    this.#sessions = NEIGHBORS.map(() => ({ isUp: true, changedAtMs: options.wallMs() }));
  }

  get routes(): ReadonlySet<RouteKey> {
    return new Set([...this.#ribs.values()].flatMap((rib) => [...rib.keys()]));
  }

  routesOf(instance: number): ReadonlySet<RouteKey> {
    return new Set(this.#ribs.get(instance)?.keys());
  }

  /** Some neighbor has it. */
  isOut(key: RouteKey): boolean {
    if (![...this.#ribs.values()].some((rib) => rib.has(key))) return false;
    const family = familyOfKey(key);
    return NEIGHBORS.some((_, index) => this.#takes(index, family));
  }

  async connect(): Promise<SpeakerClient> {
    if (this.isFull) throw unreachable("GetBgp");
    await this.#answer("GetBgp", () => {});
    return this.#client();
  }

  async configure() {
    return [];
  }

  async follow() {
    return { notifications: [], blameless: [], limits: [] };
  }

  neighborFault(): null {
    return null;
  }
  routesChanged(): void {}

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
    this.#ribs.clear();
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

  #client(): SpeakerClient {
    let isOpen = true;
    const ask = <T>(operation: string, answer: () => T) => {
      if (!isOpen) return Promise.reject(unreachable(operation));
      return this.#answer(operation, answer);
    };
    let handle: Connection | null = null;
    const configures = () => Promise.reject(new Error("the link sets no neighbors"));
    return {
      apiVersion: 4,
      global: { asn: ASN, routerId: "10.1.0.254", listenPort: -1, listenAddresses: [] },
      addPeer: configures,
      deletePeer: configures,
      resend: configures,
      setExportPolicy: configures,
      listPeers: () => ask("ListPeer", () => this.#peersNow()),
      sendPaths: (paths) => ask("AddPath", () => this.#take(paths)),
      listGlobal: (family) => ask("ListPath", () => this.#pathsOf(family)),
      listAdjOut: (query) => ask("ListPath", () => this.#out(query)),
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

  #take(changes: Iterable<PathChange>): void {
    if (this.isRefusing) throw new SpeakerFault("AddPath", "the simulation refuses");
    for (const { attributes, ...name } of changes) {
      const listed = { ...name, neighborIp: "" };
      const key = keyOfPath(listed);
      if (key === null) throw new Error("a path of no address");
      const instance = instanceOf(listed);
      this.#options.onPath({ key, isWithdraw: attributes === null, instance });
      const rib = this.#ribs.get(instance) ?? new Map<RouteKey, ListedPath>();
      this.#ribs.set(instance, rib);
      if (attributes === null) rib.delete(key);
      else rib.set(key, { ...listed, attributes });
    }
  }

  #pathsOf(family: RouteFamily): ListedPath[] {
    return [...this.#ribs.values()].flatMap((rib) => [...rib.values()].filter((path) => path.family === family));
  }

  #out({ neighbor, family, prefixes }: AdjOutQuery): ListedPath[] {
    const index = NEIGHBORS.findIndex(({ address }) => address === neighbor);
    if (!this.#takes(index, family)) return [];
    const paths = this.#pathsOf(family);
    return prefixes.length === 0 ? paths : paths.filter((path) => prefixes.includes(keyOfPath(path) ?? ""));
  }

  #takes(index: number, family: RouteFamily): boolean {
    const taken: readonly RouteFamily[] = NEIGHBORS[index]?.families ?? [];
    if (this.keepsRulesBack && family.endsWith("flowspec")) return false;
    return this.#sessions[index]?.isUp === true && taken.includes(family);
  }

  #peersNow(): readonly SpeakerPeer[] {
    this.#peers ??= NEIGHBORS.map((neighbor, i) => peerOf(neighbor, this.#sessions[i] as Session));
    return this.#peers;
  }
}

function unreachable(operation: string): SpeakerFault {
  return new SpeakerFault(operation, "the simulated speaker is not reachable", "unreachable");
}

function peerOf({ address: text, families }: (typeof NEIGHBORS)[number], { isUp, changedAtMs }: Session): SpeakerPeer {
  const configured = { address: address(text), remoteAsn: ASN, port: 179, passwordEnv: null, multihopTtl: 0 };
  // GoBGP has whole seconds.
  const sinceMs = Math.floor(changedAtMs / 1000) * 1000;
  return {
    ...toPeer(configured, null),
    state: isUp ? "established" : "active",
    upSinceMs: isUp ? sinceMs : null,
    downSinceMs: isUp ? null : sinceMs,
    remoteFamilies: families,
  };
}
