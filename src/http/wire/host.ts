/** One host's rates of now (docs/interface.md#host). Called for every host of a snapshot, hence without detours. */
import { type Static, Type } from "@sinclair/typebox";
import { ratesToWire } from "../../traffic/rates.ts";
import type { HostView } from "../backend.ts";
import { RatesWire } from "./rates.ts";

const BaselineWire = Type.Object(
  { pps: Type.Number(), mbps: Type.Number(), flows_per_sec: Type.Number() },
  { additionalProperties: false },
);

export const HostWire = Type.Object(
  {
    target: Type.String(),
    group: Type.String(),
    rates: RatesWire,
    rates_out: RatesWire,
    in_attack: Type.Boolean(),
    /** Absent where no baseline is configured for the host's group, as is the next. */
    baseline: Type.Optional(BaselineWire),
    baseline_out: Type.Optional(BaselineWire),
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

export function hostToWire({ target, group, rates, ratesOut, attack, baseline, baselineOut }: HostView): HostWire {
  const seen = { target, group, rates: ratesToWire(rates), rates_out: ratesToWire(ratesOut), in_attack: false };
  const calm =
    baseline === null || baselineOut === null
      ? seen
      : { ...seen, baseline: ratesToWire(baseline), baseline_out: ratesToWire(baselineOut) };
  if (attack === null) return calm;
  return { ...calm, in_attack: true, metric: attack.metric, direction: attack.direction };
}
