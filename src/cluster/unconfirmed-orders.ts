/**
 * Orders that one peer has not confirmed. Those that callers wait for have a way of their own, so that they pass whatever
 * else is to be sent; those that it refused are tried again later. Pure; times are monotonic, ms.
 */
import { inChunks } from "./chunks.ts";
import type { SharedRecord, TakeOutcome } from "./order-exchange.ts";
import { compareStamps, isNewer } from "./stamp.ts";
import { stampedName } from "./stamped-order.ts";

/** A part that is not confirmed after this is sent again, ms. */
const AGAIN_MS = 5000;
/** A peer may later take an order that it refused: it may have had no room. */
const REFUSED_AGAIN_MS = 60_000;
/** Records of one message. */
const RECORDS_MAX = 10_000;

interface Outstanding {
  record: SharedRecord;
  readonly sinceMs: number;
  readonly settle: ((isTaken: boolean) => void)[];
}

/** How far a peer is behind. */
export interface OrderLag {
  readonly orders: number;
  /** Since when the oldest waits; null: none does. */
  readonly sinceMs: number | null;
}

interface Part {
  readonly number: number;
  readonly isUrgent: boolean;
  readonly records: readonly SharedRecord[];
}

/** Sends one part at a time. */
class Lane {
  readonly waiting = new Map<string, Outstanding>();
  sent: (Part & { readonly atMs: number }) | null = null;
}

export class UnconfirmedOrders {
  readonly #urgent = new Lane();
  readonly #others = new Lane();
  /** With the time of the refusal. */
  readonly #refused = new Map<string, Outstanding & { readonly refusedMs: number }>();

  get lag(): OrderLag {
    const tables = [this.#urgent.waiting, this.#others.waiting, this.#refused];
    const oldest = tables.flatMap((table) => table.values().take(1).toArray()).map(({ sinceMs }) => sinceMs);
    const orders = tables.reduce((sum, { size }) => sum + size, 0);
    return { orders, sinceMs: oldest.length === 0 ? null : Math.min(...oldest) };
  }

  has(name: string): boolean {
    return this.#urgent.waiting.has(name) || this.#others.waiting.has(name) || this.#refused.has(name);
  }

  /** @param settled of a caller that waits. */
  add(record: SharedRecord, nowMs: number, settled?: (isTaken: boolean) => void): void {
    const name = stampedName(record);
    const before = this.#urgent.waiting.get(name) ?? this.#others.waiting.get(name) ?? this.#refused.get(name);
    const settle = before?.settle ?? [];
    if (settled !== undefined) settle.push(settled);
    if (before !== undefined && !isNewer(record.stamp, before.record.stamp)) return;
    const lane = settle.length > 0 ? this.#urgent : this.#others;
    for (const table of [this.#urgent.waiting, this.#others.waiting, this.#refused]) table.delete(name);
    lane.waiting.set(name, { record, settle, sinceMs: before?.sinceMs ?? nowMs });
  }

  /** The same order may have other times than when it was added. */
  corrected(record: SharedRecord): void {
    const name = stampedName(record);
    for (const table of [this.#urgent.waiting, this.#others.waiting, this.#refused]) {
      const outstanding = table.get(name);
      if (outstanding === undefined || compareStamps(outstanding.record.stamp, record.stamp) !== 0) continue;
      outstanding.record = record;
    }
  }

  /** Parts to be sent now. @param next the number of a part. */
  *parts(nowMs: number, next: () => number): Generator<Part> {
    for (const lane of [this.#urgent, this.#others]) {
      if (lane.sent !== null) continue;
      const records = lane.waiting.values().map(({ record }) => record);
      const [some] = inChunks(records.take(RECORDS_MAX)).take(1);
      if (some === undefined) continue;
      lane.sent = { number: next(), isUrgent: lane === this.#urgent, records: some, atMs: nowMs };
      yield lane.sent;
    }
  }

  /** The peer's answer to a part; one that was sent again meanwhile is not known any more. */
  confirmed(number: number, outcomes: readonly TakeOutcome[], nowMs: number): void {
    const lane = [this.#urgent, this.#others].find(({ sent }) => sent?.number === number);
    const sent = lane?.sent ?? null;
    if (lane === undefined || sent === null) return;
    let isUnsaved = false;
    for (const [i, record] of sent.records.entries()) {
      const outcome = outcomes[i] ?? "unsaved";
      if (outcome === "unsaved") isUnsaved = true;
      else this.#settle(lane, record, outcome, nowMs);
    }
    // Orders that its disk did not take are tried again later, by tick().
    lane.sent = isUnsaved ? { ...sent, atMs: nowMs } : null;
  }

  /** Call this every second. */
  tick(nowMs: number): void {
    for (const lane of [this.#urgent, this.#others])
      if (lane.sent !== null && nowMs - lane.sent.atMs >= AGAIN_MS) lane.sent = null;
    for (const [name, { refusedMs }] of this.#refused) {
      if (nowMs - refusedMs < REFUSED_AGAIN_MS) break;
      this.#offerAgain(name);
    }
  }

  /** It can be reached again. */
  up(): void {
    for (const lane of [this.#urgent, this.#others]) lane.sent = null;
    for (const name of this.#refused.keys()) this.#offerAgain(name);
  }

  /** Callers do not wait for a peer that is away: what they ordered goes with all else once it is back. */
  down(): void {
    const waiting = [...this.#urgent.waiting, ...this.#others.waiting];
    for (const lane of [this.#urgent, this.#others]) {
      lane.sent = null;
      lane.waiting.clear();
    }
    for (const [name, outstanding] of waiting.sort(([, a], [, b]) => a.sinceMs - b.sinceMs)) {
      for (const settle of outstanding.settle.splice(0)) settle(false);
      this.#others.waiting.set(name, outstanding);
    }
  }

  /** The peer does not need an order that is forgotten here; it may be away for weeks. */
  keep(isKnown: (record: SharedRecord) => boolean): void {
    for (const table of [this.#urgent.waiting, this.#others.waiting, this.#refused]) {
      for (const [name, { record, settle }] of table) {
        if (isKnown(record)) continue;
        table.delete(name);
        for (const one of settle.splice(0)) one(false);
      }
    }
  }

  #offerAgain(name: string): void {
    const outstanding = this.#refused.get(name);
    this.#refused.delete(name);
    if (outstanding !== undefined) this.#others.waiting.set(name, outstanding);
  }

  #settle({ waiting }: Lane, record: SharedRecord, outcome: "taken" | "refused", nowMs: number): void {
    const name = stampedName(record);
    const outstanding = waiting.get(name);
    // A newer one of its key is sent next.
    if (outstanding === undefined || compareStamps(outstanding.record.stamp, record.stamp) !== 0) return;
    waiting.delete(name);
    for (const settle of outstanding.settle.splice(0)) settle(outcome === "taken");
    if (outcome === "refused") this.#refused.set(name, { ...outstanding, refusedMs: nowMs });
  }
}
