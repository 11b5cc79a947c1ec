/** The parts of the running service. */
import type { Speaker } from "../bgp/speaker/speaker.ts";
import type { Config } from "../config/config.ts";
import type { FilterOpener } from "../dataplane/data-plane.ts";
import type { Native } from "../dataplane/native.d.ts";
import type { ProfileKeeper } from "../detection/attack/profile-loop.ts";
import type { OriginOf } from "../detection/attack/sample-origins.ts";
import type { BaselineKeeper } from "../detection/baseline/learning-loop.ts";
import type { ForeignBans } from "../mitigation/foreign-bans.ts";
import type { Log } from "../observability/log.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { PrefixSets } from "../prefixset/prefix-sets.ts";
import type { StateStore } from "../storage/state-store.ts";
import type { Clock } from "../system/clock.ts";
import type { Environment } from "../system/environment.ts";
import type { Timers } from "../system/timers.ts";
import type { AttackIds } from "./attack-ids.ts";

export interface FloodwallOptions {
  readonly config: Config;
  readonly configPath: string;
  readonly state: StateStore;
  /** null: without a capture the service is a control plane only. */
  readonly native: Native | null;
  /** Looks up where sources are, in the configured files; absent: origins are not known. */
  readonly originOf?: OriginOf | null;
  /** The named sets; absent: there are none. */
  readonly prefixSets?: Pick<PrefixSets, "apply" | "bitOf" | "forKernel">;
  /** Warnings of the configuration that are in the log: a reload logs new ones alone. */
  readonly warned?: readonly string[];
  /** The part of a reload that can fail or takes long; a rejection refuses the reload. Default: opens origin files. */
  readonly openReload?: (next: Config) => Promise<OriginOf | null>;
  /** Default: nothing is dropped on this machine, whatever the configuration says. */
  readonly filterOpener?: FilterOpener | null;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly environment: Environment;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Resolves in a turn of the event loop that has time for requests. Default: at once. */
  readonly goOn?: () => Promise<void>;
  /** Default: those of one brain alone. */
  readonly attackIds?: AttackIds;
  /** Default: there is one brain. */
  readonly foreignBans?: ForeignBans;
  /** Default: the BGP speaker of the configuration. */
  readonly speaker?: Speaker;
  /** Whether rules are found in a thread. Default: in the event loop, at once. */
  readonly hasRuleThread?: boolean;
  /** Default: a file in `state_dir`. */
  readonly baselineKeeper?: BaselineKeeper;
  /** Default: a file in `state_dir`. */
  readonly profileKeeper?: ProfileKeeper;
}
