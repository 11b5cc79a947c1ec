/**
 * The effect of another brain's order here: it is in force, waits for room, or ends one. Its times are put on the clock
 * of this brain; while the clock that they are of is not known, no order counts as over, and none is ended, by it.
 */
import type { ClockOfBrain, SharedRecord, SharedTable } from "./order-exchange.ts";
import type { OrderTable } from "./order-table.ts";
import { compareStamps, STAMP_AHEAD_MAX_MS } from "./stamp.ts";
import type { StampedOrder } from "./stamped-order.ts";

/** Clocks that differ by less agree, ms; from there on the peer is reported. */
export const CLOCKS_AGREE_MS = 1000;

interface OrderAdoptionOptions {
  /** The name of this brain. */
  readonly own: string;
  readonly tableOf: (table: SharedTable) => OrderTable;
  /** null: never measured. */
  readonly clockOf: (brain: string) => ClockOfBrain | null;
  readonly hasRoom: (order: StampedOrder) => boolean;
  readonly waits: (order: StampedOrder, why: string) => void;
}

export interface Adopting {
  /** An older order of the key, or the same one with times that are not corrected. */
  readonly known: StampedOrder | null;
  readonly wallMs: number;
  readonly from: string | undefined;
  /** A clock that is not known was waited for long enough: it counts as right. */
  readonly isClockAssumed?: boolean;
}

export class OrderAdoption {
  readonly #options: OrderAdoptionOptions;
  /** How far the clock of this brain was set since the start, in all, ms. */
  steppedMs = 0;

  constructor(options: OrderAdoptionOptions) {
    this.#options = options;
  }

  /** The record on a clock that is `byMs` ahead of the one that it is of. */
  shifted(shared: SharedRecord, byMs: number): SharedRecord {
    if (shared.endedAtMs !== undefined)
      return { ...shared, endedAtMs: Math.max(0, Math.round(shared.endedAtMs + byMs)) };
    const table = this.#options.tableOf(shared.table);
    const record = shared.record === null ? null : table.parse(shared.record, shared.key);
    return record === null ? shared : { ...shared, record: table.shifted(record, Math.round(byMs)) };
  }

  /**
   * With times of this brain's clock, if it is known how far that of the record is from it.
   * @param steppedMs what it was when the record got the times that it has.
   */
  corrected(shared: SharedRecord, steppedMs = this.steppedMs): SharedRecord {
    const { clock, ...rest } = shared;
    if (clock === undefined)
      return steppedMs === this.steppedMs ? shared : this.shifted(shared, this.steppedMs - steppedMs);
    const known = clock === this.#options.own ? OWN_CLOCK : this.#options.clockOf(clock);
    return known?.isCurrent === true ? this.#onOwnClock(rest, known) : shared;
  }

  /** The part of a record that is kept, once it has its effect; null: no more can wait. */
  adopt(shared: SharedRecord, adopting: Adopting): StampedOrder | null {
    const { table, key, stamp, clock } = shared;
    const { wallMs, from } = adopting;
    const kept = { table, key, stamp, ...(from !== undefined && { from }), record: null, atMs: wallMs };
    // An estimate: its clock may have been set since it was measured.
    const measured = clock === undefined ? OWN_CLOCK : this.#options.clockOf(clock);
    const isKnown = measured !== null || adopting.isClockAssumed === true;
    const onOwnClock = this.#onOwnClock(shared, measured ?? OWN_CLOCK);
    if (shared.endedBy !== undefined) return this.#end(shared, onOwnClock, kept, { ...adopting, isKnown });
    const uncertain = clock === undefined ? {} : { clock, record: shared.record };
    return this.#begin(onOwnClock, { ...kept, ...uncertain }, { ...adopting, isKnown });
  }

  #onOwnClock(shared: SharedRecord, { skewMs }: ClockOfBrain): SharedRecord {
    return Math.abs(skewMs) < CLOCKS_AGREE_MS ? shared : this.shifted(shared, -skewMs);
  }

  /** A ban of attacks may have begun after it: that one is ended only once the times can be compared. */
  #end(
    { endedBy, clock, endedAtMs: rawMs, stamp }: SharedRecord,
    { endedAtMs = stamp.ms }: SharedRecord,
    kept: Omit<StampedOrder, "state">,
    { known, wallMs, isKnown }: Adopting & { readonly isKnown: boolean },
  ): StampedOrder {
    if (endedBy === undefined) throw new Error("bug: no caller ended it");
    const ended = { ...kept, state: "ended", endedBy } as const;
    const table = this.#options.tableOf(kept.table);
    if (!isKnown) {
      endOlder(table, known, wallMs);
      return { ...ended, ...(clock && { clock }), atMs: Math.min(rawMs ?? stamp.ms, wallMs + STAMP_AHEAD_MAX_MS) };
    }
    const atMs = Math.min(endedAtMs, wallMs);
    table.end({ key: kept.key, endedBy, endedAtMs: atMs }, wallMs);
    return { ...ended, atMs };
  }

  #begin(
    shared: SharedRecord,
    kept: Omit<StampedOrder, "state">,
    { known, wallMs, isKnown }: Adopting & { readonly isKnown: boolean },
  ): StampedOrder | null {
    const table = this.#options.tableOf(kept.table);
    const record = shared.record === null ? null : table.parse(shared.record, kept.key);
    if (record === null || (isKnown && isOver(record, table, wallMs))) {
      const over: StampedOrder = { ...kept, state: "ended" };
      if (!this.#options.hasRoom(over)) return null;
      endOlder(table, known, wallMs);
      return over;
    }
    const why = isOver(record, table, wallMs)
      ? `the clock of ${kept.clock} is not known yet`
      : table.adopt(record, wallMs);
    if (why === null) return { ...kept, state: "in_force" };
    const waits: StampedOrder = { ...kept, state: "waiting", record: kept.clock === undefined ? record : kept.record };
    if (!this.#options.hasRoom(waits)) return null;
    endOlder(table, known, wallMs);
    if (known?.state !== "waiting") this.#options.waits(waits, why);
    return waits;
  }
}

/** The same order, with times of a clock that is known. */
export function isBetter({ stamp, clock }: SharedRecord, known: StampedOrder): boolean {
  return clock === undefined && known.clock !== undefined && compareStamps(stamp, known.stamp) === 0;
}

const OWN_CLOCK: ClockOfBrain = { skewMs: 0, isCurrent: true };

function endOlder(table: OrderTable, known: StampedOrder | null, wallMs: number): void {
  if (known?.state === "in_force") table.end({ key: known.key, endedBy: null, endedAtMs: wallMs }, wallMs);
}

function isOver(record: unknown, table: OrderTable, wallMs: number): boolean {
  const endsAt = table.endsAt(record);
  return endsAt !== null && endsAt <= wallMs;
}
