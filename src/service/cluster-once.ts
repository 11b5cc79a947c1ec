/** One kind of events that all brains have and one of them carries out: what brains say of them to each other. */

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import {
  Deliveries,
  type Delivery,
  type Done,
  type Entry,
  type Outcome,
  type Said,
  type Word,
} from "../cluster/joins/deliveries.ts";
import type { RenamedIds } from "../cluster/joins/event-keys.ts";
import { LEASE_MS } from "../cluster/joins/pair-lease.ts";
import type { Lease } from "../cluster/lease.ts";
import type { Peers } from "../cluster/peers.ts";
import { oneOf } from "../schema/schema-forms.ts";
import type { Clock } from "../system/clock.ts";
import type { Cancel, Timers } from "../system/timers.ts";
import type { PairLease } from "./cluster-lease.ts";

export interface ClusterOnceOptions {
  readonly peers: Peers;
  /** Kind of the messages. */
  readonly kind: string;
  readonly lease: Lease;
  readonly reach: Pick<PairLease, "isGone">;
  /** Events that wait, at most. */
  readonly entriesMax: number;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Pick<Timers, "every">;
  readonly onUnread: (kind: string, from: string) => void;
  /** Another brain had sent these before this one was started. */
  readonly onSentBefore?: (keys: readonly string[]) => void;
  /** There was no room, or they waited too long. */
  readonly onDropped: (events: number) => void;
}

const DELIVERIES_OF_MESSAGE = 2000;
/** Messages about sent notifications: more would fill the connection, which is closed then. */
const DONE_MESSAGES_AT_ONCE = 8;
const TICK_MS = 250;
/** As long as a queue of notifications tries. */
const AGE_MAX_MS = 900_000;
const MARKS_MAX = 16_384;

const Body = Type.Object({
  word: oneOf("done", "given_up", "offered", "granted"),
  deliveries: Type.Array(
    Type.Object({
      key: Type.String({ maxLength: 512 }),
      target: Type.String({ maxLength: 253 }),
      /** For notifications that were sent before the connection began: for how long they are still remembered. */
      left_ms: Type.Optional(Type.Number({ minimum: 0 })),
    }),
    { maxItems: DELIVERIES_OF_MESSAGE },
  ),
});
type Body = Static<typeof Body>;

export class ClusterOnce<Event> {
  readonly #options: ClusterOnceOptions;
  readonly #deliveries: Deliveries<Event>;
  #carry: (entry: Entry<Event>) => void = () => {};
  #cancel: Cancel = () => {};
  /** Brains that have said what they sent before. */
  readonly #said = new Set<string>();
  /** Sent notifications, for the messages of the next ticks: thousands may be joined in one. */
  readonly #done: (readonly Delivery[])[] = [];

  constructor(options: ClusterOnceOptions) {
    const { peers, kind, onUnread, entriesMax } = options;
    this.#options = options;
    this.#deliveries = new Deliveries({ own: peers.own, entriesMax, marksMax: MARKS_MAX, ageMaxMs: AGE_MAX_MS });
    peers.on(kind, (from, body) => {
      if (!Value.Check(Body, body)) return onUnread(kind, from);
      const { word } = body;
      const deliveries = body.deliveries.map(({ left_ms: leftMs, ...delivery }) => ({
        ...delivery,
        ...(leftMs !== undefined && { leftMs }),
      }));
      if (word === "done" && !this.#said.has(from)) this.#wereSentBefore(deliveries);
      this.#apply(this.#deliveries.take(from, word satisfies Word, deliveries, this.#at));
    });
    peers.onUp((name) => {
      this.#deliveries.forgetGrants(name);
      this.#say({ ...this.#deliveries.marked(this.#at.nowMs), to: name });
    });
    // All that it says of the time before has arrived by then.
    peers.onDown((name) => void this.#said.add(name));
  }

  /** Events that wait for another brain, or are being carried out. */
  get size(): number {
    return this.#deliveries.size;
  }

  /** @param carry carries out an event that is this brain's part, now or later. */
  start(carry: (entry: Entry<Event>) => void): void {
    this.#carry = carry;
    this.#cancel = this.#options.timers.every(TICK_MS, () => this.#tick());
  }

  stop(): void {
    this.#cancel();
    this.#sayDone(this.#done.length);
  }

  /** Returns whether no brain has had it before. */
  add(entry: Entry<Event>): boolean {
    const { nowMs, holds } = this.#at;
    const added = this.#deliveries.add(entry, nowMs, holds);
    if (added === "send") this.#carry(entry);
    else if (added === "dropped") this.#options.onDropped(1);
    return added !== "known";
  }

  /** Whether some brain has sent it, as far as this one knows. */
  isSent(delivery: Delivery): boolean {
    return this.#deliveries.isSent(delivery, this.#at.nowMs);
  }

  /** Takes an event that this brain was to carry out before it was started again. Returns whether it still is to. */
  takeBack(entry: Entry<Event>): boolean {
    const { nowMs, holds } = this.#at;
    return this.#deliveries.add(entry, nowMs, holds) === "send";
  }

  /** Call this before each attempt. */
  maySend(delivery: Delivery): boolean {
    const { nowMs, holds } = this.#at;
    return this.#deliveries.maySend(delivery, nowMs, holds);
  }

  sent(deliveries: readonly Delivery[]): void {
    const said = this.#deliveries.sent(deliveries, this.#at.nowMs);
    this.#done.push(...inMessages(said.deliveries));
    this.#sayDone();
  }

  gaveUp(deliveries: readonly Delivery[]): void {
    if (deliveries.length === 0) return;
    const { nowMs, others } = this.#at;
    this.#say(this.#deliveries.gaveUp(deliveries, others, nowMs));
  }

  /** Subjects of keys are known by other ids from now on. */
  renamed(ids: RenamedIds): void {
    const said = this.#deliveries.renamed(ids, this.#at.nowMs);
    if (said !== null) this.#say(said);
  }

  get #at() {
    const { clock, lease, peers } = this.#options;
    const others = peers.states().flatMap(({ name, isUp }) => (isUp ? [name] : []));
    return { nowMs: clock.monotonicMs(), holds: lease.holds(), others };
  }

  #wereSentBefore(deliveries: readonly Done[]): void {
    const keys = deliveries.flatMap(({ key, leftMs }) => (leftMs === undefined ? [] : [key]));
    this.#options.onSentBefore?.(keys);
  }

  #sayDone(messages = DONE_MESSAGES_AT_ONCE): void {
    for (const deliveries of this.#done.splice(0, messages)) this.#say({ word: "done", deliveries, to: null });
  }

  #tick(): void {
    this.#sayDone();
    const { reach, onDropped } = this.#options;
    const { tooOld, ...outcome } = this.#deliveries.tick(this.#at, (brain) => reach.isGone(brain, LEASE_MS));
    if (tooOld > 0) onDropped(tooOld);
    this.#apply(outcome);
  }

  #apply({ send, say }: Outcome<Event>): void {
    for (const entry of send) this.#carry(entry);
    for (const said of say) this.#say(said);
  }

  #say({ word, deliveries, to }: Said): void {
    const { peers, kind } = this.#options;
    for (const part of inMessages(deliveries)) {
      const some = part.map(({ key, target, leftMs }) => ({
        ...{ key, target },
        ...(leftMs !== undefined && { left_ms: leftMs }),
      }));
      const body: Body = { word, deliveries: some };
      if (to === null) peers.broadcast(kind, body);
      else peers.send(to, kind, body);
    }
  }
}

function* inMessages<D extends Delivery>(deliveries: readonly D[]): Generator<readonly D[]> {
  for (let from = 0; from < deliveries.length; from += DELIVERIES_OF_MESSAGE)
    yield deliveries.slice(from, from + DELIVERIES_OF_MESSAGE);
}
