/**
 * Carries orders from brain to brain over the link: to each peer all that it has not confirmed, in parts. With a peer that
 * comes up orders are compared, since it may have lost what it had, and what differs is sent. Times travel as they are while
 * the clocks agree, otherwise corrected by what the clocks differ.
 */
import { type Static, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { CLOCKS_AGREE_MS } from "./order-adoption.ts";
import { bucketOf, DIGEST_BUCKETS, type OrderDigest } from "./order-digest.ts";
import type { OrderExchange, RecordListener, SharedRecord, SharedTable, TakeOutcome } from "./order-exchange.ts";
import type { Peers } from "./peers.ts";
import { sharedRecordOf } from "./record-check.ts";
import { isNewer, type Stamp } from "./stamp.ts";
import { stampedName } from "./stamped-order.ts";
import { type OrderLag, UnconfirmedOrders } from "./unconfirmed-orders.ts";

const [ORDERS, ORDERS_TAKEN] = ["orders", "orders_taken"];
const [DIGEST, DIFFERING] = ["orders_digest", "orders_differing"];
/** Records of one message; a peer that sends more is not one of ours. */
const RECORDS_MAX = 10_000;
/** No message is on its way for longer on a connection that is up, ms. */
const ON_THE_WAY_MAX_MS = 30_000;
/** A peer that says nothing of the digest is of a build that does not know it: it gets everything, ms. */
const COMPARED_MS = 5000;

const Orders = TypeCompiler.Compile(
  Type.Object({
    batch: Type.Integer({ minimum: 0 }),
    /** Wall clock of the sender. */
    sent_ms: Type.Number(),
    /** A caller waits for it: taken beside a part of all others. */
    is_urgent: Type.Optional(Type.Boolean()),
    records: Type.Array(Type.Unknown(), { maxItems: RECORDS_MAX }),
  }),
);
const Taken = Type.Object({
  batch: Type.Integer({ minimum: 0 }),
  /** By the place in the batch. */
  outcomes: Type.Array(
    Type.Unsafe<TakeOutcome>(Type.Union(["taken", "refused", "unsaved"].map((outcome) => Type.Literal(outcome)))),
    { maxItems: RECORDS_MAX },
  ),
});
type Taken = Static<typeof Taken>;
const OrdersTaken = TypeCompiler.Compile(Taken);
const Digest = TypeCompiler.Compile(
  Type.Object({
    buckets: Type.Array(Type.String({ maxLength: 32 }), { minItems: DIGEST_BUCKETS, maxItems: DIGEST_BUCKETS }),
  }),
);
const Differing = TypeCompiler.Compile(
  Type.Object({
    buckets: Type.Array(Type.Integer({ minimum: 0, maximum: DIGEST_BUCKETS - 1 }), { maxItems: DIGEST_BUCKETS }),
  }),
);

interface PeerExchangeOptions {
  readonly peers: Peers;
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
  /** All that a peer must have. */
  readonly records: () => Iterable<SharedRecord>;
  /** The digest of the same. */
  readonly digest: () => OrderDigest;
  readonly shifted: (record: SharedRecord, byMs: number) => SharedRecord;
  /** Stamp of the newest order of the key that this brain has; null: it has none. */
  readonly stampOf: (table: SharedTable, key: string) => Stamp | null;
  /** The peer sent what cannot be read. */
  readonly garbled: (peer: string, what: string) => void;
}

/** A part, and the number of the connection by which it came. */
interface Arrived {
  readonly body: unknown;
  readonly connection: number;
}

/** Messages of one peer: each lane takes one part at a time, and the newest of those that came meanwhile waits. */
class Incoming {
  readonly busy = new Set<boolean>();
  readonly next = new Map<boolean, Arrived>();
  /** Counts them: parts are numbered by a process, so that the answer to one is for the connection that brought it. */
  connection = 0;
}

interface Peer {
  readonly unconfirmed: UnconfirmedOrders;
  readonly incoming: Incoming;
  /** Since when its answer to the digest is awaited; null: it is not. */
  comparingMs: number | null;
  /** It sends one digest each time that the connection begins; an answer looks through all orders. */
  hasAnswer: boolean;
}

export class PeerExchange implements OrderExchange {
  readonly #options: PeerExchangeOptions;
  readonly #peers = new Map<string, Peer>();
  #listener: RecordListener = async () => [];
  #batches = 0;

  constructor(options: PeerExchangeOptions) {
    const { peers } = options;
    this.#options = options;
    for (const { name } of peers.states()) {
      const [unconfirmed, incoming] = [new UnconfirmedOrders(), new Incoming()];
      this.#peers.set(name, { unconfirmed, incoming, comparingMs: null, hasAnswer: false });
    }
    peers.on(ORDERS, (from, body) => void this.#received(from, body));
    peers.on(ORDERS_TAKEN, (from, body) => this.#taken(from, body));
    peers.on(DIGEST, (from, body) => this.#compare(from, body));
    peers.on(DIFFERING, (from, body) => this.#differs(from, body));
    peers.onUp((name) => this.#up(name));
    peers.onDown((name) => this.#down(name));
  }

  onRecords(listener: RecordListener): void {
    this.#listener = listener;
  }

  async publish(record: SharedRecord): Promise<boolean> {
    const up = new Set(this.#options.peers.states().flatMap(({ name, isUp }) => (isUp ? [name] : [])));
    const nowMs = this.#options.monotonicMs();
    const taken = [...this.#peers].map(([name, { unconfirmed }]) => {
      if (!up.has(name)) {
        unconfirmed.add(record, nowMs);
        return Promise.resolve(false);
      }
      const { promise, resolve } = Promise.withResolvers<boolean>();
      unconfirmed.add(record, nowMs, resolve);
      this.#send(name);
      return promise;
    });
    return (await Promise.all(taken)).every((isTaken) => isTaken);
  }

  unconfirmedBy(table: SharedTable, key: string): readonly string[] {
    const name = stampedName({ table, key });
    return [...this.#peers].flatMap(([peer, { unconfirmed }]) => (unconfirmed.has(name) ? [peer] : []));
  }

  lagOf(peer: string): OrderLag {
    return this.#peers.get(peer)?.unconfirmed.lag ?? { orders: 0, sinceMs: null };
  }

  clockStepped(): void {
    for (const record of this.#options.records())
      for (const { unconfirmed } of this.#peers.values()) unconfirmed.corrected(record);
  }

  /** Call this every second. */
  tick(): void {
    const { monotonicMs, stampOf } = this.#options;
    const nowMs = monotonicMs();
    for (const [name, peer] of this.#peers) {
      peer.unconfirmed.keep(({ table, key }) => stampOf(table, key) !== null);
      if (peer.comparingMs !== null && nowMs - peer.comparingMs >= COMPARED_MS) {
        peer.comparingMs = null;
        this.#give(peer, () => true);
      }
      peer.unconfirmed.tick(nowMs);
      this.#send(name);
    }
  }

  #up(name: string): void {
    const peer = this.#peers.get(name);
    if (peer === undefined) return;
    const { digest, peers, monotonicMs } = this.#options;
    peer.unconfirmed.up();
    peer.comparingMs = monotonicMs();
    peer.hasAnswer = false;
    peer.incoming.connection++;
    peers.send(name, DIGEST, { buckets: digest().texts });
    this.#send(name);
  }

  #down(name: string): void {
    const peer = this.#peers.get(name);
    if (peer === undefined) return;
    peer.comparingMs = null;
    peer.unconfirmed.down();
  }

  #compare(from: string, body: unknown): void {
    const { garbled, digest, peers } = this.#options;
    const peer = this.#peers.get(from);
    if (!Digest.Check(body) || peer === undefined || peer.hasAnswer) {
      garbled(from, DIGEST);
      return;
    }
    peer.hasAnswer = true;
    peers.send(from, DIFFERING, { buckets: digest().differing(body.buckets) });
  }

  #differs(from: string, body: unknown): void {
    if (!Differing.Check(body)) {
      this.#options.garbled(from, DIFFERING);
      return;
    }
    const peer = this.#peers.get(from);
    if (peer === undefined || peer.comparingMs === null) return;
    const buckets = new Set(body.buckets);
    peer.comparingMs = null;
    if (buckets.size > 0) this.#give(peer, (record) => buckets.has(bucketOf(stampedName(record))));
    this.#send(from);
  }

  #give(peer: Peer, isMeant: (record: SharedRecord) => boolean): void {
    const nowMs = this.#options.monotonicMs();
    for (const record of this.#options.records()) if (isMeant(record)) peer.unconfirmed.add(record, nowMs);
  }

  #send(name: string): void {
    const { wallMs, monotonicMs, peers } = this.#options;
    // Before the parts are taken: their orders have the times of this clock then.
    const sentMs = wallMs();
    const parts = this.#peers.get(name)?.unconfirmed.parts(monotonicMs(), () => ++this.#batches) ?? [];
    for (const { number, isUrgent, records } of parts) {
      const urgent = isUrgent ? { is_urgent: true } : {};
      peers.send(name, ORDERS, { batch: number, sent_ms: sentMs, ...urgent, records });
    }
  }

  async #received(from: string, body: unknown): Promise<void> {
    const incoming = this.#peers.get(from)?.incoming ?? new Incoming();
    const isUrgent = typeof body === "object" && body !== null && "is_urgent" in body && body.is_urgent === true;
    const arrived: Arrived = { body, connection: incoming.connection };
    // It sends the next part only after the answer, or again what was not answered in time.
    if (incoming.busy.has(isUrgent)) {
      incoming.next.set(isUrgent, arrived);
      return;
    }
    incoming.busy.add(isUrgent);
    try {
      for (let part: Arrived | undefined = arrived; part !== undefined; ) {
        const answer = await this.#take(from, part.body);
        if (answer !== null && part.connection === incoming.connection)
          this.#options.peers.send(from, ORDERS_TAKEN, answer);
        part = incoming.next.get(isUrgent);
        incoming.next.delete(isUrgent);
      }
    } catch (cause) {
      this.#options.garbled(from, `${ORDERS}: ${String(cause)}`);
    } finally {
      incoming.busy.delete(isUrgent);
      incoming.next.delete(isUrgent);
    }
  }

  /** Resolves with the answer; null: it is no part. */
  async #take(from: string, body: unknown): Promise<Taken | null> {
    const { garbled, stampOf } = this.#options;
    if (!Orders.Check(body)) {
      garbled(from, ORDERS);
      return null;
    }
    const { batch, sent_ms: sentMs, records } = body;
    const read = records.map(sharedRecordOf);
    const known = read.filter((record) => record !== null);
    if (known.length < read.length) garbled(from, `${read.length - known.length} orders`);
    const corrected = this.#corrected(from, sentMs, known);
    const newer = new Set(corrected.filter(({ table, key, stamp }) => isNewer(stamp, stampOf(table, key))));
    const outcomes = [...(await this.#listener(corrected, from))];
    // A refused one would go round for ever: it stays newer than what is kept.
    const relayed = corrected.filter((record, i) => newer.has(record) && outcomes[i] !== "refused");
    this.#relay(from, relayed);
    return { batch, outcomes: read.map((record) => (record === null ? "refused" : (outcomes.shift() ?? "unsaved"))) };
  }

  /**
   * By the measured clock of the peer, so that the time on the way is none of it; by what the message says until that is
   * measured, and where its clock must have been set since.
   */
  #corrected(from: string, sentMs: number, records: readonly SharedRecord[]): readonly SharedRecord[] {
    const { peers, wallMs, shifted } = this.#options;
    const saidMs = sentMs - wallMs();
    const measuredMs = peers.states().find(({ name }) => name === from)?.skewMs ?? saidMs;
    const skewMs = Math.abs(measuredMs - saidMs) > ON_THE_WAY_MAX_MS ? saidMs : measuredMs;
    if (Math.abs(skewMs) < CLOCKS_AGREE_MS) return records;
    return records.map((record) => (record.clock === undefined ? shifted(record, -skewMs) : record));
  }

  /** Its brain may be gone before it has reached the third one. */
  #relay(from: string, newer: readonly SharedRecord[]): void {
    for (const [name, { unconfirmed }] of this.#peers) {
      if (name === from || newer.length === 0) continue;
      for (const record of newer) unconfirmed.add(record, this.#options.monotonicMs());
      this.#send(name);
    }
  }

  #taken(from: string, body: unknown): void {
    if (!OrdersTaken.Check(body)) {
      this.#options.garbled(from, ORDERS_TAKEN);
      return;
    }
    this.#peers.get(from)?.unconfirmed.confirmed(body.batch, body.outcomes, this.#options.monotonicMs());
    this.#send(from);
  }
}
