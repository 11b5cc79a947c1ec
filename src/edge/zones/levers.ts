/**
 * The levers: operators' temporary settings of how a zone challenges visitors, instead of its file's
 * (docs/interface.md#lever-states). The store keeps them over a restart. Times are wall clock, ms, since nodes expire
 * levers by the same times.
 */
import { LEVERS_MAX } from "../../limits.ts";
import type { RecordTable } from "../../system/record-table.ts";
import { type Commander, type OrderObserver, type OrderTimes, StandingOrders } from "../../system/standing-orders.ts";
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

export type LeverRefusal = "mode_none" | "too_many_levers";

type LeverAnswer =
  /** `isSaved` false: it is in force, and the disk has not taken it yet. */
  | { readonly kind: "set"; readonly lever: Lever; readonly isSaved: boolean }
  | { readonly kind: "refused"; readonly refusal: LeverRefusal };

interface LeversOptions {
  /** By zone. */
  readonly store: RecordTable<Lever>;
  /** Levers of configured zones replace those of other zones. */
  readonly isConfigured: (zone: string) => boolean;
  /** A lever was set or cleared. */
  readonly onChange: () => void;
  readonly observer: LeverObserver;
}

type LeverEnd = "cleared" | "expired";
export type LeverObserver = OrderObserver<Lever, LeverRefusal, LeverEnd>;

const TIMES: OrderTimes<Lever> = {
  endsAt: ({ untilMs }) => untilMs,
  endingAt: (lever, untilMs) => ({ ...lever, untilMs }),
  longestMs: ({ ttlSeconds }) => ttlSeconds * 1000,
};

export class Levers {
  readonly #options: LeversOptions;
  readonly #levers: StandingOrders<Lever, LeverRefusal, LeverEnd>;

  /** @param kept levers of an earlier process; some may have expired since. */
  constructor(options: LeversOptions, kept: Iterable<Lever> = []) {
    this.#options = options;
    const { store, observer } = options;
    this.#levers = new StandingOrders({ store, keyOf: ({ zone }) => zone, times: TIMES, observer });
    this.#levers.restore(kept);
  }

  /** By zone. May still have a lever that is past its `until`. */
  get all(): ReadonlyMap<string, Lever> {
    return this.#levers.all;
  }

  /** Changes that are not on disk yet. */
  get unsaved(): number {
    return this.#levers.unsaved;
  }

  /** The lever in force; null: the zone follows its file. */
  of(zone: string, nowMs: number): Lever | null {
    const lever = this.#levers.get(zone);
    return lever !== null && lever.untilMs > nowMs ? lever : null;
  }

  /** Sets or replaces the lever, once it is on disk. Rejects with the store's error; then nothing has changed. */
  async set(
    { name, policy }: Zone,
    { mode, ttlSeconds, reason }: LeverOrder,
    nowMs: number,
    by?: Commander,
  ): Promise<LeverAnswer> {
    const lever: Lever = { zone: name, mode, untilMs: nowMs + ttlSeconds * 1000, ttlSeconds, reason };
    const outcome = await this.#levers.place({
      decide: () => {
        if (policy.mode === "none") return { kind: "refused", refusal: "mode_none" };
        if (!this.#hasRoom(name) && this.#unneeded(name) === null)
          return { kind: "refused", refusal: "too_many_levers" };
        return { kind: "begins", key: name, record: lever, basis: [] };
      },
      takeEffect: () => {
        const unneeded = this.#levers.all.size > LEVERS_MAX ? this.#unneeded(name) : null;
        if (unneeded !== null) this.#levers.end("cleared", [unneeded]);
        this.#options.onChange();
      },
      ...(by && { by }),
    });
    if (outcome.kind === "refused") return outcome;
    return { kind: "set", lever, isSaved: outcome.isSaved };
  }

  /**
   * At once, whatever the disk does. Resolves with whether it is on disk; with true if the zone has no lever, and then
   * does nothing.
   */
  async clear(zone: string, by?: Commander): Promise<boolean> {
    const lever = this.#levers.get(zone);
    if (lever === null) return true;
    const saved = this.#levers.endSaved("cleared", [lever], by);
    this.#options.onChange();
    return saved;
  }

  /** The lever of another brain, in place of the one of its zone. Returns null, or why there is no room for it here. */
  adopt(lever: Lever): LeverRefusal | null {
    const unneeded = this.#hasRoom(lever.zone) ? null : this.#unneeded(lever.zone);
    if (unneeded === null && !this.#hasRoom(lever.zone)) return "too_many_levers";
    if (unneeded !== null) this.#levers.end("cleared", [unneeded]);
    this.#levers.adopt(lever);
    this.#options.onChange();
    return null;
  }

  /** Another brain has cleared it. */
  endAdopted(lever: Lever): void {
    this.#levers.end("cleared", [lever]);
    this.#options.onChange();
  }

  #hasRoom(zone: string): boolean {
    return this.#levers.get(zone) !== null || this.#levers.all.size < LEVERS_MAX;
  }

  /** The lever that ends first among those of zones that were removed from the file; null: there is none. */
  #unneeded(beside: string): Lever | null {
    const { isConfigured } = this.#options;
    const unneeded = [...this.#levers.all.values()].filter(({ zone }) => zone !== beside && !isConfigured(zone));
    return unneeded.sort((a, b) => a.untilMs - b.untilMs)[0] ?? null;
  }

  /** Expires levers. After the clock was set back, no lever lasts longer than its original duration. */
  settle(nowMs: number): void {
    this.#levers.shorten(nowMs);
    this.#levers.expire("expired", nowMs);
  }
}
