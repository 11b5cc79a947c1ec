/**
 * The keys with which edge nodes sign clearance cookies: one for each zone and UTC day, derived from the day's master.
 * The store keeps the masters.
 */

import { hkdfSync } from "node:crypto";
import { CLEARANCE_MASTERS_KEPT } from "../../limits.ts";
import { DAY_MS } from "../../system/now.ts";
import type { Zone } from "./zone.ts";

const SECRET_BYTES = 32;
/** Time until the next attempt after a master could not be saved. */
const SAVE_AGAIN_MS = 60_000;

export interface ClearanceKey {
  /** `c20261122`: the letter c and the day. */
  readonly id: string;
  /** 32 bytes, base64url. */
  readonly secret: string;
  /** Cookies are accepted for 48 hours from the start of its day; wall clock, ms. */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

export interface ClearanceMaster {
  /** UTC days since the epoch. */
  readonly day: number;
  /** 32 random bytes. */
  readonly secret: Uint8Array;
}

export interface ClearanceStore {
  /** Throws if they cannot be read. */
  load(): readonly ClearanceMaster[];
  /** When it has resolved, `load` returns the same masters, also after a crash. Does not wait for the disk. */
  save(masters: readonly ClearanceMaster[]): Promise<void>;
}

interface ClearanceOptions {
  readonly store: ClearanceStore;
  readonly randomBytes: (count: number) => Uint8Array;
  /**
   * A master could not be saved: it is in use, and would be lost at the end of the process unless a later attempt
   * succeeds.
   */
  readonly onUnsaved: (cause: unknown) => void;
}

interface DayKeys {
  readonly day: number;
  readonly keysOf: KeysOf;
}

export type KeysOf = (zone: Pick<Zone, "name">) => readonly ClearanceKey[];

/** When the keys change next: the first midnight (UTC) after `nowMs`. */
export function nextTurnMs(nowMs: number): number {
  return (dayOf(nowMs) + 1) * DAY_MS;
}

export class ClearanceKeys {
  readonly #options: ClearanceOptions;
  #masters: readonly ClearanceMaster[];
  #today: DayKeys;
  /** Tomorrow's keys, derived ahead; null: not derived yet. */
  #tomorrow: DayKeys | null = null;
  /** When saving last failed; null: everything is saved, or is being saved. */
  #unsavedSinceMs: number | null = null;
  /**
   * Resolves when the masters of the start are on disk, and rejects with the error of the store: a service that cannot
   * save masters must not start to use them.
   */
  readonly saved: Promise<void>;

  /** Throws the errors of `load`. */
  constructor(options: ClearanceOptions, nowMs: number) {
    this.#options = options;
    const stored = options.store.load();
    this.#masters = stored;
    this.#masters = this.#completed(dayOf(nowMs));
    this.saved = this.#masters === stored ? Promise.resolve() : options.store.save(this.#masters);
    this.#today = this.#keysOfDay(dayOf(nowMs));
  }

  /** Returns the keys of the day before and of the day, in this order; the same array for a zone all day. */
  at(nowMs: number): KeysOf {
    const day = dayOf(nowMs);
    const masters = this.#completed(day);
    if (masters !== this.#masters || this.#isToBeSavedAgain(nowMs)) this.#keep(masters, nowMs);
    if (day !== this.#today.day) this.#today = this.#tomorrow?.day === day ? this.#tomorrow : this.#keysOfDay(day);
    return this.#today.keysOf;
  }

  /**
   * Returns the keys from the next midnight on, so that they can be derived before; they are not published before
   * midnight.
   */
  ahead(nowMs: number): KeysOf {
    const day = dayOf(nowMs) + 1;
    if (this.#tomorrow?.day !== day) this.#tomorrow = this.#keysOfDay(day);
    return this.#tomorrow.keysOf;
  }

  /** The masters of the day before, of the day, and of those to come, made where they are missing: all that fit. */
  masters(nowMs: number): readonly ClearanceMaster[] {
    const day = dayOf(nowMs);
    const days = Array.from({ length: CLEARANCE_MASTERS_KEPT }, (_, i) => day - 1 + i);
    const masters = this.#completed(day, days);
    if (masters !== this.#masters) this.#keep(masters, nowMs);
    return masters.filter((master) => days.includes(master.day));
  }

  /** Masters that all brains of a cluster use take the place of own ones. */
  adopt(agreed: readonly ClearanceMaster[], nowMs: number): void {
    const known = (day: number) => this.#masters.find((master) => master.day === day);
    const others = agreed.filter(({ day, secret }) => !Buffer.from(known(day)?.secret ?? []).equals(secret));
    if (others.length === 0) return;
    const kept = this.#masters.filter(({ day }) => others.every((other) => other.day !== day));
    const masters = [...kept, ...others].sort((a, b) => a.day - b.day).slice(-CLEARANCE_MASTERS_KEPT);
    this.#keep(masters, nowMs);
    this.#today = this.#keysOfDay(dayOf(nowMs));
    this.#tomorrow = null;
  }

  /**
   * Adds tomorrow's master, so that midnight does not depend on the disk. Creates missing masters and removes the most
   * distant ones.
   */
  #completed(day: number, days: readonly number[] = [day - 1, day, day + 1]): readonly ClearanceMaster[] {
    const missing = days.filter((wanted) => this.#masters.every((master) => master.day !== wanted));
    if (missing.length === 0) return this.#masters;
    const made = missing.map((missed) => ({ day: missed, secret: this.#options.randomBytes(SECRET_BYTES) }));
    return [...this.#masters, ...made]
      .sort((a, b) => Math.abs(a.day - day) - Math.abs(b.day - day) || b.day - a.day)
      .slice(0, CLEARANCE_MASTERS_KEPT)
      .sort((a, b) => a.day - b.day);
  }

  #isToBeSavedAgain(nowMs: number): boolean {
    return this.#unsavedSinceMs !== null && Math.abs(nowMs - this.#unsavedSinceMs) >= SAVE_AGAIN_MS;
  }

  #keep(masters: readonly ClearanceMaster[], nowMs: number): void {
    this.#masters = masters;
    this.#unsavedSinceMs = null;
    this.#options.store.save(masters).catch((cause: unknown) => {
      this.#unsavedSinceMs = nowMs;
      this.#options.onUnsaved(cause);
    });
  }

  #keysOfDay(day: number): DayKeys {
    const made = new WeakMap<object, readonly ClearanceKey[]>();
    const masters = this.#masters.filter((master) => master.day === day - 1 || master.day === day);
    const keysOf: KeysOf = (zone) => {
      const known = made.get(zone);
      if (known !== undefined) return known;
      const keys = masters.map((master) => clearanceKey(master, zone.name));
      made.set(zone, keys);
      return keys;
    };
    return { day, keysOf };
  }
}

/** HKDF-SHA-256 (RFC 5869) without salt, since a master is random; `info` identifies key and zone. */
export function clearanceKey({ day, secret }: ClearanceMaster, zone: string): ClearanceKey {
  const notBeforeMs = day * DAY_MS;
  const id = `c${new Date(notBeforeMs).toISOString().slice(0, 10).replaceAll("-", "")}`;
  const derived = hkdfSync("sha256", secret, "", `floodwall clearance ${id} ${zone}`, SECRET_BYTES);
  return {
    id,
    secret: Buffer.from(derived).toString("base64url"),
    notBeforeMs,
    notAfterMs: notBeforeMs + 2 * DAY_MS,
  };
}

function dayOf(wallMs: number): number {
  return Math.floor(wallMs / DAY_MS);
}
