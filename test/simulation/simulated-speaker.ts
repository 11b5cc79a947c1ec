/**
 * The BGP speaker of the simulation: a table of routes and two neighbors in memory, behind the calls that a gobgpd
 * answers. It outlives the service, loses sessions, freezes, refuses, keeps rules back and restarts, as the test requests.
 */

import { ALL_NEIGHBORS } from "../../src/bgp/neighbor-policies.ts";
import type { RouteFamily } from "../../src/bgp/route-family.ts";
import { familyOfKey, instanceOf, keyOfPath, type RouteKey, toOwnPath } from "../../src/bgp/route-path.ts";
import { NeighborWatch } from "../../src/bgp/speaker/neighbor-watch.ts";
import type { Speaker } from "../../src/bgp/speaker/speaker.ts";
import type {
  AdjOutQuery,
  ListedPath,
  PathChange,
  SpeakerClient,
  SpeakerPeer,
} from "../../src/bgp/speaker/speaker-client.ts";
import { SpeakerFault } from "../../src/bgp/speaker/speaker-fault.ts";
import type { Clock } from "../../src/system/clock.ts";
import type { Chance } from "../fixtures/seeded-random.ts";
import { type NeighborTraits, SimulatedNeighbor } from "./simulated-neighbor.ts";

export const ASN = 64500;
const UNICAST = ["ipv4-unicast", "ipv6-unicast"] as const satisfies RouteFamily[];
/** The second one takes no rules. */
export const NEIGHBORS: readonly NeighborTraits[] = [
  {
    address: "10.1.0.1",
    asn: ASN,
    families: [...UNICAST, "ipv4-flowspec", "ipv6-flowspec"],
    hasGracefulRestart: true,
  },
  { address: "10.1.0.2", asn: ASN, families: UNICAST, hasGracefulRestart: false },
];
/** gobgpd is configured so. */
const DEFERRAL_MS_MAX = 1000;

/** Who watches the sessions. */
interface Connection {
  readonly onChange: () => void;
  readonly end: (fault: Error) => void;
}

/** When a session begins, its neighbor gets no changes for a while. */
export interface Deferrals {
  readonly nowMs: () => number;
  /** How long; 0: it gets them at once. */
  readonly drawMs: () => number;
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
  /** Default: all neighbors get changes at once. */
  readonly deferrals?: Deferrals;
}

export function drawDeferralMs(chance: Chance): number {
  return chance.oneIn(2) ? 0 : chance.below(DEFERRAL_MS_MAX + 1);
}

export class SimulatedSpeaker {
  readonly #options: SimulatedSpeakerOptions;
  /** By the instance of the service: each has paths of its own. */
  readonly #ribs = new Map<number | null, Map<RouteKey, ListedPath>>();
  readonly #neighbors = NEIGHBORS.map((traits) => new SimulatedNeighbor(traits));
  #peers: readonly SpeakerPeer[] | null = null;
  /** Of the clients that are connected. */
  readonly #connected = new Set<Connection>();
  #isRunning = true;
  /** New connections fail, those that there are go on. */
  isFull = false;
  isFrozen = false;
  isRefusing = false;
  keepsRulesBack = false;

  constructor(options: SimulatedSpeakerOptions) {
    this.#options = options;
    for (const neighbor of this.#neighbors) this.#begin(neighbor);
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  set isRunning(isRunning: boolean) {
    if (isRunning === this.#isRunning) return;
    this.#isRunning = isRunning;
    this.restart();
  }

  get routes(): ReadonlySet<RouteKey> {
    return new Set([...this.#ribs.values()].flatMap((rib) => [...rib.keys()]));
  }

  routesOf(instance: number): ReadonlySet<RouteKey> {
    return new Set(this.#ribs.get(instance)?.keys());
  }

  /** Some neighbor has it. */
  isOut(key: RouteKey): boolean {
    this.#pass();
    return this.#neighbors.some((neighbor) => this.#gets(neighbor, key) && neighbor.held.has(key));
  }

  /** What a neighbor holds, and the speaker has not: it was not sent the withdrawal, and never will be. null: nothing. */
  lostWithdrawal(): string | null {
    this.#pass();
    const routes = this.routes;
    for (const { address, held } of this.#neighbors) {
      for (const key of held.keys()) if (!routes.has(key)) return `${address} still has ${key}`;
    }
    return null;
  }

  /** What a neighbor should hold, and does not; null: nothing. */
  lostAnnouncement(): string | null {
    this.#pass();
    const routes = this.#routes();
    for (const neighbor of this.#neighbors.filter(({ isUp }) => isUp)) {
      const due = [...routes].filter(([key]) => this.#gets(neighbor, key));
      const lost = due.find(([key, attributes]) => neighbor.held.get(key) !== attributes);
      if (lost !== undefined) return `${neighbor.address} was not sent ${lost.join(" ")}`;
    }
    return null;
  }

  async connect(): Promise<SpeakerClient> {
    if (this.isFull) throw unreachable("GetBgp");
    await this.#answer("GetBgp", () => {});
    return this.#client();
  }

  /** As a process of the service uses it on its clock. */
  forProcess(clock: Clock): Speaker {
    const watch = new NeighborWatch();
    return {
      kind: "managed",
      policies: ALL_NEIGHBORS,
      connect: () => this.connect(),
      configure: async () => [],
      follow: async (client, { sessions, installed }) => {
        const nowMs = clock.monotonicMs();
        const unsent = await watch.follow(client, { sessions, installed, notifications: [], nowMs });
        const deferring = sessions.filter(({ isDeferring }) => isDeferring).map(({ address }) => address);
        return { notifications: [], blameless: [], unsent, deferring, limits: [], known: [] };
      },
      neighborFault: () => null,
      routesChanged: () => {},
      reload: () => {},
      end: async () => this.restart(),
    };
  }

  setSession(index: number, isUp: boolean): void {
    const neighbor = this.#neighbors[index];
    if (neighbor === undefined || neighbor.isUp === isUp) return;
    if (isUp) this.#begin(neighbor);
    else neighbor.end(this.#options.wallMs());
    this.#changed();
  }

  /** All of its routes are gone, and connected clients notice. */
  restart(): void {
    this.#ribs.clear();
    for (const neighbor of this.#neighbors.filter(({ isUp }) => isUp)) this.#begin(neighbor);
    this.disconnect();
    this.#changed();
  }

  /** The other end of all connections is gone. */
  disconnect(): void {
    for (const client of [...this.#connected]) client.end(unreachable("WatchEvent"));
    this.#connected.clear();
  }

  get hasSession(): boolean {
    return this.#isRunning && this.#neighbors.some(({ isUp }) => isUp);
  }

  /** Some neighbor gets no changes. */
  get isDeferring(): boolean {
    this.#pass();
    return this.#isRunning && this.#neighbors.some(({ isDeferring }) => isDeferring);
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
      disablePeer: configures,
      resend: (neighbor) => ask("ResetPeer", () => this.#resend(neighbor)),
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
    if (!this.#isRunning) throw unreachable(operation);
    if (this.isFrozen) return this.#options.deadline();
    this.#pass();
    return answer();
  }

  #begin(neighbor: SimulatedNeighbor): void {
    const { wallMs, deferrals } = this.#options;
    const deferralMs = deferrals?.drawMs() ?? 0;
    const defersUntilMs = deferrals === undefined || deferralMs === 0 ? null : deferrals.nowMs() + deferralMs;
    neighbor.begin({ wallMs: wallMs(), defersUntilMs, routes: this.#routes() });
  }

  /** What changes with time alone: the end of a deferral is not announced. */
  #pass(): void {
    const { deferrals } = this.#options;
    if (deferrals === undefined || !this.#neighbors.some(({ isDeferring }) => isDeferring)) return;
    const routes = this.#routes();
    for (const neighbor of this.#neighbors) {
      if (neighbor.endDeferral(deferrals.nowMs(), routes)) this.#peers = null;
    }
  }

  #resend(text: string): void {
    this.#neighbors.find(({ address }) => address === text)?.resend(this.#routes());
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
      for (const neighbor of this.#neighbors) neighbor.send(key, this.#selected(key));
    }
  }

  /** Of the paths of several services the first one. */
  #selected(key: RouteKey): string | undefined {
    for (const rib of this.#ribs.values()) {
      const path = rib.get(key);
      if (path !== undefined) return toOwnPath(path)?.attributes;
    }
    return undefined;
  }

  #routes(): ReadonlyMap<RouteKey, string> {
    return new Map([...this.routes].map((key) => [key, this.#selected(key) ?? ""]));
  }

  #pathsOf(family: RouteFamily): ListedPath[] {
    return [...this.#ribs.values()].flatMap((rib) => [...rib.values()].filter((path) => path.family === family));
  }

  #out({ neighbor, family, prefixes }: AdjOutQuery): ListedPath[] {
    const paths = this.#pathsOf(family);
    const asked = this.#neighbors.find(({ address }) => address === neighbor);
    // What it would be sent: also during a deferral.
    return paths.filter((path) => {
      const key = keyOfPath(path) ?? "";
      return asked?.isUp === true && this.#gets(asked, key) && (prefixes.length === 0 || prefixes.includes(key));
    });
  }

  #gets(neighbor: SimulatedNeighbor, key: RouteKey): boolean {
    if (this.keepsRulesBack && familyOfKey(key).endsWith("flowspec")) return false;
    return neighbor.takes(key);
  }

  #peersNow(): readonly SpeakerPeer[] {
    this.#peers ??= this.#neighbors.map((neighbor) => neighbor.toPeer());
    return this.#peers;
  }
}

function unreachable(operation: string): SpeakerFault {
  return new SpeakerFault(operation, "the simulated speaker is not reachable", "unreachable");
}
