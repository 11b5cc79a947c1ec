/** A hostgroup: whose addresses it has, and above which rates they are under attack. */
import type { Prefix } from "../net/prefix.ts";
import type { Thresholds } from "../traffic/rates.ts";
import type { BaselineConfig } from "./baseline/baseline-config.ts";

export interface Hostgroup {
  readonly name: string;
  readonly networks: readonly Prefix[];
  /** `total`: the sums of its hosts are judged instead of the hosts. */
  readonly calculation: "per_host" | "total";
  readonly thresholds: Thresholds;
  /** null: outgoing traffic is not judged. */
  readonly thresholdsOutgoing: Thresholds | null;
  /** null: off, its thresholds are static. */
  readonly baseline: BaselineConfig | null;
  /** Owner of the group's addresses; null: none. */
  readonly tenant: string | null;
  /** Whom to call, for people. Absent: none. */
  readonly contacts?: readonly string[];
}
