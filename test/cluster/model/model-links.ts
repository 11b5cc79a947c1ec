/**
 * Connections between the brains of a model. A connection that is cut, one way or both, ends at each end some seconds
 * later; what is sent meanwhile is lost. Messages of one sender arrive in their order, each after a delay of its own.
 */
import type { PeerState, Peers } from "../../../src/cluster/peers.ts";
import type { Chance } from "../../fixtures/seeded-random.ts";
import type { ModelClock } from "./model-clock.ts";

const SILENT_MS = 3000;

export interface LinkedBrain {
  readonly name: string;
  readonly clock: ModelClock;
  readonly isAlive: boolean;
  readonly peers: ModelPeers;
  /** What its heartbeats say of etcd. */
  readonly hasEtcd: boolean;
}

interface Message {
  readonly kind: string;
  readonly body: string;
  readonly atMs: number;
}

/** One end's view of one connection. */
interface End {
  isUp: boolean;
  /** True ms, since when nothing arrives; null: something does. */
  silentMs: number | null;
  readonly inbox: Message[];
}

export class ModelLinks {
  readonly #brains: () => readonly LinkedBrain[];
  readonly #chance: Chance;
  /** `from to` of directions that are cut. */
  readonly cut = new Set<string>();
  readonly #ends = new Map<string, End>();
  trueMs = 0;
  /** Longest delay of a message. */
  delayMs = 20;

  constructor(brains: () => readonly LinkedBrain[], chance: Chance) {
    this.#brains = brains;
    this.#chance = chance;
  }

  /** What `own` has of its connection with `peer`. */
  end(own: string, peer: string): End {
    const name = `${own} ${peer}`;
    const end = this.#ends.get(name) ?? { isUp: false, silentMs: null, inbox: [] };
    this.#ends.set(name, end);
    return end;
  }

  post(from: string, to: string, kind: string, body: unknown): void {
    if (!this.end(from, to).isUp) return;
    const { inbox } = this.end(to, from);
    const earliest = inbox.at(-1)?.atMs ?? 0;
    const atMs = Math.max(earliest, this.trueMs + this.#chance.below(this.delayMs + 1));
    inbox.push({ kind, body: JSON.stringify(body), atMs });
  }

  /** The process of a brain is gone, and with it its ends. */
  forget(name: string): void {
    for (const brain of this.#brains()) {
      this.#ends.delete(`${name} ${brain.name}`);
      this.end(brain.name, name).inbox.length = 0;
    }
  }

  advance(trueMs: number): void {
    this.trueMs += trueMs;
    const brains = this.#brains();
    for (const own of brains) {
      if (own.clock.isFrozen || !own.isAlive) continue;
      for (const peer of brains) if (peer !== own) this.#advanceEnd(own, peer);
    }
    for (const a of brains) for (const b of brains) if (a.name < b.name) this.#connect(a, b);
  }

  #advanceEnd(own: LinkedBrain, peer: LinkedBrain): void {
    const end = this.end(own.name, peer.name);
    const isWhole = !this.cut.has(`${peer.name} ${own.name}`) && peer.isAlive && !peer.clock.isFrozen;
    // The other end has closed: that arrives if anything does.
    const isClosed = !this.end(peer.name, own.name).isUp && isWhole;
    if (isWhole && !isClosed) {
      end.silentMs = null;
      if (end.isUp) own.peers.received(peer.name);
    } else end.silentMs ??= this.trueMs;
    const isOver = end.silentMs !== null && (isClosed || this.trueMs - end.silentMs >= SILENT_MS);
    if (end.isUp && isOver) {
      end.isUp = false;
      end.inbox.length = 0;
      own.peers.down(peer.name);
    }
    // On a cut connection what was sent waits, and arrives if that is over before its end.
    const isCut = this.cut.has(`${peer.name} ${own.name}`);
    while (end.isUp && !isCut && (end.inbox[0]?.atMs ?? Number.POSITIVE_INFINITY) <= this.trueMs) {
      const message = end.inbox.shift() as Message;
      own.peers.deliver(peer.name, message.kind, JSON.parse(message.body));
    }
  }

  /** Both ends must have seen that the last one is over. */
  #connect(a: LinkedBrain, b: LinkedBrain): void {
    const [near, far] = [this.end(a.name, b.name), this.end(b.name, a.name)];
    const isCut = this.cut.has(`${a.name} ${b.name}`) || this.cut.has(`${b.name} ${a.name}`);
    const canRun = [a, b].every(({ isAlive, clock }) => isAlive && !clock.isFrozen);
    if (near.isUp || far.isUp || isCut || !canRun) return;
    for (const end of [near, far]) Object.assign(end, { isUp: true, silentMs: null });
    a.peers.up(b.name);
    b.peers.up(a.name);
  }
}

export class ModelPeers implements Peers {
  readonly own: string;
  readonly #links: ModelLinks;
  readonly #clock: ModelClock;
  readonly #others: readonly LinkedBrain[];
  readonly #listeners = new Map<string, ((from: string, body: unknown) => void)[]>();
  readonly #ups: ((name: string) => void)[] = [];
  readonly #downs: ((name: string) => void)[] = [];
  readonly #receivedMs = new Map<string, number>();
  /** As last measured by this process. */
  readonly #skews = new Map<string, number>();

  constructor(own: string, others: readonly LinkedBrain[], links: ModelLinks, clock: ModelClock) {
    this.own = own;
    this.#others = others;
    this.#links = links;
    this.#clock = clock;
  }

  states(): readonly PeerState[] {
    return this.#others.map(({ name, hasEtcd }) => ({
      ...{ name, hasEtcd },
      isUp: this.#links.end(this.own, name).isUp,
      sinceMs: 0,
      receivedMs: this.#receivedMs.get(name) ?? null,
      skewMs: this.#skews.get(name) ?? null,
      ...{ version: null, sections: null, problem: null },
    }));
  }

  broadcast(kind: string, body: unknown): void {
    for (const { name } of this.#others) this.send(name, kind, body);
  }

  send(to: string, kind: string, body: unknown): void {
    this.#links.post(this.own, to, kind, body);
  }

  on(kind: string, listener: (from: string, body: unknown) => void): void {
    this.#listeners.set(kind, [...(this.#listeners.get(kind) ?? []), listener]);
  }

  onUp(listener: (name: string) => void): void {
    this.#ups.push(listener);
  }

  onDown(listener: (name: string) => void): void {
    this.#downs.push(listener);
  }

  received(from: string): void {
    this.#receivedMs.set(from, this.#clock.monotonicMs());
    const clock = this.#others.find(({ name }) => name === from)?.clock ?? this.#clock;
    this.#skews.set(from, clock.wallMs() - this.#clock.wallMs());
  }

  deliver(from: string, kind: string, body: unknown): void {
    for (const listener of this.#listeners.get(kind) ?? []) listener(from, body);
  }

  up(name: string): void {
    this.received(name);
    for (const listener of this.#ups) listener(name);
  }

  down(name: string): void {
    for (const listener of this.#downs) listener(name);
  }
}
