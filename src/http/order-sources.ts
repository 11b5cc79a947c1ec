/** The sources by which orders of bans are judged and shown: the routes of backends use it. */
import type { Principal } from "../access/principal.ts";
import type { ForeignRoutes } from "../bgp/foreign-routes.ts";
import type { MissingNeighbor, Route } from "../mitigation/announcer.ts";
import type { Ban } from "../mitigation/ban.ts";
import type { DiversionView } from "../mitigation/diversion.ts";
import type { RuleEffect } from "../mitigation/operator/rule-effect.ts";
import type { OrderFile } from "../mitigation/order/order-file.ts";
import type { PrefixContents } from "../mitigation/order/remedies.ts";
import type { ReceivedServices } from "../mitigation/protection/received-services.ts";
import type { Prefix } from "../net/prefix.ts";

/** `unknown`: nothing is known of the last minute's traffic. */
export type OrderEffect =
  | { readonly kind: "unknown"; readonly reason: string }
  | { readonly kind: "known"; readonly effect: RuleEffect };

export interface OrderSources {
  /** Templates of the configuration, by name. */
  templates(): ReadonlyMap<string, OrderFile>;
  /** For the remedy of a refused order. An entry of `protected_whitelist` that is all of the prefix is not in it. */
  contentsOf(prefix: Prefix): PrefixContents;
  /** The effect of a ban on the traffic of the last minute, as far as the caller may see it. */
  effect(ban: Ban, by: Principal): OrderEffect;
  /** The neighbors that are not to get such a route, and why. */
  keptFrom(route: Route): readonly MissingNeighbor[];
  /** Routes that others put into the speaker; null: none answers. */
  foreignRoutes(): Promise<ForeignRoutes | null>;
  /** Traffic that the hosts of a prefix received in the last minute; null: too little is known. */
  received(prefix: Prefix): ReceivedServices | null;
  /** Diversions of the scrubbing hook. */
  diversions(): readonly DiversionView[];
}
