/** A brain of the model: the real rules of orders, leases, attacks and deliveries, over links and an etcd in memory. */
import { DataGeneration } from "../../../src/cluster/etcd/data-generation.ts";
import { EtcdExchange } from "../../../src/cluster/etcd/etcd-exchange.ts";
import { EtcdLease } from "../../../src/cluster/etcd/etcd-lease.ts";
import { type AttackSubject, type ForeignAttack, JoinedAttacks } from "../../../src/cluster/joins/attacks.ts";
import { Deliveries, type Outcome, type Said, type Word } from "../../../src/cluster/joins/deliveries.ts";
import { FALLBACK_MS, holdsWithFallback } from "../../../src/cluster/joins/etcd-fallback.ts";
import { LEASE_MS } from "../../../src/cluster/joins/pair-lease.ts";
import type { SharedRecord } from "../../../src/cluster/order-exchange.ts";
import { OrderRegister } from "../../../src/cluster/order-register.ts";
import { PeerExchange } from "../../../src/cluster/peer-exchange.ts";
import { clockOf } from "../../../src/cluster/peers.ts";
import type { Stamp } from "../../../src/cluster/stamp.ts";
import { PairLease } from "../../../src/service/cluster-lease.ts";
import type { SharedBegin } from "../../../src/system/record-table.ts";
import type { ModelClock } from "./model-clock.ts";
import type { ModelEtcd } from "./model-etcd.ts";
import { type LinkedBrain, type ModelLinks, ModelPeers } from "./model-links.ts";
import { EMPTY_TABLE, type ModelBan, ModelBans, type ModelDisk } from "./model-table.ts";

const PREFIX = "/m/";
const TARGET = "webhook";

/** What a process of a brain shares with the others and with its next process. */
export interface BrainPlace {
  readonly name: string;
  readonly clock: ModelClock;
  readonly disk: ModelDisk;
  readonly links: ModelLinks;
  readonly others: readonly LinkedBrain[];
  /** null: the brains have only each other. */
  readonly etcd: ModelEtcd | null;
  /** An event reaches the webhook. */
  readonly onSent: (key: string) => void;
  readonly newId: () => string;
}

interface Attack {
  readonly id: string;
  readonly subject: AttackSubject;
  readonly startedAt: number;
}

/** One process: it ends with stop(), and leaves its disk. */
export class ModelBrain {
  readonly peers: ModelPeers;
  readonly bans: ModelBans;
  readonly register: OrderRegister;
  readonly attacks = new JoinedAttacks(100);
  readonly etcdLease: EtcdLease | null = null;
  readonly #place: BrainPlace;
  readonly #exchange: PeerExchange;
  readonly #etcdExchange: EtcdExchange | null = null;
  readonly #pairLease: PairLease;
  readonly #deliveries: Deliveries<string>;
  readonly #outbox: string[] = [];
  readonly #active = new Map<string, Attack>();

  constructor(place: BrainPlace) {
    const { name, clock, disk, links, others, etcd, newId } = place;
    this.#place = place;
    this.#deliveries = new Deliveries({ own: name, entriesMax: 1000, marksMax: 1000, ageMaxMs: 900_000 });
    this.bans = new ModelBans(disk);
    this.peers = new ModelPeers(name, others, links, clock);
    this.#pairLease = new PairLease(this.peers, clock);
    this.register = new OrderRegister({
      own: name,
      wallMs: () => clock.wallMs(),
      clockOf: (brain) => clockOf(brain, this.peers.states()),
      store: {
        queue: (key, order) => void (order === null ? disk.stamps.delete(key) : disk.stamps.set(key, order)),
        saveAll: async (orders) => {
          for (const [key, order] of orders) disk.stamps.set(key, order);
          return true;
        },
      },
      observer: { refused: () => {}, waits: () => {}, endsDropped: () => {} },
    });
    const unused = EMPTY_TABLE;
    this.register.bind({
      ...{ bans: this.bans, source_blocks: unused, filter_rules: unused },
      ...{ protections: unused, levers: unused, maintenance: unused },
    });
    this.register.restore([...disk.stamps.values()]);
    const records = () => this.register.records();
    const shifted = (record: SharedRecord, byMs: number) => this.register.shifted(record, byMs);
    this.#exchange = new PeerExchange({
      peers: this.peers,
      wallMs: () => clock.wallMs(),
      monotonicMs: () => clock.monotonicMs(),
      stampOf: (table, key) => this.register.stampOf(table, key),
      ...{ records, shifted, digest: () => this.register.digest(), garbled: () => {} },
    });
    this.register.join(this.#exchange, { decides: etcd === null });
    if (etcd !== null) {
      const calls = etcd.callsOf(name);
      const generation = new DataGeneration({ calls, prefix: PREFIX, newId });
      this.#etcdExchange = new EtcdExchange({
        ...{ calls, generation, own: name, prefix: PREFIX, clock, timers: clock, records },
        lifeMs: (table) => this.register.lifeMs(table),
        observer: QUIET,
      });
      this.register.join(this.#etcdExchange, { decides: true });
      const key = `${PREFIX}leases/notifications`;
      this.etcdLease = new EtcdLease({ calls, generation, key, own: name, clock, timers: clock, onChange: () => {} });
      this.#etcdExchange.start();
      this.etcdLease.start();
    }
    this.#joinAttacks();
    this.#joinDeliveries();
    clock.every(1000, () => this.#tick());
    clock.every(100, () => this.#deliver());
  }

  /** SIGKILL: nothing is given back. */
  kill(): void {
    this.#place.clock.dropTimers();
    this.#place.links.forget(this.#place.name);
    this.#isGone = true;
  }

  #isGone = false;

  /** As stored order: on disk, then in force. Resolves with whether it is shared once that is known. */
  ban(ban: ModelBan): { readonly stamp: Stamp; readonly isShared: Promise<boolean> } {
    const begin: SharedBegin = this.register.sharing<ModelBan>("bans").begins(ban.key, ban);
    this.bans.put(ban);
    begin.inForce();
    return this.#kept(ban.key);
  }

  /** null: there is none. */
  unban(key: string): { readonly stamp: Stamp; readonly isShared: Promise<boolean> } | null {
    const present = this.bans.present(key);
    if (present === null) return null;
    this.register.sharing<ModelBan>("bans").ends(key, present);
    this.bans.remove(key);
    return this.#kept(key);
  }

  attackBegins(subject: AttackSubject): void {
    if ([...this.#active.values()].some((attack) => attack.subject === subject)) return;
    const id = this.attacks.idFor(subject, this.#place.newId());
    const attack = { id, subject, startedAt: this.#place.clock.wallMs() };
    this.#active.set(id, attack);
    this.attacks.put(attack);
    this.peers.broadcast("attack", this.#foreign(attack));
  }

  attackEnds(subject: AttackSubject): void {
    for (const { id, subject: own } of [...this.#active.values()]) {
      if (own !== subject) continue;
      this.#active.delete(id);
      this.attacks.ended(id);
      this.peers.broadcast("attack_ended", id);
    }
  }

  /** What is shown of each attack in progress. */
  shown(): { readonly target: string; readonly id: string; readonly startedAt: number }[] {
    return [...this.#active.values()].map(({ id, subject, startedAt }) => {
      const joined = this.attacks.joinedOf(id);
      return { target: subject.target, id: joined?.id ?? id, startedAt: joined?.startedAt ?? startedAt };
    });
  }

  /** This brain sees what is to be notified. */
  event(key: string): void {
    const added = this.#deliveries.add({ key, target: TARGET, event: key }, this.#nowMs, this.holds());
    if (added === "send") this.#outbox.push(key);
  }

  /** As its heartbeats say. */
  get hasEtcd(): boolean {
    return (this.etcdLease?.silenceMs ?? Number.POSITIVE_INFINITY) < FALLBACK_MS;
  }

  holds(): boolean {
    const { etcdLease } = this;
    if (etcdLease === null) return this.#pairLease.holds();
    const silenceMs = etcdLease.silenceMs ?? this.#nowMs;
    return holdsWithFallback({ etcd: etcdLease, silenceMs, pair: this.#pairLease, peers: this.peers.states() });
  }

  get #at() {
    const others = this.peers.states().flatMap(({ name, isUp }) => (isUp ? [name] : []));
    return { nowMs: this.#nowMs, holds: this.holds(), others };
  }

  get #nowMs(): number {
    return this.#place.clock.monotonicMs();
  }

  #kept(key: string) {
    const shared = this.register.get("bans", key);
    if (shared === null) throw new Error("an order without a stamp");
    return { stamp: shared.stamp, isShared: this.register.isShared("bans", key) };
  }

  #tick(): void {
    this.bans.expire(this.#place.clock.wallMs());
    this.register.tick();
    this.#exchange.tick();
    this.#carryOut(this.#deliveries.tick(this.#at, (brain) => this.#pairLease.isGone(brain, LEASE_MS)));
  }

  /** What waits is sent, if that is still this brain's to do. */
  #deliver(): void {
    if (this.#isGone) return;
    for (const key of this.#outbox.splice(0)) {
      const delivery = { key, target: TARGET };
      if (!this.#deliveries.maySend(delivery, this.#nowMs, this.holds())) continue;
      this.#place.onSent(key);
      this.#say(this.#deliveries.sent([delivery], this.#nowMs));
    }
  }

  #joinDeliveries(): void {
    this.peers.on("deliveries", (from, body) => {
      const { word, deliveries } = body as { word: Word; deliveries: { key: string; target: string }[] };
      this.#carryOut(this.#deliveries.take(from, word, deliveries, this.#at));
    });
    this.peers.on("synced", (from) => this.#pairLease.synced(from));
    this.peers.onUp((name) => {
      this.#deliveries.forgetGrants(name);
      this.#say({ ...this.#deliveries.marked(this.#nowMs), to: name });
      this.peers.send(name, "synced", {});
    });
  }

  #carryOut({ send, say }: Outcome<string>): void {
    for (const { event } of send) this.#outbox.push(event);
    for (const said of say) this.#say(said);
  }

  #say({ word, deliveries, to }: Said): void {
    if (to === null) this.peers.broadcast("deliveries", { word, deliveries });
    else this.peers.send(to, "deliveries", { word, deliveries });
  }

  #joinAttacks(): void {
    this.peers.on("attack", (from, body) => this.#rejoined(from, [body as ForeignAttack]));
    this.peers.on("attack_ended", (from, body) => this.attacks.endForeign(from, [body as string]));
    this.peers.onUp((name) => {
      this.attacks.forget(name);
      for (const attack of this.#active.values()) this.peers.send(name, "attack", this.#foreign(attack));
    });
    this.peers.onDown((name) => this.attacks.forget(name));
  }

  /** Others get to know what is shown with another id now. */
  #rejoined(from: string, attacks: readonly ForeignAttack[]): void {
    const skewMs = this.peers.states().find(({ name }) => name === from)?.skewMs ?? 0;
    const own = attacks.map((attack) => ({ ...attack, startedAt: attack.startedAt - skewMs }));
    for (const { id } of this.attacks.putForeign(from, own)) {
      const attack = this.#active.get(id);
      if (attack !== undefined) this.peers.broadcast("attack", this.#foreign(attack));
    }
  }

  #foreign({ id, subject, startedAt }: Attack): ForeignAttack {
    const joined = this.attacks.joinedOf(id);
    return { id, joinedId: joined?.id ?? id, subject, startedAt: joined?.startedAt ?? startedAt };
  }
}

const QUIET = {
  written: () => {},
  superseded: () => {},
  failed: () => {},
  leftOut: () => {},
  compared: () => {},
  following: () => {},
};
