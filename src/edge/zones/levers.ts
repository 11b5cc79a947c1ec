/**
 * The levers: operators' temporary settings of how a zone challenges visitors, instead of its file's
 * (docs/interface.md#lever-states). The store keeps them over a restart. Times are wall clock, ms, since nodes expire
 * levers by the same times.
 */
import { LEVERS_MAX } from "../../limits.ts";
import { UnsavedRecords } from "../../system/unsaved-records.ts";
import { endOf } from "./expiry.ts";
import type { Zone } from "./zone.ts";
import type { ChallengeOverride } from "./zone-documents.ts";

export interface Lever extends ChallengeOverride {
  readonly zone: string;
  /** The duration that was set. */
  readonly ttlSeconds: number;
}

export interface LeverOrder {
  readonly mode: Lever["mode"];
  readonly ttlSeconds: number;
  readonly reason: string;
}

export const LEVER_REFUSALS = ["mode_none", "too_many_levers"] as const;
export type LeverRefusal = (typeof LEVER_REFUSALS)[number];

export type LeverAnswer =
  | { readonly kind: "set"; readonly lever: Lever }
  | { readonly kind: "refused"; readonly refusal: LeverRefusal };

/** Each call returns when its change is on disk, or throws. */
export interface LeverStore {
  saveLever(lever: Lever): void;
  removeLever(zone: string): void;
  /** Commits all or none of the changes. */
  atOnce(writes: () => void): void;
}

export interface LeversOptions {
  readonly store: LeverStore;
  /** A lever was set or cleared. */
  readonly onChange: () => void;
  readonly observer: LeverObserver;
}

export interface LeverObserver {
  set(lever: Lever): void;
  cleared(lever: Lever): void;
  expired(lever: Lever): void;
  refused(refusal: LeverRefusal): void;
  /** An expiry could not be saved; saving is tried again. */
  storeFault(cause: unknown): void;
}

export class Levers {
  readonly #options: LeversOptions;
  readonly #levers = new Map<string, Lever>();
  /** Changes without a waiting operator that are not saved yet; null: removed. */
  readonly #unsaved: UnsavedRecords<Lever | null>;

  /** @param kept levers of an earlier process; some may have expired since. */
  constructor(options: LeversOptions, kept: Iterable<Lever> = []) {
    this.#options = options;
    const { store, observer } = options;
    this.#unsaved = new UnsavedRecords({
      write: (lever, zone) => (lever === null ? store.removeLever(zone) : store.saveLever(lever)),
      atOnce: (writes) => store.atOnce(writes),
      // Nothing to do: each settle() flushes.
      onUnsaved: () => {},
      onStoreFault: (cause) => observer.storeFault(cause),
    });
    for (const lever of kept) this.#levers.set(lever.zone, lever);
  }

  /** By zone. May still have a lever that is past its `until`. */
  get all(): ReadonlyMap<string, Lever> {
    return this.#levers;
  }

  /** The lever in force; null: the zone follows its file. */
  of(zone: string, nowMs: number): Lever | null {
    const lever = this.#levers.get(zone);
    return lever !== undefined && lever.untilMs > nowMs ? lever : null;
  }

  /** Sets or replaces the lever. Throws the store's error; then nothing has changed. */
  set({ name, policy }: Zone, { mode, ttlSeconds, reason }: LeverOrder, nowMs: number): LeverAnswer {
    if (policy.mode === "none") return this.#refuse("mode_none");
    if (!this.#levers.has(name) && this.#levers.size >= LEVERS_MAX) return this.#refuse("too_many_levers");
    const lever: Lever = { zone: name, mode, untilMs: nowMs + ttlSeconds * 1000, ttlSeconds, reason };
    const { store, observer, onChange } = this.#options;
    store.saveLever(lever);
    this.#levers.set(name, lever);
    this.#unsaved.forget(name);
    observer.set(lever);
    onChange();
    return { kind: "set", lever };
  }

  /** Does nothing if the zone has no lever. Throws the store's error; then nothing has changed. */
  clear(zone: string): void {
    const lever = this.#levers.get(zone);
    if (lever === undefined) return;
    const { store, observer, onChange } = this.#options;
    store.removeLever(zone);
    this.#levers.delete(zone);
    this.#unsaved.forget(zone);
    observer.cleared(lever);
    onChange();
  }

  /** Expires levers. After the clock was set back, no lever lasts longer than its original duration. */
  settle(nowMs: number): void {
    for (const lever of [...this.#levers.values()]) {
      const { zone, ttlSeconds } = lever;
      const untilMs = endOf(lever.untilMs, ttlSeconds * 1000, nowMs);
      if (untilMs === lever.untilMs) continue;
      const now = untilMs === null ? null : { ...lever, untilMs };
      this.#unsaved.queue(zone, now);
      if (now !== null) this.#levers.set(zone, now);
      else {
        this.#levers.delete(zone);
        this.#options.observer.expired(lever);
      }
    }
    this.flush();
  }

  /** Tries again to save what could not be saved. */
  flush(): void {
    this.#unsaved.flush();
  }

  #refuse(refusal: LeverRefusal): LeverAnswer {
    this.#options.observer.refused(refusal);
    return { kind: "refused", refusal };
  }
}
