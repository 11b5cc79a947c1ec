/**
 * The levers: an operator's word on how a zone challenges, instead of its file's, for a time
 * (docs/interface.md#lever-states). Where they survive the process is the store's matter; times are wall clock, ms,
 * since nodes let a lever lapse by the same.
 */
import { LEVERS_MAX } from "../limits.ts";
import { UnsavedRecords } from "../system/unsaved-records.ts";
import { endOf } from "./expiry.ts";
import type { Zone } from "./zone.ts";
import type { ChallengeOverride } from "./zone-documents.ts";

export interface Lever extends ChallengeOverride {
  readonly zone: string;
  /** What it was set for. */
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

/** Each returns when what it was given is on disk, or throws. */
export interface LeverStore {
  saveLever(lever: Lever): void;
  removeLever(zone: string): void;
  /** All of it is kept or none. */
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
  /** What happened by itself is not on disk, and is tried again. */
  storeFault(cause: unknown): void;
}

export class Levers {
  readonly #options: LeversOptions;
  readonly #levers = new Map<string, Lever>();
  /** Changes that no operator waited for; null: removed. */
  readonly #unsaved: UnsavedRecords<Lever | null>;

  /** @param kept of an earlier process; some may have lapsed since. */
  constructor(options: LeversOptions, kept: Iterable<Lever> = []) {
    this.#options = options;
    const { store, observer } = options;
    this.#unsaved = new UnsavedRecords({
      write: (lever, zone) => (lever === null ? store.removeLever(zone) : store.saveLever(lever)),
      atOnce: (writes) => store.atOnce(writes),
      // Each settle() flushes.
      onUnsaved: () => {},
      onStoreFault: (cause) => observer.storeFault(cause),
    });
    for (const lever of kept) this.#levers.set(lever.zone, lever);
  }

  /** By zone. One that is past its `until` may still be in it. */
  get all(): ReadonlyMap<string, Lever> {
    return this.#levers;
  }

  /** In force; null: the zone follows its file. */
  of(zone: string, nowMs: number): Lever | null {
    const lever = this.#levers.get(zone);
    return lever !== undefined && lever.untilMs > nowMs ? lever : null;
  }

  /** Sets it, or sets it anew. Throws what the store does, and nothing has changed then. */
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

  /** A zone without a lever follows its file already. Throws what the store does, and nothing has changed then. */
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

  /** Lets lapse what is past its time. After a clock that was set back no lever holds for longer than it was set for. */
  settle(nowMs: number): void {
    for (const lever of [...this.#levers.values()]) {
      const { zone, ttlSeconds } = lever;
      const untilMs = endOf(lever.untilMs, ttlSeconds * 1000, nowMs);
      if (untilMs === lever.untilMs) continue;
      const now = untilMs === null ? null : { ...lever, untilMs };
      this.#unsaved.soon(zone, now);
      if (now !== null) this.#levers.set(zone, now);
      else {
        this.#levers.delete(zone);
        this.#options.observer.expired(lever);
      }
    }
    this.flush();
  }

  /** What could not be written is tried again. */
  flush(): void {
    this.#unsaved.flush();
  }

  #refuse(refusal: LeverRefusal): LeverAnswer {
    this.#options.observer.refused(refusal);
    return { kind: "refused", refusal };
  }
}
