/** The ban engine's interface to a BGP speaker: one set of wanted routes, and the state of each. */
import type { IpAddress } from "../net/address.ts";
import type { Community } from "../net/community.ts";
import type { Prefix } from "../net/prefix.ts";
import type { RouterAction } from "./rules/action.ts";
import type { Rule } from "./rules/rule.ts";

/** Methods of bans that are announced. */
export const ROUTE_METHODS = ["blackhole", "flowspec", "divert"] as const;
export type RouteMethod = (typeof ROUTE_METHODS)[number];

interface RouteAttributes {
  readonly communities: readonly Community[];
  /** 0: not set. */
  readonly localPref: number;
  /** Names or addresses of the neighbors that may get it, of those whose policy takes it. Absent: all of these. */
  readonly neighbors?: readonly string[];
  /** The communities are those of an order, in place of what policies of neighbors say. */
  readonly areCommunitiesOrdered?: true;
}

/** The communities of routes at the neighbors of a policy, by its name. */
export interface CommunitiesAt {
  readonly policy: string;
  readonly communities: readonly Community[];
}

/** Sends all traffic of a prefix to a next hop: a blackhole, or a divert to a scrub node. */
export interface UnicastRoute extends RouteAttributes {
  readonly kind: "unicast";
  readonly prefix: Prefix;
  readonly nextHop: IpAddress;
  /** Absent: a blackhole. */
  readonly isDivert?: true;
  /** In place of the communities that policies of neighbors give, for some of these. Absent: none. */
  readonly communitiesAt?: readonly CommunitiesAt[];
  /**
   * It is for the neighbors alone that take no prefix of this length, that of the ban which it encloses, but this one.
   * Absent: it is for all.
   */
  readonly encloses?: number;
  /** Why neighbors that do not take its prefix get no enclosing one. Absent: they do, or none is configured. */
  readonly notEnclosed?: string;
}

/** Routers apply the rule's action to the packets that it matches. */
export interface FlowspecRoute extends RouteAttributes {
  readonly kind: "flowspec";
  /** The banned prefix: the rule's destination, or, in an outgoing attack, its source. */
  readonly prefix: Prefix;
  readonly rule: Rule;
  /** In place of the rule's action. Absent: that. */
  readonly routers?: RouterAction;
  /** Addresses of the neighbors that it is for, or that have other rules in place of it. Absent: it is for all. */
  readonly only?: readonly string[];
  readonly except?: readonly string[];
}

export type Route = UnicastRoute | FlowspecRoute;

/**
 * The state of one wanted route. `pending`: it is on its way to the neighbors. `announced`: a neighbor's session is up and
 * the route is in its Adj-RIB-Out; of a ban, `sentTo` names the neighbors of which that is so, `limitedAt` those of them
 * that lack some rules, `keptFrom` those that are not to get it, `missingAt` the others, and `maybeInvalidAt` those that were sent rules and may find them invalid.
 */
export type RouteState =
  | { readonly kind: "pending" }
  | {
      readonly kind: "announced";
      readonly sentTo?: readonly string[];
      readonly missingAt?: readonly MissingNeighbor[];
      readonly keptFrom?: readonly MissingNeighbor[];
      readonly limitedAt?: readonly LimitedNeighbor[];
      readonly maybeInvalidAt?: readonly string[];
    }
  | { readonly kind: "no_session" }
  /** The speaker does not answer: whether neighbors have the route is unknown. */
  | { readonly kind: "speaker_down"; readonly cause: string }
  /** The route cannot be announced; `cause` says why. `isBeyondRoom`: it is a rule more than neighbors have room for. */
  | { readonly kind: "failed"; readonly cause: string; readonly isBeyondRoom?: true };

/** A neighbor that has not been sent a route which another one has, and why. */
export interface MissingNeighbor {
  readonly neighbor: string;
  readonly cause: string;
  /** It has no room for this rule. */
  readonly isBeyondRoom?: true;
}

/** A neighbor that has been sent a ban's rules but for some, for which it has no room. */
export interface LimitedNeighbor {
  readonly neighbor: string;
  readonly leftOut: number;
  readonly cause: string;
}

export interface Announcer {
  /** Replaces the wanted set, the most valuable routes first. Returns at once; the announcer retries until the speaker has this set. */
  want(routes: readonly Route[]): void;
  routeState(route: Route): RouteState;
  /** The neighbors that have not been sent a route that is announced, but are to get it. */
  missingAt(route: Route): readonly MissingNeighbor[];
  /** The neighbors that are not to get the route, and why: the order, or their policy. */
  keptFrom(route: Route): readonly MissingNeighbor[];
  /** The neighbors that have been sent the route. */
  sentTo(route: Route): readonly string[];
  /**
   * Whether the neighbor's session is eBGP. Such a neighbor finds our FlowSpec rules invalid unless validation is off
   * (RFC 8955, section 6), without a notification; over iBGP they are valid (RFC 9117).
   */
  isExternal(neighbor: string): boolean;
  /** Whether a neighbor with a session takes routes of this method and address family. */
  takes(method: RouteMethod, family: Prefix["family"]): boolean;
  /** Called after changes of routes' states, in the same turn, once for all that come together; not from within want(). */
  onChange(listener: () => void): void;
}

/** Equal for equal states. */
export function routeStateText(state: RouteState | null): string {
  switch (state?.kind) {
    case undefined:
      return "";
    case "announced": {
      const { missingAt = [], keptFrom = [], limitedAt = [] } = state;
      const missing = [...missingAt, ...keptFrom, ...limitedAt].map(({ neighbor, cause }) => `${neighbor} ${cause}`);
      return `announced ${state.sentTo?.join() ?? ""} ${missing.join()}`;
    }
    case "failed":
    case "speaker_down":
      return `${state.kind} ${state.cause}`;
    case "pending":
    case "no_session":
      return state.kind;
    default:
      return state satisfies never;
  }
}
