/** Beyond the interface: the rates of now of whole hostgroups, which together are all counted traffic. */
import { type Static, Type } from "@sinclair/typebox";
import { ratesToWire } from "../../traffic/rates.ts";
import type { GroupRatesView } from "../service.ts";
import { RatesWire } from "./rates.ts";

export const HostgroupRatesWire = Type.Object(
  { name: Type.String(), rates: RatesWire, rates_out: RatesWire },
  { additionalProperties: false },
);
export type HostgroupRatesWire = Static<typeof HostgroupRatesWire>;

/** `available` is false where nothing is captured. */
export const HostgroupsRatesWire = Type.Object(
  { available: Type.Boolean(), hostgroups: Type.Array(HostgroupRatesWire) },
  { additionalProperties: false },
);
export type HostgroupsRatesWire = Static<typeof HostgroupsRatesWire>;

export function hostgroupRatesToWire({ name, rates, ratesOut }: GroupRatesView): HostgroupRatesWire {
  return { name, rates: ratesToWire(rates), rates_out: ratesToWire(ratesOut) };
}
