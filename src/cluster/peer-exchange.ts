/**
 * Carries orders from brain to brain over the link: to each peer all that it has not confirmed, in parts of which one at a
 * time is on its way. A peer that comes up gets everything, since it may have lost what it had. Times travel as they are
 * while the clocks agree, otherwise corrected by what the clocks differ.
 */
import { Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { inChunks } from "./chunks.ts";
import type { OrderExchange, SharedRecord, SharedTable, TakeOutcome } from "./order-exchange.ts";
import type { Peers } from "./peers.ts";
import { sharedRecordOf } from "./record-check.ts";
import { compareStamps, isNewer, type Stamp } from "./stamp.ts";
import { stampedName } from "./stamped-order.ts";

const ORDERS = "orders";
const ORDERS_TAKEN = "orders_taken";
/** A part that is not confirmed after this is sent again, ms. */
const AGAIN_MS = 5000;
/** Clocks that differ by less agree, ms; from there on the peer is reported. */
export const CLOCKS_AGREE_MS = 1000;
/** Records of one message; a peer that sends more is not one of ours. */
const RECORDS_MAX = 10_000;

const Orders = TypeCompiler.Compile(
  Type.Object({
    batch: Type.Integer({ minimum: 0 }),
    /** Wall clock of the sender. */
    sent_ms: Type.Number(),
    records: Type.Array(Type.Unknown(), { maxItems: RECORDS_MAX }),
  }),
);
const OrdersTaken = TypeCompiler.Compile(
  Type.Object({
    batch: Type.Integer({ minimum: 0 }),
    /** By the place in the batch. */
    outcomes: Type.Array(Type.Union(["taken", "refused", "unsaved"].map((outcome) => Type.Literal(outcome))), {
      maxItems: RECORDS_MAX,
    }),
  }),
);

export interface PeerExchangeOptions {
  readonly peers: Peers;
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
  /** All that a peer must have. */
  readonly records: () => Iterable<SharedRecord>;
  readonly shifted: (record: SharedRecord, byMs: number) => SharedRecord;
  /** Of the newest order of the key that this brain has; null: it has none. */
  readonly stampOf: (table: SharedTable, key: string) => Stamp | null;
  /** The peer sent what cannot be read. */
  readonly garbled: (peer: string, what: string) => void;
}

interface Outstanding {
  readonly record: SharedRecord;
  readonly sinceMs: number;
  readonly settle: ((isTaken: boolean) => void)[];
}

/** What one peer has not confirmed. */
class Unconfirmed {
  readonly waiting = new Map<string, Outstanding>();
  /** Names of the records of the part that is on its way, in its order. */
  batch: { readonly number: number; readonly sentMs: number; readonly sent: readonly SharedRecord[] } | null = null;
}

/** How far a peer is behind. */
export interface OrderLag {
  readonly orders: number;
  /** Monotonic, ms, since when the oldest waits; null: none does. */
  readonly sinceMs: number | null;
}

export class PeerExchange implements OrderExchange {
  readonly #options: PeerExchangeOptions;
  readonly #unconfirmed = new Map<string, Unconfirmed>();
  #listener: (records: readonly SharedRecord[]) => Promise<readonly TakeOutcome[]> = async () => [];
  #batches = 0;

  constructor(options: PeerExchangeOptions) {
    const { peers } = options;
    this.#options = options;
    for (const { name } of peers.states()) this.#unconfirmed.set(name, new Unconfirmed());
    peers.on(ORDERS, (from, body) => void this.#received(from, body));
    peers.on(ORDERS_TAKEN, (from, body) => this.#taken(from, body));
    peers.onUp((name) => this.#up(name));
    peers.onDown((name) => this.#down(name));
  }

  onRecords(listener: (records: readonly SharedRecord[]) => Promise<readonly TakeOutcome[]>): void {
    this.#listener = listener;
  }

  async publish(record: SharedRecord): Promise<boolean> {
    const up = new Set(this.#options.peers.states().flatMap(({ name, isUp }) => (isUp ? [name] : [])));
    const taken = [...this.#unconfirmed].map(([name, unconfirmed]) => {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      this.#add(unconfirmed, record, resolve);
      if (!up.has(name)) resolve(false);
      else this.#send(name, unconfirmed);
      return promise;
    });
    return (await Promise.all(taken)).every((isTaken) => isTaken);
  }

  unconfirmedBy(table: SharedTable, key: string): readonly string[] {
    const name = stampedName({ table, key });
    return [...this.#unconfirmed].flatMap(([peer, { waiting }]) => (waiting.has(name) ? [peer] : []));
  }

  lagOf(peer: string): OrderLag {
    const waiting = this.#unconfirmed.get(peer)?.waiting ?? new Map<string, Outstanding>();
    const [oldest] = waiting.values();
    return { orders: waiting.size, sinceMs: oldest?.sinceMs ?? null };
  }

  /** Call this every second. */
  tick(): void {
    const nowMs = this.#options.monotonicMs();
    for (const [name, unconfirmed] of this.#unconfirmed) {
      if (unconfirmed.batch === null || nowMs - unconfirmed.batch.sentMs < AGAIN_MS) continue;
      unconfirmed.batch = null;
      this.#send(name, unconfirmed);
    }
  }

  #up(name: string): void {
    const unconfirmed = this.#unconfirmed.get(name);
    if (unconfirmed === undefined) return;
    unconfirmed.batch = null;
    for (const record of this.#options.records()) this.#add(unconfirmed, record);
    this.#send(name, unconfirmed);
  }

  /** Callers do not wait for a peer that is away. */
  #down(name: string): void {
    const unconfirmed = this.#unconfirmed.get(name);
    if (unconfirmed === undefined) return;
    unconfirmed.batch = null;
    for (const { settle } of unconfirmed.waiting.values()) for (const one of settle.splice(0)) one(false);
  }

  #add({ waiting }: Unconfirmed, record: SharedRecord, settled?: (isTaken: boolean) => void): void {
    const name = stampedName(record);
    const before = waiting.get(name);
    const settle = before?.settle ?? [];
    if (settled !== undefined) settle.push(settled);
    if (before !== undefined && !isNewer(record.stamp, before.record.stamp)) return;
    waiting.set(name, { record, settle, sinceMs: before?.sinceMs ?? this.#options.monotonicMs() });
  }

  #send(name: string, unconfirmed: Unconfirmed): void {
    if (unconfirmed.batch !== null) return;
    const records = unconfirmed.waiting.values().map(({ record }) => record);
    const [sent] = inChunks(records.take(RECORDS_MAX)).take(1);
    if (sent === undefined) return;
    const { wallMs, monotonicMs, peers } = this.#options;
    unconfirmed.batch = { number: ++this.#batches, sentMs: monotonicMs(), sent };
    peers.send(name, ORDERS, { batch: unconfirmed.batch.number, sent_ms: wallMs(), records: sent });
  }

  async #received(from: string, body: unknown): Promise<void> {
    const { garbled, wallMs, shifted, stampOf, peers } = this.#options;
    if (!Orders.Check(body)) return garbled(from, ORDERS);
    const { batch, sent_ms: sentMs, records } = body;
    const aheadMs = wallMs() - sentMs;
    const read = records.map(sharedRecordOf);
    const known = read.filter((record) => record !== null);
    if (known.length < read.length) garbled(from, `${read.length - known.length} orders`);
    const corrected = Math.abs(aheadMs) < CLOCKS_AGREE_MS ? known : known.map((record) => shifted(record, aheadMs));
    const newer = new Set(corrected.filter(({ table, key, stamp }) => isNewer(stamp, stampOf(table, key))));
    const outcomes = [...(await this.#listener(corrected))];
    // A refused one would go round for ever: it stays newer than what is kept.
    const relayed = corrected.filter((record, i) => newer.has(record) && outcomes[i] !== "refused");
    this.#relay(from, relayed);
    peers.send(from, ORDERS_TAKEN, {
      batch,
      outcomes: read.map((record) => (record === null ? "refused" : (outcomes.shift() ?? "unsaved"))),
    });
  }

  /** Its brain may be gone before it has reached the third one. */
  #relay(from: string, newer: readonly SharedRecord[]): void {
    for (const [name, unconfirmed] of this.#unconfirmed) {
      if (name === from || newer.length === 0) continue;
      for (const record of newer) this.#add(unconfirmed, record);
      this.#send(name, unconfirmed);
    }
  }

  #taken(from: string, body: unknown): void {
    const unconfirmed = this.#unconfirmed.get(from);
    if (!OrdersTaken.Check(body)) {
      this.#options.garbled(from, ORDERS_TAKEN);
      return;
    }
    const { batch, waiting } = unconfirmed ?? new Unconfirmed();
    if (unconfirmed === undefined || batch === null || batch.number !== body.batch) return;
    unconfirmed.batch = null;
    let isUnsaved = false;
    for (const [i, record] of batch.sent.entries()) {
      const outcome = body.outcomes[i] ?? "unsaved";
      isUnsaved ||= outcome === "unsaved";
      if (outcome !== "unsaved") this.#confirmed(waiting, record, outcome === "taken");
    }
    // What its disk did not take is tried again later, by tick().
    if (isUnsaved) unconfirmed.batch = { ...batch, sentMs: this.#options.monotonicMs() };
    else this.#send(from, unconfirmed);
  }

  #confirmed(waiting: Map<string, Outstanding>, record: SharedRecord, isTaken: boolean): void {
    const name = stampedName(record);
    const outstanding = waiting.get(name);
    // A newer one of its key is sent next.
    if (outstanding === undefined || compareStamps(outstanding.record.stamp, record.stamp) !== 0) return;
    waiting.delete(name);
    for (const settle of outstanding.settle) settle(isTaken);
  }
}
