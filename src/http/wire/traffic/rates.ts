/** Rates (docs/interface.md#rates), which `ratesToWire` of the traffic folder converts, and thresholds. */
import { type Static, Type } from "@sinclair/typebox";
import type { RateErrors } from "../../../detection/certainty/sampling.ts";
import { closedObject } from "../../../schema/schema-forms.ts";
import { round, type Thresholds } from "../../../traffic/rates.ts";

const optionalRate = Type.Optional(Type.Number());

export const RatesWire = closedObject({
  pps: Type.Number(),
  mbps: Type.Number(),
  flows_per_sec: Type.Number(),
  tcp_pps: optionalRate,
  tcp_mbps: optionalRate,
  udp_pps: optionalRate,
  udp_mbps: optionalRate,
  icmp_pps: optionalRate,
  icmp_mbps: optionalRate,
  tcp_syn_pps: optionalRate,
  tcp_syn_mbps: optionalRate,
  frag_pps: optionalRate,
  frag_mbps: optionalRate,
});

/**
 * Half the width of the 95 % interval of rates that are estimated from sampled packets, as a fraction of them
 * (docs/interface.md#sampling-error).
 */
export const SamplingErrorWire = closedObject({ pps: Type.Number({ minimum: 0 }), mbps: Type.Number({ minimum: 0 }) });

export function samplingErrorToWire({ pps, mbps }: RateErrors): Static<typeof SamplingErrorWire> {
  return { pps: round(pps), mbps: round(mbps) };
}

/** The base trio of the thresholds of the group `global`, as in status and reload (docs/interface.md#status). */
export const ThresholdsWire = closedObject({ pps: Type.Number(), mbps: Type.Number(), flows_per_sec: Type.Number() });

export function thresholdsToWire([pps = 0, mbps = 0, flows_per_sec = 0]: Thresholds): Static<typeof ThresholdsWire> {
  return { pps, mbps, flows_per_sec };
}
