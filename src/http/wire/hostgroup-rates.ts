/** The rates of now of whole hostgroups, which together are all counted traffic, and their thresholds. */
import { type Static, Type } from "@sinclair/typebox";
import { ratesToWire } from "../../traffic/rates.ts";
import type { GroupRatesView } from "../backend.ts";
import { omitNulls } from "./omit-nulls.ts";
import { RatesWire } from "./rates.ts";

export const HostgroupRatesWire = Type.Object(
  {
    name: Type.String(),
    rates: RatesWire,
    rates_out: RatesWire,
    /** The base trio, and those of the others that are on. */
    thresholds: RatesWire,
    /** Zeros are off. Absent: what its hosts send is not judged. */
    thresholds_out: Type.Optional(RatesWire),
  },
  { additionalProperties: false },
);
export type HostgroupRatesWire = Static<typeof HostgroupRatesWire>;

/** `available` is false where nothing is captured. */
export const HostgroupsRatesWire = Type.Object(
  { available: Type.Boolean(), hostgroups: Type.Array(HostgroupRatesWire) },
  { additionalProperties: false },
);
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
