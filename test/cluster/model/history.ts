/**
 * One history of a cluster from a seed: orders, attacks and events at two or three brains, while brains, links and etcd
 * fail and clocks are set. Then all is healed, and what must hold is checked. A history is repeated by its seed.
 */
import type { AttackSubject } from "../../../src/cluster/joins/attacks.ts";
import { isNewer, type Stamp } from "../../../src/cluster/stamp.ts";
import { nextTurn } from "../../../src/system/timers.ts";
import { Chance, longRandom } from "../../fixtures/seeded-random.ts";
import { ModelBrain } from "./model-brain.ts";
import { ModelClock } from "./model-clock.ts";
import { ModelEtcd } from "./model-etcd.ts";
import { type LinkedBrain, ModelLinks, type ModelPeers } from "./model-links.ts";
import { ModelDisk } from "./model-table.ts";

const WALL_MS = Date.UTC(2026, 2, 1);
const HOUR_MS = 3_600_000;
const SLICE_MS = 250;
/** Above the life of a lease, so that its young key is gone. */
const WARM_UP_MS = 26_000;
/** Above all that is waited for: fallback, leases, offers. */
const QUIET_MS = 75_000;
const KEYS = ["192.0.2.1/32", "192.0.2.2/32", "198.51.100.0/24"];
const SUBJECTS: readonly AttackSubject[] = ["192.0.2.1", "192.0.2.2"].map((target) => ({
  ...{ direction: "incoming", target, bits: null },
}));

/** Why a history is wrong: the name of the invariant, then what was found. */
export type Violation = `${Invariant}: ${string}`;
export const INVARIANTS = [
  "brains agree on orders",
  "no acknowledged order is lost",
  "no route without an order",
  "leases do not overlap",
  "no event is lost",
  "no event is repeated without a fault",
  "brains agree on attacks",
] as const;
export type Invariant = (typeof INVARIANTS)[number];

/** An order that a caller was answered. */
interface Acknowledged {
  readonly key: string;
  readonly stamp: Stamp;
  readonly endsAt: number | null;
  readonly by: Place;
  isShared: boolean;
}

class Place implements LinkedBrain {
  readonly disk = new ModelDisk();
  brain: ModelBrain | null = null;
  /** What its clock shows when all is well, minus true time, ms. */
  offsetMs = 0;
  /** The last time that its process or its disk was lost, true ms. */
  killedMs = Number.NEGATIVE_INFINITY;
  wipedMs = Number.NEGATIVE_INFINITY;

  constructor(
    readonly name: string,
    readonly clock: ModelClock,
  ) {}

  get isAlive(): boolean {
    return this.brain !== null;
  }

  get hasEtcd(): boolean {
    return this.brain?.hasEtcd ?? false;
  }

  get peers(): ModelPeers {
    if (this.brain === null) throw new Error(`${this.name} does not run`);
    return this.brain.peers;
  }
}

interface Sighting {
  readonly key: string;
  readonly by: readonly { readonly place: Place; readonly atMs: number }[];
}

export class History {
  readonly violations = new Set<Violation>();
  readonly #chance: Chance;
  readonly #places: readonly Place[];
  readonly #links: ModelLinks;
  readonly #etcd: ModelEtcd | null;
  readonly #acknowledged: Acknowledged[] = [];
  readonly #sightings: Sighting[] = [];
  readonly #sent = new Map<string, number>();
  readonly #isFaultless: boolean;
  /** Clocks are wrong by an hour from begin to end, and are not set: then times of orders are as exact as true ones. */
  readonly #areClocksWrong: boolean;
  /** Either etcd loses its data or a brain its disk: both at once may lose what only they had. */
  readonly #losesEtcd: boolean;
  #hasWiped = false;
  #restoredMs = Number.NEGATIVE_INFINITY;
  #ids = 0;
  #events = 0;
  #trueMs = 0;

  constructor(seed: number) {
    this.#chance = new Chance(longRandom(seed));
    const chance = this.#chance;
    const count = 2 + chance.below(2);
    this.#places = Array.from({ length: count }, (_, i) => {
      return new Place(`brain${i + 1}`, new ModelClock(WALL_MS, 0.99 + 0.02 * chance.random()));
    });
    this.#links = new ModelLinks(() => this.#places, chance);
    this.#etcd = chance.oneIn(4) ? null : new ModelEtcd(chance);
    this.#isFaultless = chance.oneIn(5);
    this.#areClocksWrong = !this.#isFaultless && chance.oneIn(3);
    if (this.#areClocksWrong)
      for (const place of this.#places) {
        place.offsetMs = chance.oneOf([-HOUR_MS, 0, HOUR_MS]);
        place.clock.setWall(WALL_MS + place.offsetMs);
      }
    this.#losesEtcd = chance.oneIn(2);
  }

  async run(): Promise<readonly Violation[]> {
    for (const place of this.#places) this.#start(place);
    await this.#pass(WARM_UP_MS);
    const steps = 10 + this.#chance.below(30);
    for (let i = 0; i < steps; i++) {
      if (this.#isFaultless || this.#chance.oneIn(2)) this.#act();
      else this.#fail();
      await this.#pass(this.#chance.logarithmic(20, 8000));
    }
    this.#heal();
    await this.#pass(QUIET_MS);
    this.#check();
    for (const place of this.#places) place.brain?.kill();
    return [...this.violations];
  }

  async #pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= SLICE_MS) {
      const slice = Math.min(left, SLICE_MS);
      this.#trueMs += slice;
      for (const { clock, brain } of this.#places) if (brain !== null) clock.advance(slice);
      this.#etcd?.advance(slice);
      this.#links.advance(slice);
      await nextTurn();
      this.#checkLeases();
    }
  }

  #start(place: Place): void {
    const others = this.#places.filter((other) => other !== place);
    place.brain = new ModelBrain({
      ...{ name: place.name, clock: place.clock, disk: place.disk, links: this.#links, others, etcd: this.#etcd },
      onSent: (key) => this.#sent.set(key, (this.#sent.get(key) ?? 0) + 1),
      newId: () => `${this.#chance.below(10_000).toString().padStart(5, "0")}-${this.#ids++}`,
    });
  }

  /** What callers and traffic do. */
  #act(): void {
    const place = this.#chance.oneOf(this.#running());
    const subject = this.#chance.oneOf(SUBJECTS);
    const actions = [
      () => this.#ban(place),
      () => this.#ban(place),
      () => this.#unban(place),
      () => this.#banAtOnce(),
      () => this.#event(),
      () => place.brain?.attackBegins(subject),
      () => {
        for (const each of this.#running()) each.brain?.attackBegins(subject);
      },
      () => {
        for (const each of this.#running()) each.brain?.attackEnds(subject);
      },
    ];
    this.#chance.oneOf(actions)();
  }

  #running(): Place[] {
    const running = this.#places.filter(({ isAlive, clock }) => isAlive && !clock.isFrozen);
    return running.length > 0 ? running : [this.#revived(this.#places[0] as Place)];
  }

  #revived(place: Place): Place {
    if (!place.isAlive) this.#start(place);
    place.clock.isFrozen = false;
    return place;
  }

  /** Two operators at one millisecond. */
  #banAtOnce(): void {
    const [one, two] = this.#running();
    if (one === undefined || two === undefined || this.#isFaultless || this.#areClocksWrong) return;
    two.clock.setWall(one.clock.wallMs());
    const key = this.#chance.oneOf(KEYS);
    for (const place of [one, two]) this.#ban(place, key);
  }

  #ban(place: Place, key = this.#chance.oneOf(KEYS)): void {
    const nowMs = place.clock.wallMs();
    // Ends while the history lasts, or long after it, whatever becomes of the clocks; in half an hour where these stay wrong.
    const isShort = (this.#isFaultless || this.#areClocksWrong) && this.#chance.oneIn(3);
    const endsAt = nowMs + (isShort ? 5000 : this.#areClocksWrong ? HOUR_MS / 2 : 10 * HOUR_MS);
    const order = place.brain?.ban({ key, beganAt: nowMs, endsAt });
    if (order !== undefined) this.#acknowledge({ key, endsAt, by: place, stamp: order.stamp }, order.isShared);
  }

  #unban(place: Place): void {
    const key = this.#chance.oneOf(KEYS);
    const order = place.brain?.unban(key) ?? null;
    if (order !== null) this.#acknowledge({ key, endsAt: null, by: place, stamp: order.stamp }, order.isShared);
  }

  #acknowledge(order: Omit<Acknowledged, "isShared">, isShared: Promise<boolean>): void {
    const acknowledged: Acknowledged = { ...order, isShared: false };
    this.#acknowledged.push(acknowledged);
    void isShared.then((shared) => {
      acknowledged.isShared = shared;
    });
  }

  /** An event that several brains see, or all. */
  #event(): void {
    const key = `event ${this.#events++}`;
    const running = this.#running();
    const seen = this.#isFaultless ? running : running.filter(() => this.#chance.oneIn(2));
    const by = (seen.length > 0 ? seen : running.slice(0, 1)).map((place) => ({ place, atMs: this.#trueMs }));
    for (const { place } of by) place.brain?.event(key);
    this.#sightings.push({ key, by });
  }

  /** What breaks, or comes back. */
  #fail(): void {
    const place = this.#chance.oneOf(this.#places);
    const failEtcd = () => this.#failEtcd(place);
    const faults = [
      () => this.#cut(),
      () => this.#links.cut.clear(),
      () => this.#killOrStart(place),
      () => this.#freezeOrThaw(place),
      () => this.#setClock(place),
      () => this.#wipe(place),
      ...[failEtcd, failEtcd, failEtcd],
    ];
    this.#chance.oneOf(faults)();
  }

  #killOrStart(place: Place): void {
    if (!place.isAlive) {
      this.#start(place);
      return;
    }
    place.brain?.kill();
    place.brain = null;
    place.clock.isFrozen = false;
    place.killedMs = this.#trueMs;
  }

  #cut(): void {
    const [a, b] = [this.#chance.oneOf(this.#places), this.#chance.oneOf(this.#places)];
    if (a === b) return;
    this.#links.cut.add(`${a.name} ${b.name}`);
    if (!this.#chance.oneIn(3)) this.#links.cut.add(`${b.name} ${a.name}`);
  }

  #freezeOrThaw(place: Place): void {
    if (!place.isAlive) return;
    place.clock.isFrozen = !place.clock.isFrozen;
    // Before anything else of it runs.
    this.#checkLeases();
    place.clock.run();
  }

  #setClock({ clock }: Place): void {
    if (this.#areClocksWrong) return;
    clock.setWall(WALL_MS + this.#trueMs + this.#chance.oneOf([-HOUR_MS, 0, 0, HOUR_MS]));
  }

  #wipe(place: Place): void {
    if (this.#losesEtcd || this.#hasWiped || this.#trueMs < WARM_UP_MS) return;
    this.#hasWiped = true;
    place.brain?.kill();
    place.brain = null;
    place.disk.wipe();
    place.killedMs = place.wipedMs = this.#trueMs;
  }

  #failEtcd(place: Place): void {
    const etcd = this.#etcd;
    if (etcd === null) return;
    const faults = [
      () => Object.assign(etcd, { isAway: !etcd.isAway }),
      () => etcd.cutFrom.add(place.name),
      () => etcd.cutFrom.clear(),
      () => Object.assign(etcd, { lossOneIn: etcd.lossOneIn === 0 ? 8 : 0 }),
      () => etcd.compact(),
      () => etcd.backUp(),
    ];
    const losses = [
      () => etcd.loseAll(),
      () => {
        if (etcd.restore()) this.#restoredMs = this.#trueMs;
      },
    ];
    this.#chance.oneOf<() => unknown>(this.#losesEtcd ? [...faults, ...losses] : faults)();
  }

  #heal(): void {
    this.#links.cut.clear();
    if (this.#etcd !== null) Object.assign(this.#etcd, { isAway: false, lossOneIn: 0 });
    this.#etcd?.cutFrom.clear();
    for (const place of this.#places) {
      this.#revived(place);
      place.clock.setWall(WALL_MS + this.#trueMs + place.offsetMs);
    }
  }

  /** After an older backup was restored two may count on the lease for its time (docs/operations/pair.md). */
  #checkLeases(): void {
    const holders = this.#places.filter(({ brain, clock }) => !clock.isFrozen && brain?.etcdLease?.holds() === true);
    if (holders.length < 2 || this.#trueMs - this.#restoredMs < 20_000) return;
    this.violations.add(`leases do not overlap: ${holders.map(({ name }) => name).join(" and ")} hold it`);
  }

  #check(): void {
    this.#checkOrders();
    this.#checkAcknowledged();
    this.#checkEvents();
    this.#checkAttacks();
  }

  #checkOrders(): void {
    const texts = this.#places.map(({ brain }) => {
      const orders = [...(brain?.register.records() ?? [])].map(
        ({ key, stamp, record }) => `${key} ${stamp.ms} ${stamp.brain} ${record === null ? "over" : "in force"}`,
      );
      return orders.sort().join("; ");
    });
    if (new Set(texts).size > 1) this.violations.add(`brains agree on orders: ${texts.join(" | ")}`);
    if (this.#etcd === null) return;
    const own = [...(this.#places[0]?.brain?.register.records() ?? [])];
    const stored = this.#etcd.values("/m/orders/bans/");
    for (const { key, stamp } of own) {
      const text = stored.get(encodeURIComponent(key)) ?? "{}";
      const there = (JSON.parse(text) as { stamp?: Stamp }).stamp;
      if (there?.ms !== stamp.ms || there.brain !== stamp.brain)
        this.violations.add(`brains agree on orders: etcd has ${text} instead of ${stamp.ms} ${stamp.brain}`);
    }
  }

  #checkAcknowledged(): void {
    for (const order of this.#acknowledged) {
      const { key, stamp, by, isShared, endsAt } = order;
      // Of what only a lost disk had the brain may even use the stamp again, if its clock was set back.
      if (!isShared && by.wipedMs > Number.NEGATIVE_INFINITY) continue;
      for (const { name, brain } of this.#places) {
        const present = brain?.register.get("bans", key)?.stamp ?? null;
        const text = `${stamp.ms} ${stamp.brain} of ${key} at ${name}, which has ${present?.ms} ${present?.brain}`;
        if (isNewer(stamp, present)) this.violations.add(`no acknowledged order is lost: ${text}`);
        if (present?.ms !== stamp.ms || present.brain !== stamp.brain) continue;
        const leftMs = endsAt === null ? 0 : endsAt - by.offsetMs - (WALL_MS + this.#trueMs);
        const isWanted = leftMs > 0;
        const hasRoute = brain?.bans.present(key) !== null;
        if (hasRoute && !isWanted) this.violations.add(`no route without an order: ${text}`);
        if (!hasRoute && isWanted) this.violations.add(`no acknowledged order is lost: no route of ${text}`);
      }
    }
  }

  #checkEvents(): void {
    for (const { key, by } of this.#sightings) {
      const count = this.#sent.get(key) ?? 0;
      // A brain that is killed takes with it what it has not sent.
      const isKept = by.some(({ place, atMs }) => place.killedMs < atMs);
      if (count === 0 && isKept) this.violations.add(`no event is lost: ${key}`);
      if (count > 1 && this.#isFaultless)
        this.violations.add(`no event is repeated without a fault: ${key}, ${count} times`);
    }
  }

  #checkAttacks(): void {
    const shown = new Map<string, { readonly id: string; readonly startedAt: number }[]>();
    for (const { brain } of this.#places) {
      for (const { target, ...rest } of brain?.shown() ?? []) shown.set(target, [...(shown.get(target) ?? []), rest]);
    }
    for (const [target, attacks] of shown) {
      const ids = new Set(attacks.map(({ id }) => id));
      const starts = attacks.map(({ startedAt }) => startedAt);
      // Clocks run apart by less; those that are set meanwhile say nothing.
      const areApart = this.#isFaultless && Math.max(...starts) - Math.min(...starts) > 5000;
      if (ids.size > 1 || areApart)
        this.violations.add(`brains agree on attacks: ${target} is ${[...ids].join(" and ")}, since ${starts.join()}`);
    }
  }
}
