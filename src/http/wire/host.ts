/** One host's rates of now (interface 2.5). Called for every host of a snapshot, hence without detours. */
import { type Static, Type } from "@sinclair/typebox";
import { ratesToWire } from "../../traffic/rates.ts";
import type { HostView } from "../service.ts";
import { RatesWire } from "./rates.ts";

export const HostWire = Type.Object(
  {
    target: Type.String(),
    group: Type.String(),
    rates: RatesWire,
    rates_out: RatesWire,
    in_attack: Type.Boolean(),
    metric: Type.Optional(Type.String()),
    direction: Type.Optional(Type.Union([Type.Literal("incoming"), Type.Literal("outgoing")])),
  },
  { additionalProperties: false },
);
export type HostWire = Static<typeof HostWire>;

export const HostsWire = Type.Object(
  {
    hosts: Type.Array(HostWire),
    /** Of a page: how many hosts match. */
    total: Type.Optional(Type.Integer({ minimum: 0 })),
    /** Of a page that others follow: what `after` is to be for the next one. */
    next: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);
export type HostsWire = Static<typeof HostsWire>;

export function hostToWire({ target, group, rates, ratesOut, attack }: HostView): HostWire {
  const calm = { target, group, rates: ratesToWire(rates), rates_out: ratesToWire(ratesOut), in_attack: false };
  if (attack === null) return calm;
  return { ...calm, in_attack: true, metric: attack.metric, direction: attack.direction };
}
