/** The configuration of detection and mitigation in force, for display. */
import { type Static, Type } from "@sinclair/typebox";
import type { Principal } from "../../access/principal.ts";
import type { BaselineConfig } from "../../detection/baseline/baseline-config.ts";
import type { Hostgroup } from "../../detection/hostgroup.ts";
import type { CarpetMitigation, GroupMitigation } from "../../mitigation/mitigation-config.ts";
import { Count, closedObject, oneOf } from "../../schema/schema-forms.ts";
import { METRICS, type Metric, ratesToWire, type Thresholds } from "../../traffic/rates.ts";
import type { Configured } from "../backend.ts";
import { LadderWire, ladderToWire, Method } from "./ban.ts";
import { GroupSettingsWire } from "./group-settings.ts";
import { omitNulls } from "./omit-nulls.ts";
import { RatesWire } from "./traffic/rates.ts";

const Action = Type.Union([Type.Literal("none"), Method]);

const BaselineWire = closedObject({
  factor: Type.Number(),
  half_life_seconds: Count,
  warmup_seconds: Count,
  seasonal: Type.Boolean(),
  floor: RatesWire,
});

const HostgroupConfigWire = closedObject({
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
  ttl_seconds: Count,
  unban_hysteresis_seconds: Count,
  cooldown_seconds: Count,
  fallback: Action,
});
export type HostgroupConfigWire = Static<typeof HostgroupConfigWire>;

const CarpetWire = closedObject({
  prefix_v4: Count,
  prefix_v6: Count,
  min_hosts: Count,
  thresholds: RatesWire,
  mitigation: Action,
});

/** Settings of the whole service. */
const SERVICE_FIELDS = {
  protected_whitelist: Type.Array(Type.String()),
  detection: closedObject({ window_ms: Count, tick_ms: Count, sustain_ms: Count, sampling_confidence: Type.Number() }),
  /** Absent: off. */
  carpet: Type.Optional(CarpetWire),
  max_active_bans: Count,
  /** 0: no limit. */
  max_banned_fraction: Type.Number(),
  samples: Type.Boolean(),
  storage: closedObject({
    driver: oneOf("none", "sqlite", "clickhouse"),
    retention_days: Count,
    traffic_interval_seconds: Count,
  }),
  update_check: Type.Boolean(),
  /** Keys that changed in the file and keep their running values until a restart. */
  needs_restart: Type.Array(Type.String()),
};

export const ConfiguredWire = closedObject({
  hostgroups: Type.Array(HostgroupConfigWire),
  /** Absent for a token with a tenant. */
  service: Type.Optional(closedObject(SERVICE_FIELDS)),
});
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
