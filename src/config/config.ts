/** The validated configuration: frozen, replaced as a whole by a reload. What the keys mean: docs/configuration.md. */
import type { BgpConfig } from "../bgp/bgp-config.ts";
import type { ClusterConfig } from "../cluster/cluster-config.ts";
import type { CaptureConfig } from "../dataplane/capture-config.ts";
import type { DataplaneConfig } from "../dataplane/dataplane-config.ts";
import type { SamplesConfig } from "../detection/attack/samples-config.ts";
import type { Hostgroup } from "../detection/hostgroup.ts";
import type { DetectionConfig } from "../detection/judge/detection-config.ts";
import type { HookConfig } from "../divert/divert-config.ts";
import type { EdgeConfig } from "../edge/edge-config.ts";
import type { OriginFiles } from "../geo/origin-config.ts";
import type { ApiConfig } from "../http/api-config.ts";
import type { Window } from "../mitigation/maintenance/window.ts";
import type { BanBounds, CarpetMitigation, GroupMitigation } from "../mitigation/mitigation-config.ts";
import type { OperatorRule } from "../mitigation/operator/operator-rule.ts";
import type { OrderTemplate } from "../mitigation/order/order-template.ts";
import type { ScrubProfile } from "../mitigation/scrub/scrub-config.ts";
import type { Prefix } from "../net/prefix.ts";
import type { PrefixTable } from "../net/prefix-table.ts";
import type { NotifyConfig } from "../notify/notify-config.ts";
import type { PrefixSetConfig } from "../prefixset/prefix-set-config.ts";
import type { UpdateCheckConfig } from "../release/update-check-config.ts";
import type { ScrubbingConfig } from "../scrub/scrubbing-config.ts";
import type { StorageConfig } from "../storage/storage-config.ts";
import type { TelemetryConfig } from "../telemetry/telemetry-config.ts";
import type { NetworkLookup } from "../traffic/network-lookup.ts";
import type { OwnInfrastructure } from "../traffic/own-infrastructure.ts";

export interface Config {
  readonly dryRun: boolean;
  readonly networks: readonly Prefix[];
  readonly protectedWhitelist: readonly Prefix[];
  /** null: control plane only. With `telemetry` it is there in any case. */
  readonly capture: CaptureConfig | null;
  /** null: no flow records are received. */
  readonly telemetry: TelemetryConfig | null;
  readonly detection: DetectionConfig;
  /** Index 0 is the implicit group `global` with the top-level thresholds and no networks of its own. */
  readonly hostgroups: readonly Hostgroup[];
  /** null: off. */
  readonly carpet: CarpetMitigation | null;
  /** The mitigation of each hostgroup, in the same order. */
  readonly mitigations: readonly GroupMitigation[];
  /** All that may be chosen, built-in ones first. */
  readonly scrubProfiles: readonly ScrubProfile[];
  /** Derived from `networks` and `hostgroups`. */
  readonly lookup: NetworkLookup;
  /** Derived from `protectedWhitelist`: row i is its entry i. */
  readonly whitelist: PrefixTable;
  /** Derived from all keys that name addresses which the service itself needs. */
  readonly own: OwnInfrastructure;
  readonly ban: BanBounds;
  readonly stateDir: string;
  /** null: no announcer. */
  readonly bgp: BgpConfig | null;
  /** null: nothing is dropped on this machine. */
  readonly dataplane: DataplaneConfig | null;
  readonly orderTemplates: readonly OrderTemplate[];
  readonly maintenance: readonly Window[];
  /** In the order in which they are tried. */
  readonly filterRules: readonly OperatorRule[];
  readonly prefixSets: readonly PrefixSetConfig[];
  readonly samples: SamplesConfig & OriginFiles;
  readonly storage: StorageConfig;
  /** null: no scrub nodes. */
  readonly scrubbing: ScrubbingConfig | null;
  /** The hook that diverts prefixes to a scrubbing center; null: routes alone do. */
  readonly diversionHook: HookConfig | null;
  /** null: no edge nodes. */
  readonly edge: EdgeConfig | null;
  readonly notify: NotifyConfig;
  readonly updateCheck: UpdateCheckConfig;
  readonly api: ApiConfig;
  /** null: this brain is alone. */
  readonly cluster: ClusterConfig | null;
}
