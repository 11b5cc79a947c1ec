/** Brains of a cluster have the same routers: how many routes one of these takes is found by one brain for all. */
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { LearnedLimits } from "../bgp/learned-limits.ts";
import { ROUTE_FAMILIES } from "../bgp/route-family.ts";
import type { RouteLimit } from "../bgp/withheld-routes.ts";
import type { Peers } from "../cluster/peers.ts";
import { oneOf } from "../schema/schema-forms.ts";

interface LimitSharing {
  readonly peers: Peers;
  readonly limits: Pick<LearnedLimits, "known" | "onLearned" | "take">;
  readonly onUnread: (kind: string, from: string) => void;
}

const KIND = "route_limits";
const LIMITS_OF_MESSAGE = 1000;

const Body = Type.Object({
  limits: Type.Array(
    Type.Object({
      neighbor: Type.String({ maxLength: 64 }),
      family: oneOf(...ROUTE_FAMILIES),
      /** A router that takes none says nothing about the session of another brain. */
      routes: Type.Integer({ minimum: 1 }),
    }),
    { maxItems: LIMITS_OF_MESSAGE },
  ),
});
type Body = Static<typeof Body>;

export function shareLimits({ peers, limits, onUnread }: LimitSharing): void {
  const say = (known: readonly RouteLimit[], send: (body: Body) => void) => {
    const useful = known.filter(({ routes }) => routes > 0);
    for (let from = 0; from < useful.length; from += LIMITS_OF_MESSAGE)
      send({ limits: useful.slice(from, from + LIMITS_OF_MESSAGE) });
  };
  limits.onLearned((known) => say(known, (body) => peers.broadcast(KIND, body)));
  peers.onUp((name) => say(limits.known, (body) => peers.send(name, KIND, body)));
  peers.on(KIND, (from, body) => {
    if (Value.Check(Body, body)) limits.take(body.limits);
    else onUnread(KIND, from);
  });
}
