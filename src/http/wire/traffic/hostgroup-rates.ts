/** The current rates of whole hostgroups, which together are all counted traffic, and their thresholds. */
import { type Static, Type } from "@sinclair/typebox";
import { closedObject } from "../../../schema/schema-forms.ts";
import { ratesToWire } from "../../../traffic/rates.ts";
import type { GroupRatesView } from "../../backend.ts";
import { omitNulls } from "../omit-nulls.ts";
import { RatesWire } from "./rates.ts";

export const HostgroupRatesWire = closedObject({
  name: Type.String(),
  rates: RatesWire,
  rates_out: RatesWire,
  /** The base trio, and other metrics that are on. */
  thresholds: RatesWire,
  /** Zeros are off. Absent: outgoing traffic is not judged. */
  thresholds_out: Type.Optional(RatesWire),
});
export type HostgroupRatesWire = Static<typeof HostgroupRatesWire>;

/** `available` is false if nothing is captured. */
export const HostgroupsRatesWire = closedObject({
  available: Type.Boolean(),
  hostgroups: Type.Array(HostgroupRatesWire),
});
export type HostgroupsRatesWire = Static<typeof HostgroupsRatesWire>;

export function hostgroupRatesToWire(group: GroupRatesView): HostgroupRatesWire {
  const { name, rates, ratesOut, thresholds, thresholdsOutgoing } = group;
  return omitNulls({
    name,
    rates: ratesToWire(rates),
    rates_out: ratesToWire(ratesOut),
    thresholds: ratesToWire(thresholds),
    thresholds_out: thresholdsOutgoing === null ? null : ratesToWire(thresholdsOutgoing),
  });
}
