/** One host's current rates (docs/interface.md#host). Called for every host of a snapshot, so it must be fast. */
import { type Static, Type } from "@sinclair/typebox";
import { ratesToWire } from "../../../traffic/rates.ts";
import type { HostView } from "../../backend.ts";
import { closed } from "../closed.ts";
import { RatesWire, SamplingErrorWire, samplingErrorToWire } from "./rates.ts";

const BaselineWire = Type.Object({ pps: Type.Number(), mbps: Type.Number(), flows_per_sec: Type.Number() }, closed);

export const HostWire = Type.Object(
  {
    target: Type.String(),
    group: Type.String(),
    rates: RatesWire,
    rates_out: RatesWire,
    /** Absent where the rates are exact, like the next field. */
    sampling_error: Type.Optional(SamplingErrorWire),
    sampling_error_out: Type.Optional(SamplingErrorWire),
    in_attack: Type.Boolean(),
    /** Absent if no baseline is configured for the host's group, like the next field. */
    baseline: Type.Optional(BaselineWire),
    baseline_out: Type.Optional(BaselineWire),
    metric: Type.Optional(Type.String()),
    direction: Type.Optional(Type.Union([Type.Literal("incoming"), Type.Literal("outgoing")])),
  },
  closed,
);
export type HostWire = Static<typeof HostWire>;

export const HostsWire = Type.Object(
  {
    hosts: Type.Array(HostWire),
    /** Only in pages: the number of matching hosts. */
    total: Type.Optional(Type.Integer({ minimum: 0 })),
    /** Only in pages with a next page: the value of `after` for it. */
    next: Type.Optional(Type.String()),
  },
  closed,
);
export type HostsWire = Static<typeof HostsWire>;

export function hostToWire(host: HostView): HostWire {
  const { target, group, rates, ratesOut, samplingError, samplingErrorOut, attack, baseline, baselineOut } = host;
  const seen: HostWire = {
    target,
    group,
    rates: ratesToWire(rates),
    rates_out: ratesToWire(ratesOut),
    in_attack: false,
  };
  if (samplingError !== null) seen.sampling_error = samplingErrorToWire(samplingError);
  if (samplingErrorOut !== null) seen.sampling_error_out = samplingErrorToWire(samplingErrorOut);
  const calm =
    baseline === null || baselineOut === null
      ? seen
      : { ...seen, baseline: ratesToWire(baseline), baseline_out: ratesToWire(baselineOut) };
  if (attack === null) return calm;
  return { ...calm, in_attack: true, metric: attack.metric, direction: attack.direction };
}
