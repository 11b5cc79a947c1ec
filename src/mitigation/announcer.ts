/** What the ban engine needs of a BGP speaker: one set of wanted routes, and what has become of it. */
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { Rule } from "./rules/rule.ts";

interface RouteAttributes {
  /** As `65535:666`. */
  readonly communities: readonly string[];
  /** 0: not set. */
  readonly localPref: number;
}

/** Draws all traffic of a prefix to a next hop: a blackhole, or a divert to a scrubbing node. */
export interface UnicastRoute extends RouteAttributes {
  readonly kind: "unicast";
  readonly prefix: Prefix;
  readonly nextHop: IpAddress;
}

/** Has routers act on the packets that a rule matches. */
export interface FlowspecRoute extends RouteAttributes {
  readonly kind: "flowspec";
  /** Whose traffic it is: the rule's destination, or, of what it sends, its source. */
  readonly prefix: Prefix;
  readonly rule: Rule;
}

export type Route = UnicastRoute | FlowspecRoute;

/** What is known of one wanted route: `announced` only when a peer's session is up and the route is in its out-table. */
export type RouteState =
  | { readonly kind: "pending" }
  | { readonly kind: "announced" }
  | { readonly kind: "no_session" }
  /** The speaker does not answer: what neighbors have is not known. */
  | { readonly kind: "speaker_down"; readonly cause: string }
  /** The route cannot be had as it is. */
  | { readonly kind: "failed"; readonly cause: string };

export interface Announcer {
  /** Replaces the wanted set. Returns at once; the speaker is brought to it, again and again until it is so. */
  want(routes: readonly Route[]): void;
  routeState(route: Route): RouteState;
  /** Called after any change of a route's state; not from within want(). */
  onChange(listener: () => void): void;
}
