/** One host's current rates (docs/interface.md#host). Called for every host of a snapshot, so it must be fast. */
import { type Static, Type } from "@sinclair/typebox";
import { Count, closedObject, oneOf } from "../../../schema/schema-forms.ts";
import { ratesToWire } from "../../../traffic/rates.ts";
import type { HostView } from "../../backend.ts";
import { RatesWire, SamplingErrorWire, samplingErrorToWire } from "./rates.ts";

const BaselineWire = closedObject({ pps: Type.Number(), mbps: Type.Number(), flows_per_sec: Type.Number() });

export const HostWire = closedObject({
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
  direction: Type.Optional(oneOf("incoming", "outgoing")),
});
export type HostWire = Static<typeof HostWire>;

export const HostsWire = closedObject({
  hosts: Type.Array(HostWire),
  /** Only in pages: the number of matching hosts. */
  total: Type.Optional(Count),
  /** Only in pages with a next page: the value of `after` for it. */
  next: Type.Optional(Type.String()),
});
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
