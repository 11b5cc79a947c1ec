/**
 * Reports active bans whose routes changed their state: a route is announced some time after its ban was placed, and a
 * session that ends changes the routes of all bans. Does not know who listens.
 */

import { type RouteState, routeStateText } from "../mitigation/announcer.ts";
import type { Ban } from "../mitigation/ban.ts";
import type { BanEngine } from "../mitigation/ban-engine.ts";
import type { Cancel, Timers } from "../system/timers.ts";

interface RouteChangesOptions {
  readonly bans: Pick<BanEngine, "active" | "routeState">;
  readonly timers: Pick<Timers, "after">;
  readonly onChange: (ban: Ban, state: RouteState | null) => void;
}

/** Least time between two looks at all bans, ms: the speaker reports its changes in many small steps. */
export const ROUTE_LOOK_MS = 100;
/** A look at many bans is made in parts of this number, so that nothing else waits for it. */
export const ROUTE_LOOK_BANS = 100;
const PART_PAUSE_MS = 10;

export class RouteChanges {
  readonly #options: RouteChangesOptions;
  /** By id of active bans: the state that was reported last. */
  readonly #reported = new Map<string, string>();
  /** Prefixes of the bans that the look in progress has yet to see. */
  #rest: readonly string[] = [];
  #isDue = false;
  /** null: no look is in progress, and the pause after the last one is over. */
  #cancel: Cancel | null = null;
  #isStopped = false;

  constructor(options: RouteChangesOptions) {
    this.#options = options;
  }

  /** The ban was reported with this state by the caller. */
  placed(ban: Ban, state: RouteState | null): void {
    if (ban.state === "active") this.#reported.set(ban.id, routeStateText(state));
    else this.#reported.delete(ban.id);
  }

  /** Call this when routes may have changed: looks at once, or at the end of the pause after the last look. */
  look(): void {
    if (this.#isStopped) return;
    this.#isDue = true;
    if (this.#cancel === null) this.#begin();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #begin(): void {
    this.#isDue = false;
    const { active } = this.#options.bans;
    const ids = new Set<string>();
    // Those that wait for their announcement first.
    const [waiting, others]: [string[], string[]] = [[], []];
    for (const [prefix, { id }] of active) {
      ids.add(id);
      const isOut = this.#reported.get(id)?.startsWith("announced") === true;
      (isOut ? others : waiting).push(prefix);
    }
    for (const id of this.#reported.keys()) if (!ids.has(id)) this.#reported.delete(id);
    this.#rest = [...waiting, ...others];
    this.#continue();
  }

  #continue(): void {
    const { bans, timers } = this.#options;
    for (const prefix of this.#rest.slice(0, ROUTE_LOOK_BANS)) {
      const ban = bans.active.get(prefix);
      if (ban !== undefined) this.#see(ban);
    }
    this.#rest = this.#rest.slice(ROUTE_LOOK_BANS);
    this.#cancel =
      this.#rest.length > 0
        ? timers.after(PART_PAUSE_MS, () => this.#continue())
        : timers.after(ROUTE_LOOK_MS, () => this.#rested());
  }

  #rested(): void {
    this.#cancel = null;
    if (this.#isDue) this.#begin();
  }

  #see(ban: Ban): void {
    const { bans, onChange } = this.#options;
    const state = bans.routeState(ban);
    const text = routeStateText(state);
    if (this.#reported.get(ban.id) === text) return;
    this.#reported.set(ban.id, text);
    onChange(ban, state);
  }
}
