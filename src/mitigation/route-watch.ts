/** Watches the routes of bans: whether neighbors have them, and how long they have been refused. */
import type { Announcer, Route, RouteState } from "./announcer.ts";
import { type Ban, wantedRoutes } from "./ban.ts";
import { routesOf } from "./measure.ts";

export interface RoutesStatus {
  /** At least one neighbor has one of the routes. */
  readonly isOut: boolean;
  /** The speaker has processed all routes and at least one is valid: retiring routes can be withdrawn. */
  readonly isSettled: boolean;
  /** Why a route has been refused for at least REFUSED_FOR_MS; null: none has. */
  readonly refusal: string | null;
}

/** A shorter failure may be a session reset, which is not a refusal. */
export const REFUSED_FOR_MS = 2000;

const WITHOUT_SPEAKER: RoutesStatus = { isOut: true, isSettled: true, refusal: null };
const NOT_TRIED: RoutesStatus = { isOut: false, isSettled: false, refusal: null };

/** The state of several routes is the first of these that occurs. */
const WORST_FIRST = ["failed", "speaker_down", "pending", "no_session", "announced"] as const;

export class RouteWatch {
  readonly #announcer: Announcer | null;
  /** Wall clock, ms, by ban. */
  readonly #refusedSince = new Map<string, number>();

  constructor(announcer: Announcer | null) {
    this.#announcer = announcer;
  }

  /** The state of the current routes, without the retiring ones; null when nothing is announced. */
  stateOf(ban: Ban): RouteState | null {
    if (this.#announcer === null || wantedRoutes(ban).length === 0) return null;
    const states = this.#states(routesOf(ban.measure, ban.prefix));
    for (const kind of WORST_FIRST) {
      const state = states.find((candidate) => candidate.kind === kind);
      if (state !== undefined) return state;
    }
    return null;
  }

  statusOf(ban: Ban, wallMs: number): RoutesStatus {
    const routes = wantedRoutes(ban).length === 0 ? [] : routesOf(ban.measure, ban.prefix);
    if (this.#announcer === null) return WITHOUT_SPEAKER;
    if (routes.length === 0) return NOT_TRIED;
    const states = this.#states(routes);
    const isTried = states.every(({ kind }) => kind !== "pending" && kind !== "speaker_down");
    return {
      isOut: states.some(({ kind }) => kind === "announced"),
      isSettled: isTried && states.some(({ kind }) => kind === "announced" || kind === "no_session"),
      refusal: this.#refusal(ban.id, states, wallMs),
    };
  }

  /** The ban ended, or the wall clock was set: count the time of a refusal from the start again. */
  forget(id: string): void {
    this.#refusedSince.delete(id);
  }

  #refusal(id: string, states: readonly RouteState[], wallMs: number): string | null {
    const failed = states.find((state) => state.kind === "failed");
    if (failed === undefined) {
      this.#refusedSince.delete(id);
      return null;
    }
    const since = this.#refusedSince.get(id) ?? wallMs;
    this.#refusedSince.set(id, since);
    return wallMs - since >= REFUSED_FOR_MS ? failed.cause : null;
  }

  #states(routes: readonly Route[]): RouteState[] {
    const announcer = this.#announcer;
    return announcer === null ? [] : routes.map((route) => announcer.routeState(route));
  }
}
