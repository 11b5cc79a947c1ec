/** Thresholds that are raised for a time, such as by a maintenance window: for new attacks. */
import { addressFromBytes, type IpAddress } from "../../net/address.ts";
import { hostPrefix, type Prefix } from "../../net/prefix.ts";
import type { Rates } from "../../traffic/rates.ts";
import type { Learner } from "../baseline/baselines.ts";

/** By what the thresholds of a host, or of a hostgroup as a whole, are multiplied. */
type ThresholdFactor = (of: { readonly prefix: Prefix | null; readonly group: string }) => number;

export class RaisedThresholds {
  /** null: none are raised. */
  factorOf: ThresholdFactor | null = null;

  /** @param limits null: none. */
  of(subject: Learner, limits: Rates | null): Rates | null {
    if (this.factorOf === null || limits === null) return limits;
    const host = targetOf(subject);
    const factor = this.factorOf({ prefix: host === null ? null : hostPrefix(host), group: subject.group.name });
    return factor === 1 ? limits : Array.from(limits, (limit) => limit * factor);
  }
}

/** null: a hostgroup as a whole. */
export function targetOf({ keys, at, group }: Learner): IpAddress | null {
  return group.calculation === "total" ? null : addressFromBytes(keys, at);
}
