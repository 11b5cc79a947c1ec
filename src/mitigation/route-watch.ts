/**
 * Watches the routes of bans: whether neighbors have them, how long they have been refused, and whether a refused method
 * may be tried again.
 */
import type { Announcer, LimitedNeighbor, MissingNeighbor, Route, RouteState } from "./announcer.ts";
import { type Ban, hasRetiring, wantedDiversion, wantedRoutes } from "./ban.ts";
import type { DiversionSource } from "./diversion.ts";
import type { Method } from "./escalation.ts";
import { foundNone, isForReader, type Measure, NO_RULES_FOUND, routesOf } from "./measure.ts";

interface RoutesStatus {
  /** At least one neighbor has one of the routes. */
  readonly isOut: boolean;
  /** The speaker has processed all routes and at least one is valid: retiring routes can be withdrawn. */
  readonly isSettled: boolean;
  /** Why a route has been refused for at least REFUSED_FOR_MS; null: none has. */
  readonly refusal: string | null;
  /** Whether a method that was refused and replaced may be tried again: neighbors have taken such routes long enough. */
  readonly isTakenAgain: (method: Method) => boolean;
}

/** A shorter failure may be a session reset, which is not a refusal. */
export const REFUSED_FOR_MS = 2000;

/**
 * A refused method is tried again when neighbors have taken its routes for this time, so that a session that comes and
 * goes does not change the bans each time. It doubles with each refusal up to the maximum.
 */
export const RETRY_HOLD_MS = 30_000;
export const RETRY_HOLD_MAX_MS = 960_000;
/** Refusals further apart are independent: the second one does not double the hold. */
const UNRELATED_AFTER_MS = 3_600_000;

/** When a refused method is tried again. Wall clock, ms. */
interface Retry {
  readonly refusedAtMs: number;
  readonly holdMs: number;
  /** null: no neighbor takes such routes. */
  readonly takenSinceMs: number | null;
}

interface RetryQuestion {
  readonly announcer: Announcer;
  readonly ban: Ban;
  readonly method: Method;
  readonly wallMs: number;
}

const WITHOUT_SPEAKER: RoutesStatus = { isOut: true, isSettled: true, refusal: null, isTakenAgain: () => true };
/** Nothing is announced. */
export const NOT_TRIED: RoutesStatus = { isOut: false, isSettled: false, refusal: null, isTakenAgain: () => false };

/** The state of several routes is the first of these that occurs. */
const WORST_FIRST = ["failed", "speaker_down", "pending", "no_session", "announced"] as const;

interface RouteSources {
  readonly announcer: Announcer | null;
  readonly isHere: (ban: Ban) => boolean;
  readonly diversions: Pick<DiversionSource, "stateOf">;
}

export class RouteWatch {
  readonly #announcer: Announcer | null;
  readonly #isHere: (ban: Ban) => boolean;
  /** Wall clock, ms, by ban. */
  readonly #refusedSince = new Map<string, number>();
  /** By ban whose method was refused. */
  readonly #retries = new Map<string, Retry>();

  readonly #diversions: Pick<DiversionSource, "stateOf">;

  /** @param isHere whether what this machine itself does for a ban is in force. */
  constructor({ announcer, isHere, diversions }: RouteSources) {
    this.#announcer = announcer;
    this.#isHere = isHere;
    this.#diversions = diversions;
  }

  /** The state of the current routes, without the retiring ones; null when nothing is announced. */
  stateOf(ban: Ban): RouteState | null {
    const without = isWithoutRules(ban) ? NO_RULES_FOUND : notAnnouncedOf(ban);
    const diverted = this.#diversionOf(ban);
    const isOut = this.#announcer !== null || diverted !== null || notAnnouncedOf(ban) !== null;
    if (isOut && without !== null) return { kind: "failed", cause: without };
    if (diverted !== null && diverted.kind !== "announced") return diverted;
    if (this.#announcer === null || wantedRoutes(ban).length === 0) return diverted;
    const state = this.#stateOf(ban.measure, routesOf(ban.measure, ban.prefix));
    return state?.kind === "announced" ? atNeighbors(this.#announcer, ban) : state;
  }

  /** The state at the best of the neighbors with the same routes: a ban acts where it has all of its routes. */
  #stateOf(measure: Measure, routes: readonly Route[]): RouteState | null {
    const states = audiences(measure, routes).flatMap((each) => worstOf(this.#states(each)) ?? []);
    const best = WORST_FIRST.findLast((kind) => states.some((candidate) => candidate.kind === kind));
    return states.find(({ kind }) => kind === best) ?? null;
  }

  statusOf(ban: Ban, wallMs: number): RoutesStatus {
    const routes = wantedRoutes(ban).length === 0 ? [] : routesOf(ban.measure, ban.prefix);
    const announcer = this.#announcer;
    const diverted = this.#diversionOf(ban);
    if (diverted !== null && (diverted.kind !== "announced" || routes.length === 0)) return hookStatus(diverted);
    if (announcer === null) return WITHOUT_SPEAKER;
    const isTakenAgain = (method: Method) => this.#isTakenAgain({ announcer, ban, method, wallMs });
    if (routes.length === 0) return { ...NOT_TRIED, isTakenAgain, isSettled: this.#isSettledHere(ban) };
    const states = this.#states(routes);
    const isTried = states.every(({ kind }) => kind !== "pending" && kind !== "speaker_down");
    return {
      isOut: states.some(({ kind }) => kind === "announced"),
      isSettled: isTried && states.some(({ kind }) => kind === "announced" || kind === "no_session"),
      refusal: this.#refusal(ban.id, this.#stateOf(ban.measure, routes), wallMs),
      isTakenAgain,
    };
  }

  /** null: the hook has nothing to divert for it. */
  #diversionOf(ban: Ban): RouteState | null {
    const prefix = wantedDiversion(ban);
    return prefix === null ? null : this.#diversions.stateOf(prefix);
  }

  /** Routes of a harder measure can be withdrawn: this machine does what takes their place. */
  #isSettledHere(ban: Ban): boolean {
    return hasRetiring(ban) && ban.measure.kind === "scrub" && this.#isHere(ban);
  }

  /** The ban ended, or the wall clock was set: count all times from the start again. */
  forget(id: string): void {
    this.#refusedSince.delete(id);
    this.#retries.delete(id);
  }

  #refusal(id: string, failed: RouteState | null, wallMs: number): string | null {
    if (failed?.kind !== "failed") {
      this.#refusedSince.delete(id);
      return null;
    }
    const since = this.#refusedSince.get(id) ?? wallMs;
    this.#refusedSince.set(id, since);
    if (wallMs - since < REFUSED_FOR_MS) return null;
    this.#holdRetry(id, since);
    return failed.cause;
  }

  /** @param refusedAtMs identifies the refusal: repeated calls for one change nothing. */
  #holdRetry(id: string, refusedAtMs: number): void {
    const last = this.#retries.get(id);
    if (last?.refusedAtMs === refusedAtMs) return;
    const isRelated = last !== undefined && refusedAtMs - last.refusedAtMs < UNRELATED_AFTER_MS;
    const holdMs = isRelated ? Math.min(2 * last.holdMs, RETRY_HOLD_MAX_MS) : RETRY_HOLD_MS;
    this.#retries.set(id, { refusedAtMs, holdMs, takenSinceMs: null });
  }

  /** After a restart the time counts from the first call. */
  #isTakenAgain({ announcer, ban, method, wallMs }: RetryQuestion): boolean {
    const { family } = ban.prefix;
    const known = this.#retries.get(ban.id) ?? { refusedAtMs: wallMs, holdMs: RETRY_HOLD_MS, takenSinceMs: null };
    const isTaken = method !== "scrub" && announcer.takes(method, family);
    const takenSinceMs = isTaken ? (known.takenSinceMs ?? wallMs) : null;
    this.#retries.set(ban.id, { ...known, takenSinceMs });
    return takenSinceMs !== null && wallMs - takenSinceMs >= known.holdMs;
  }

  #states(routes: readonly Route[]): RouteState[] {
    const announcer = this.#announcer;
    return announcer === null ? [] : routes.map((route) => announcer.routeState(route));
  }
}

/** Earlier announcements can be withdrawn once the hook has confirmed the diversion. A failed one is planned otherwise. */
function hookStatus({ kind }: RouteState): RoutesStatus {
  const isDone = kind === "announced";
  return { ...NOT_TRIED, isOut: isDone, isSettled: isDone };
}

/** It is to act by rules, and none were found. */
function isWithoutRules({ state, dryRun, measure }: Ban): boolean {
  return state === "active" && !dryRun && measure.kind === "flowspec" && foundNone(measure);
}

/** Why nothing of it is announced; null: it is. */
function notAnnouncedOf({ state, dryRun, measure }: Ban): string | null {
  const isToAct = state === "active" && !dryRun && measure.kind === "divert";
  return isToAct ? (measure.notAnnounced ?? null) : null;
}

/** The first of WORST_FIRST. A rule for which there is no room is left out while another one is announced. */
function worstOf(states: readonly RouteState[]): RouteState | null {
  const isBeyondRoom = (state: RouteState) => state.kind === "failed" && state.isBeyondRoom === true;
  const others = states.filter((state) => !isBeyondRoom(state));
  const counted = others.length === 0 ? states : others;
  const worst = WORST_FIRST.find((kind) => counted.some((candidate) => candidate.kind === kind));
  return counted.find(({ kind }) => kind === worst) ?? null;
}

/** The routes of the neighbors that have the same ones. */
function audiences(measure: Measure, routes: readonly Route[]): readonly (readonly Route[])[] {
  if (measure.kind === "blackhole") return routes.map((route) => [route]);
  const limited = measure.kind === "flowspec" ? (measure.neighborRules ?? []) : [];
  if (limited.length === 0) return [routes];
  const readers = [null, ...limited.map(({ neighbors }) => neighbors[0] ?? null)];
  return readers
    .map((reader) => routes.filter((route) => isForReader(route, reader)))
    .filter(({ length }) => length > 0);
}

/** The neighbors that have an announced ban, those that have not, and why. */
function atNeighbors(announcer: Announcer, { measure, prefix }: Ban): RouteState {
  const routes = routesOf(measure, prefix).map((route) => ({
    route,
    missing: byNeighbor(announcer.missingAt(route)),
    kept: byNeighbor(announcer.keptFrom(route)),
    sent: new Set(announcer.sentTo(route)),
  }));
  const all = new Set(routes.flatMap(({ missing, kept, sent }) => [...missing.keys(), ...kept.keys(), ...sent]));
  const [sentTo, missingAt, keptFrom, limitedAt] = [[], [], [], []] as [
    string[],
    MissingNeighbor[],
    MissingNeighbor[],
    LimitedNeighbor[],
  ];
  for (const neighbor of all) {
    const own = routes.filter(({ route }) => isForReader(route, neighbor));
    const due = own.filter(({ kept }) => !kept.has(neighbor));
    const sent = due.filter((each) => each.sent.has(neighbor));
    const lacking = due.flatMap(({ missing }) => missing.get(neighbor) ?? []);
    const failing = sent.length === 0 ? lacking : lacking.filter(({ isBeyondRoom }) => isBeyondRoom !== true);
    const cause = own.flatMap(({ kept }) => kept.get(neighbor) ?? [])[0]?.cause ?? NO_RULE_FOR_IT;
    if (due.length === 0) keptFrom.push({ neighbor, cause });
    else if (failing[0] !== undefined) missingAt.push({ neighbor, cause: failing[0].cause });
    else if (sent.length > 0) sentTo.push(neighbor);
    const unsaid = leftOutAt(measure, neighbor);
    const leftOut = lacking.length + unsaid;
    if (sent.length > 0 && failing.length === 0 && leftOut > 0)
      limitedAt.push({ neighbor, leftOut, cause: lacking[0]?.cause ?? NOT_ALL_RULES });
  }
  const maybeInvalidAt = measure.kind === "flowspec" ? sentTo.filter((neighbor) => announcer.isExternal(neighbor)) : [];
  return {
    kind: "announced",
    ...(sentTo.length === 0 ? {} : { sentTo }),
    ...(missingAt.length === 0 ? {} : { missingAt }),
    ...(keptFrom.length === 0 ? {} : { keptFrom }),
    ...(limitedAt.length === 0 ? {} : { limitedAt }),
    ...(maybeInvalidAt.length === 0 ? {} : { maybeInvalidAt }),
  };
}

/** Number of the ban's rules that those of the neighbor do not replace. */
function leftOutAt(measure: Measure, neighbor: string): number {
  const limited = measure.kind === "flowspec" ? (measure.neighborRules ?? []) : [];
  return limited.find(({ neighbors }) => neighbors.includes(neighbor))?.leftOut ?? 0;
}

const NOT_ALL_RULES = "its policy allows only a part of the rules";
export const NO_RULE_FOR_IT = "its policy allows none of the rules, and no others were found within it";

function byNeighbor(missing: readonly MissingNeighbor[]): ReadonlyMap<string, MissingNeighbor> {
  const first = new Map<string, MissingNeighbor>();
  for (const each of missing) if (!first.has(each.neighbor)) first.set(each.neighbor, each);
  return first;
}
