/**
 * Which brain sends what all of them have: the holder of the lease, and the others what is not marked as sent when it is
 * gone, gives it up, or does not have it. Pure; times are those of the own monotonic clock, ms. Knows neither what is sent
 * nor how.
 */
import { hashedId, isHashedId, oppositeKey, type RenamedIds, renamedKey, sameWithinMs } from "./event-keys.ts";

/** One event for one target; equal at every brain. */
export interface Delivery {
  /** Or its hash, of an event of which nothing else is left after a restart. */
  readonly key: string;
  readonly target: string;
}

/** One that is sent, as a brain gets to know it later. */
export interface Done extends Delivery {
  /** For how long it is still remembered. */
  readonly leftMs?: number;
}

/** Messages about deliveries: `done` by the sender, or given up; `offered` to the holder, and `granted` by it. */
export type Word = "done" | "given_up" | "offered" | "granted";

export interface Said {
  readonly word: Word;
  readonly deliveries: readonly Done[];
  /** null: to all brains. */
  readonly to: string | null;
}

export interface Outcome<Event> {
  /** To be sent by this brain now. */
  readonly send: readonly Entry<Event>[];
  readonly say: readonly Said[];
}

export interface Entry<Event> extends Delivery {
  readonly event: Event;
}

interface Known<Event> extends Entry<Event> {
  readonly sinceMs: number;
  /** `kept`: another brain sends it. `own`: this brain does while it holds; `granted`: or in any case. */
  state: "kept" | "own" | "granted";
  /** The brain that has been granted it; null: the holder sends it. */
  by: string | null;
  offers: number;
  /** Not before. */
  offerMs: number;
}

/** That an event is sent. */
interface Mark extends Delivery {
  untilMs: number;
  /** This brain had the event too: it is not the one that it has next. */
  isUsed: boolean;
  /** The fault is over, or began again: the next of its kind is another event. */
  isClosed: boolean;
}

interface DeliveriesOptions {
  /** The name of this brain. */
  readonly own: string;
  /** Entries at once; over it the newest is not taken. */
  readonly entriesMax: number;
  readonly marksMax: number;
  /** An entry that is older is given up, as a queue does. */
  readonly ageMaxMs: number;
}

/**
 * An event that the holder has not sent within this time is perhaps not known there. It is on no disk until the holder has
 * answered: a brain that is killed before takes with it what it alone saw.
 */
export const OFFER_AFTER_MS = 500;
/** From the first offer of an event to the next; from there on twice as long each time, up to the bound. */
const OFFER_AGAIN_MS = 2000;
const OFFER_AGAIN_MAX_MS = 64_000;
/** Offers of one tick: in a storm all events wait for one receiver, and the holder has most of them. */
export const OFFERS_OF_TICK = 2000;
/** How long it is remembered what is sent. */
export const MARK_MS = 3_600_000;
/** Two marks of one event that end within this time are one mark that was said twice. */
const SAID_AGAIN_MS = 5000;

/** Equal for a key and for its hash, so that each finds the other without a look at all that is known. */
const textOf = ({ key, target }: Delivery) => `${target} ${isHashedId(key) ? key : hashedId(key)}`;

const unoffered = (sinceMs: number) => ({ offers: 0, offerMs: sinceMs + OFFER_AFTER_MS });

export class Deliveries<Event> {
  readonly #options: DeliveriesOptions;
  readonly #entries = new Map<string, Known<Event>>();
  /** Until when each is remembered, the oldest first. */
  readonly #marks = new Map<string, Mark>();
  /** Before this brain had the event: granted to another one, or (null) given up by the one that was to send it. */
  readonly #grants = new Map<string, { readonly by: string | null; readonly untilMs: number }>();

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** `known`: it is sent, or waits. `dropped`: there is no room. */
  add(entry: Entry<Event>, nowMs: number, holds: boolean): "send" | "kept" | "known" | "dropped" {
    const text = textOf(entry);
    this.#closeOpposite(entry);
    const mark = this.#markOf(text, nowMs);
    if (mark !== null) mark.isUsed = true;
    if (mark !== null || this.#entries.has(text)) return "known";
    this.#marks.delete(text);
    if (this.#entries.size >= this.#options.entriesMax) return "dropped";
    const grant = this.#grants.get(text);
    this.#grants.delete(text);
    const state = grant === undefined ? (holds ? "own" : "kept") : grant.by === null ? "granted" : "kept";
    this.#entries.set(text, { ...entry, sinceMs: nowMs, state, by: grant?.by ?? null, ...unoffered(nowMs) });
    return state === "kept" ? "kept" : "send";
  }

  isSent(delivery: Delivery, nowMs: number): boolean {
    return this.#markOf(textOf(delivery), nowMs) !== null;
  }

  /** Whether this brain may send it now. */
  maySend(delivery: Delivery, nowMs: number, holds: boolean): boolean {
    const text = textOf(delivery);
    const known = this.#entries.get(text);
    if (known === undefined || this.isSent(delivery, nowMs)) return false;
    if (known.state === "own" && !holds) known.state = "kept";
    return known.state !== "kept";
  }

  /** This brain has sent them. */
  sent(deliveries: readonly Delivery[], nowMs: number): Said {
    for (const delivery of deliveries) this.#mark(delivery, nowMs);
    return { word: "done", deliveries, to: null };
  }

  /**
   * This brain could not send them: another one that has them does. One of them gets the word, so that no two begin.
   * @param others that are in reach.
   */
  gaveUp(deliveries: readonly Delivery[], others: readonly string[], nowMs: number): Said {
    const to = others.toSorted()[0] ?? null;
    for (const delivery of deliveries) {
      this.#entries.delete(textOf(delivery));
      if (to !== null) this.#grant(delivery, to, nowMs);
    }
    return { word: "given_up", deliveries, to };
  }

  /** Takes the message of another brain. */
  take(from: string, word: Word, deliveries: readonly Done[], at: At): Outcome<Event> {
    switch (word) {
      case "done":
        for (const delivery of deliveries) this.#mark(delivery, at.nowMs);
        return NOTHING;
      case "given_up":
        return this.#takeGivenUp(from, deliveries, at);
      case "granted":
        return { send: this.#begin(deliveries, (known) => known.state === "kept" && known.by === null), say: [] };
      case "offered":
        return at.holds ? { send: [], say: this.#answer(from, deliveries, at.nowMs) } : NOTHING;
      default:
        return word satisfies never;
    }
  }

  /**
   * It was out of reach, and may have been started again: what it was granted and still has it offers again, and what this
   * one has is offered to it.
   */
  forgetGrants(brain: string): void {
    for (const [text, { by }] of this.#grants) if (by === brain) this.#grants.delete(text);
    for (const known of this.#entries.values()) {
      if (known.by === brain) known.by = null;
      Object.assign(known, unoffered(known.sinceMs));
    }
  }

  /** The state that a brain needs when its connection begins. */
  marked(nowMs: number): Said {
    const marks = [...this.#marks.values()].filter(({ untilMs }) => untilMs > nowMs);
    const deliveries = marks.map(({ key, target, untilMs }) => ({ key, target, leftMs: untilMs - nowMs }));
    return { word: "done", deliveries, to: null };
  }

  /**
   * Their subjects are known by other ids from now on: what was sent with the ones before is not sent again. Returns what
   * other brains must know of that.
   */
  renamed(ids: RenamedIds, nowMs: number): Said | null {
    const done: Delivery[] = [];
    const rename = <Of extends Delivery>(of: Of): Of | null => {
      const key = renamedKey(of.key, ids);
      return key === of.key ? null : { ...of, key };
    };
    for (const [text, mark] of [...this.#marks]) {
      const renamed = mark.untilMs <= nowMs ? null : rename(mark);
      if (renamed === null) continue;
      const { key, target, untilMs } = renamed;
      this.#marks.delete(text);
      this.#mark({ key, target, leftMs: untilMs - nowMs }, nowMs);
      const kept = this.#marks.get(textOf(renamed));
      if (kept !== undefined) kept.isUsed ||= mark.isUsed;
      done.push({ key, target });
    }
    for (const [text, known] of [...this.#entries]) {
      const renamed = rename(known);
      if (renamed === null) continue;
      this.#entries.delete(text);
      const now = textOf(renamed);
      if (this.#markOf(now, nowMs) === null && !this.#entries.has(now)) this.#entries.set(now, renamed);
    }
    return done.length === 0 ? null : { word: "done", deliveries: done, to: null };
  }

  /**
   * Call this some times a second. @param isGone whether a brain that was granted something is out of reach, and will not send it.
   */
  tick({ nowMs, holds }: At, isGone: (brain: string) => boolean): Outcome<Event> & { readonly tooOld: number } {
    const { ageMaxMs } = this.#options;
    const send: Entry<Event>[] = [];
    const offered: Delivery[] = [];
    let tooOld = 0;
    for (const [text, { by }] of this.#grants) if (by !== null && isGone(by)) this.#grants.delete(text);
    for (const [text, known] of this.#entries) {
      if (known.state === "kept" && nowMs - known.sinceMs > ageMaxMs) {
        this.#entries.delete(text);
        tooOld++;
      }
      if (known.state !== "kept") continue;
      if (known.by !== null && isGone(known.by)) known.by = null;
      if (known.by !== null) continue;
      if (holds) {
        known.state = "own";
        send.push(known);
      } else if (nowMs >= known.offerMs && offered.length < OFFERS_OF_TICK) {
        known.offerMs = nowMs + Math.min(OFFER_AGAIN_MS * 2 ** known.offers++, OFFER_AGAIN_MAX_MS);
        offered.push({ key: known.key, target: known.target });
      }
    }
    this.#forget(nowMs);
    return { send, say: offered.length === 0 ? [] : [{ word: "offered", deliveries: offered, to: null }], tooOld };
  }

  /** Deliveries that this brain does not have it leaves to the next one; the last keeps them in mind. */
  #takeGivenUp(from: string, deliveries: readonly Delivery[], { nowMs, others }: At): Outcome<Event> {
    const lacking = deliveries.filter((delivery) => !this.#entries.has(textOf(delivery)));
    const next = others.toSorted().find((name) => name !== from && name > this.#options.own) ?? null;
    for (const delivery of lacking) this.#grant(delivery, next, nowMs);
    const say: Said[] =
      lacking.length === 0 || next === null ? [] : [{ word: "given_up", deliveries: lacking, to: next }];
    return { send: this.#begin(deliveries, (known) => known.state === "kept"), say };
  }

  #begin(deliveries: readonly Delivery[], isDue: (known: Known<Event>) => boolean): Entry<Event>[] {
    return deliveries.flatMap((delivery) => {
      const known = this.#entries.get(textOf(delivery));
      if (known === undefined || !isDue(known)) return [];
      known.state = "granted";
      return [known];
    });
  }

  /** This brain sends those that it has, confirms those that it sent, and leaves the rest to the other one. */
  #answer(from: string, deliveries: readonly Delivery[], nowMs: number): Said[] {
    const done = deliveries.filter((delivery) => this.isSent(delivery, nowMs));
    const isUnknown = (delivery: Delivery) => {
      const text = textOf(delivery);
      if (this.#markOf(text, nowMs) !== null || this.#entries.has(text)) return false;
      const grant = this.#grants.get(text);
      return grant === undefined || grant.by === from;
    };
    const granted = deliveries.filter(isUnknown);
    for (const delivery of granted) this.#grant(delivery, from, nowMs);
    const said = (word: Word, of: readonly Delivery[]): Said[] =>
      of.length === 0 ? [] : [{ word, deliveries: of, to: from }];
    return [...said("done", done), ...said("granted", granted)];
  }

  #grant(delivery: Delivery, by: string | null, nowMs: number): void {
    this.#grants.set(textOf(delivery), { by, untilMs: nowMs + this.#options.ageMaxMs });
    this.#bound(this.#grants);
  }

  #mark(done: Done, nowMs: number): void {
    const text = textOf(done);
    const [entry, before] = [this.#entries.get(text), this.#marks.get(text)];
    const hadEvent = this.#entries.delete(text);
    this.#grants.delete(text);
    const { target, leftMs = MARK_MS } = done;
    // Said by a hash it keeps the key that this brain knows: an id in it may change.
    const key = isHashedId(done.key) ? (entry?.key ?? before?.key ?? done.key) : done.key;
    const untilMs = nowMs + Math.min(leftMs, sameWithinMs(key) ?? MARK_MS);
    if (before !== undefined && Math.abs(before.untilMs - untilMs) < SAID_AGAIN_MS) {
      before.isUsed ||= hadEvent;
      return;
    }
    this.#closeOpposite({ key, target });
    this.#marks.delete(text);
    this.#marks.set(text, { key, target, untilMs, isUsed: hadEvent, isClosed: false });
    this.#bound(this.#marks);
  }

  #closeOpposite({ key, target }: Delivery): void {
    const opposite = oppositeKey(key);
    const mark = opposite === null ? undefined : this.#marks.get(textOf({ key: opposite, target }));
    if (mark !== undefined) mark.isClosed = true;
  }

  /** null: none, or that of an earlier event with this key. */
  #markOf(text: string, nowMs: number): Mark | null {
    const mark = this.#marks.get(text);
    return mark === undefined || mark.untilMs <= nowMs || (mark.isUsed && mark.isClosed) ? null : mark;
  }

  #bound(table: Map<string, unknown>): void {
    const [oldest] = table.keys();
    if (table.size > this.#options.marksMax && oldest !== undefined) table.delete(oldest);
  }

  #forget(nowMs: number): void {
    for (const table of [this.#marks, this.#grants])
      for (const [text, { untilMs }] of table) if (untilMs <= nowMs) table.delete(text);
  }
}

interface At {
  readonly nowMs: number;
  /** Whether this brain holds the lease. */
  readonly holds: boolean;
  /** Names of the brains in reach. */
  readonly others: readonly string[];
}

const NOTHING = { send: [], say: [] } as const;
