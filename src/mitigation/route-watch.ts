/** What has become of the routes of bans: whether neighbors have them, and how long they have been refused. */
import type { Announcer, Route, RouteState } from "./announcer.ts";
import { type Ban, wantedRoutes } from "./ban.ts";
import { routesOf } from "./measure.ts";

export interface RoutesNews {
  /** Some neighbor has one of them. */
  readonly isOut: boolean;
  /** Each was tried, and not all in vain: what they take the place of may go. */
  readonly isSettled: boolean;
  /** Why one of them is not had, for a while now; null: they are, or it is too early to tell. */
  readonly refusal: string | null;
}

/** A session that breaks and comes back is no refusal. */
export const REFUSED_FOR_MS = 2000;

const WITHOUT_SPEAKER: RoutesNews = { isOut: true, isSettled: true, refusal: null };
const NOT_TRIED: RoutesNews = { isOut: false, isSettled: false, refusal: null };

/** Worst first: the state of several routes is that of the worst. */
const WORST_FIRST = ["failed", "speaker_down", "pending", "no_session", "announced"] as const;

export class RouteWatch {
  readonly #announcer: Announcer | null;
  /** Wall clock, ms, by ban. */
  readonly #refusedSince = new Map<string, number>();

  constructor(announcer: Announcer | null) {
    this.#announcer = announcer;
  }

  /** Of what the ban does now, not of what it did before; null where nothing is to be announced. */
  stateOf(ban: Ban): RouteState | null {
    if (this.#announcer === null || wantedRoutes(ban).length === 0) return null;
    const states = this.#states(routesOf(ban.measure, ban.prefix));
    for (const kind of WORST_FIRST) {
      const state = states.find((candidate) => candidate.kind === kind);
      if (state !== undefined) return state;
    }
    return null;
  }

  newsOf(ban: Ban, wallMs: number): RoutesNews {
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

  /** The ban is over, or the wall clock was set: what was refused is counted anew. */
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
