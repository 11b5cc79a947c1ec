/** Routes that others put into the BGP speaker (docs/interface.md#bgp-routes). */
import { type Static, Type } from "@sinclair/typebox";
import type { ForeignRoutes } from "../../bgp/foreign-routes.ts";
import { closedObject } from "../../schema/schema-forms.ts";

export const BgpRoutesWire = closedObject({
  /** False: there is no speaker, or it does not answer. */
  available: Type.Boolean(),
  routes: Type.Array(
    closedObject({
      family: Type.String(),
      /** The prefix, or what the rule matches, as text. */
      route: Type.String(),
      next_hop: Type.Optional(Type.String()),
      community: Type.Optional(Type.String()),
      /** Rate of a rule; 0 discards. */
      rate_bytes: Type.Optional(Type.Number()),
      /** Number of another Floodwall service: its `bgp.instance`. */
      instance: Type.Optional(Type.Integer()),
    }),
  ),
  /** Number of further ones; absent: none. */
  left_out: Type.Optional(Type.Integer({ minimum: 1 })),
});

export function bgpRoutesToWire(found: ForeignRoutes | null): Static<typeof BgpRoutesWire> {
  if (found === null) return { available: false, routes: [] };
  const routes = found.routes.map(({ family, text, nextHop, communities, rateBytes, instance }) => ({
    family,
    route: text,
    ...(nextHop !== "" && { next_hop: nextHop }),
    ...(communities !== "" && { community: communities }),
    ...(rateBytes !== null && { rate_bytes: rateBytes }),
    ...(instance !== null && { instance }),
  }));
  return { available: true, routes, ...(found.leftOut > 0 && { left_out: found.leftOut }) };
}
