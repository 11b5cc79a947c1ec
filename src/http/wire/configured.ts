/** The configuration of detection and mitigation in force, for display. */
import { type Static, Type } from "@sinclair/typebox";
import type { Principal } from "../../access/principal.ts";
import type { BaselineConfig } from "../../detection/baseline/baseline-config.ts";
import type { Hostgroup } from "../../detection/hostgroup.ts";
import type { CarpetMitigation, GroupMitigation } from "../../mitigation/mitigation-config.ts";
import { METRICS, type Metric, ratesToWire, type Thresholds } from "../../traffic/rates.ts";
import type { Configured } from "../backend.ts";
import { LadderWire, ladderToWire, Method } from "./ban.ts";
import { closed } from "./closed.ts";
import { GroupSettingsWire } from "./group-settings.ts";
import { omitNulls } from "./omit-nulls.ts";
import { oneOf } from "./one-of.ts";
import { RatesWire } from "./traffic/rates.ts";

const count = Type.Integer({ minimum: 0 });
const Action = Type.Union([Type.Literal("none"), Method]);

const BaselineWire = Type.Object(
  {
    factor: Type.Number(),
    half_life_seconds: count,
    warmup_seconds: count,
    seasonal: Type.Boolean(),
    floor: RatesWire,
  },
  closed,
);

const HostgroupConfigWire = Type.Object(
  {
    name: Type.String(),
    /** Empty for `global`, which has all remaining addresses. */
    networks: Type.Array(Type.String()),
    calculation: oneOf("per_host", "total"),
    tenant: Type.Optional(Type.String()),
    /** Absent without any, and for a token with a tenant, like the next field. */
    contacts: Type.Optional(Type.Array(Type.String())),
    /** Operators' settings by the API; absent: none. */
    settings: Type.Optional(GroupSettingsWire),
    /** The base trio, and other metrics that are on. */
    thresholds: RatesWire,
    /** Metrics that are on. Absent: outgoing traffic is not judged. */
    thresholds_outgoing: Type.Optional(Type.Partial(RatesWire)),
    baseline: Type.Optional(BaselineWire),
    /** Whether its hosts are banned at all. */
    ban: Type.Boolean(),
    mitigation: Method,
    /** Absent if there is none: then only the method is used. */
    escalation: Type.Optional(LadderWire),
    ttl_seconds: count,
    unban_hysteresis_seconds: count,
    cooldown_seconds: count,
    fallback: Action,
  },
  closed,
);
export type HostgroupConfigWire = Static<typeof HostgroupConfigWire>;

const CarpetWire = Type.Object(
  { prefix_v4: count, prefix_v6: count, min_hosts: count, thresholds: RatesWire, mitigation: Action },
  closed,
);

/** Settings of the whole service. */
const SERVICE_FIELDS = {
  protected_whitelist: Type.Array(Type.String()),
  detection: Type.Object(
    { window_ms: count, tick_ms: count, sustain_ms: count, sampling_confidence: Type.Number() },
    closed,
  ),
  /** Absent: off. */
  carpet: Type.Optional(CarpetWire),
  max_active_bans: count,
  /** 0: no limit. */
  max_banned_fraction: Type.Number(),
  samples: Type.Boolean(),
  storage: Type.Object(
    { driver: oneOf("none", "sqlite", "clickhouse"), retention_days: count, traffic_interval_seconds: count },
    closed,
  ),
  update_check: Type.Boolean(),
  /** Keys that changed in the file and keep their running values until a restart. */
  needs_restart: Type.Array(Type.String()),
};

export const ConfiguredWire = Type.Object(
  {
    hostgroups: Type.Array(HostgroupConfigWire),
    /** Absent for a token with a tenant. */
    service: Type.Optional(Type.Object(SERVICE_FIELDS, closed)),
  },
  closed,
);
export type ConfiguredWire = Static<typeof ConfiguredWire>;
export type ServiceConfigWire = NonNullable<ConfiguredWire["service"]>;

/** One hostgroup, as far as the caller may see it: a tenant gets its own, never the implicit one (docs/interface.md#tenant-reads). */
export function configuredGroupToWire(
  index: number,
  configured: Configured,
  principal: Pick<Principal, "tenant">,
): HostgroupConfigWire | null {
  const { hostgroups, mitigations } = configured;
  const [group, mitigation] = [hostgroups[index], mitigations[index]];
  if (group === undefined || mitigation === undefined) return null;
  const isOperators = principal.tenant === null;
  if (!isOperators && (index === 0 || group.tenant !== principal.tenant)) return null;
  const wire = hostgroupToWire(group, mitigation);
  return isOperators ? { ...wire, ...forOperators(group, configured) } : wire;
}

function hostgroupToWire(
  group: Hostgroup,
  { method, ladder, hasEscalation, ban }: GroupMitigation,
): HostgroupConfigWire {
  return omitNulls({
    name: group.name,
    networks: group.networks.map(({ text }) => text),
    calculation: group.calculation,
    tenant: group.tenant,
    thresholds: ratesToWire(group.thresholds),
    thresholds_outgoing: group.thresholdsOutgoing === null ? null : thresholdsOn(group.thresholdsOutgoing),
    baseline: group.baseline === null ? null : baselineToWire(group.baseline),
    ban: group.calculation === "per_host",
    mitigation: method,
    escalation: hasEscalation ? ladderToWire(ladder) : null,
    ttl_seconds: ban.ttlSeconds,
    unban_hysteresis_seconds: ban.unbanHysteresisSeconds,
    cooldown_seconds: ban.cooldownSeconds,
    fallback: ban.fallback,
  });
}

function forOperators({ name, contacts }: Hostgroup, { groupSettings = {} }: Configured) {
  const settings = groupSettings[name];
  return {
    ...(contacts !== undefined && { contacts: [...contacts] }),
    ...(settings !== undefined && { settings }),
  };
}

function thresholdsOn(thresholds: Thresholds): Partial<Static<typeof RatesWire>> {
  const on: Partial<Record<Metric, number>> = {};
  for (const [i, metric] of METRICS.entries()) if ((thresholds[i] ?? 0) !== 0) on[metric] = thresholds[i] ?? 0;
  return on;
}

function baselineToWire({ factor, halfLifeSeconds, warmupSeconds, seasonal, floor }: BaselineConfig) {
  return {
    factor,
    half_life_seconds: halfLifeSeconds,
    warmup_seconds: warmupSeconds,
    seasonal,
    floor: ratesToWire(floor),
  };
}

export function serviceToWire(configured: Configured): ServiceConfigWire {
  const { protectedWhitelist, detection, carpet, ban, samples, storage, updateCheck, needsRestart } = configured;
  return omitNulls({
    protected_whitelist: protectedWhitelist.map(({ text }) => text),
    detection: {
      window_ms: detection.windowMs,
      tick_ms: detection.tickMs,
      sustain_ms: detection.sustainMs,
      sampling_confidence: detection.confidence,
    },
    carpet: carpet === null ? null : carpetToWire(carpet),
    max_active_bans: ban.maxActiveBans,
    max_banned_fraction: ban.maxBannedFraction,
    samples: samples.enabled,
    storage: {
      driver: storage.driver === null ? ("none" as const) : storage.driver.kind,
      retention_days: storage.retentionDays,
      traffic_interval_seconds: storage.trafficIntervalSeconds,
    },
    update_check: updateCheck.url !== null,
    needs_restart: [...needsRestart],
  });
}

function carpetToWire({ prefixV4, prefixV6, minHosts, thresholds, mitigation }: CarpetMitigation) {
  return {
    prefix_v4: prefixV4,
    prefix_v6: prefixV6,
    min_hosts: minHosts,
    thresholds: ratesToWire(thresholds),
    mitigation,
  };
}
