/** The attack (docs/interface.md#attack). */
import { type Static, Type } from "@sinclair/typebox";
import { type Attack, attackRate, isActive } from "../../detection/attack/attack.ts";
import type { Reason } from "../../detection/attack/reason.ts";
import { type Ban, doingText } from "../../mitigation/ban.ts";
import { separabilityOf } from "../../mitigation/measure.ts";
import { Count, closedObject, oneOf } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { ratesToWire, round } from "../../traffic/rates.ts";
import type { AttackView } from "../backend.ts";
import { VolumeWire, volumeToWire } from "./attack-volume.ts";
import { BanState, Method } from "./ban.ts";
import { omitNulls } from "./omit-nulls.ts";
import { FlowspecWire, flowspecToWire } from "./rule.ts";
import { SeparabilityWire, separabilityToWire } from "./separability.ts";
import { ClassificationWire, classificationToWire } from "./traffic/classification.ts";
import { RatesWire, SamplingErrorWire, samplingErrorToWire } from "./traffic/rates.ts";
import { SampleWire, sampleToWire } from "./traffic/sample.ts";

const ReasonWire = closedObject({
  threshold_source: oneOf("static", "baseline"),
  baseline: Type.Optional(
    closedObject({ normal: Type.Number(), factor: Type.Number(), floor: Type.Number(), ceiling: Type.Number() }),
  ),
  /** The traffic that the baseline is of, with `baseline.seasonal`; absent: recent traffic. */
  normal_of: Type.Optional(Type.Literal("hour_of_week")),
  /** Absent if false, like the next field. */
  baseline_configured: Type.Optional(Type.Literal(true)),
  warming_up: Type.Optional(Type.Literal(true)),
  warmup_remaining_seconds: Type.Optional(Type.Number({ minimum: 0 })),
  shares: Type.Record(Type.String(), Type.Number({ minimum: 0, maximum: 1 })),
  dominant_share_gate: Type.Number(),
});

export const AttackWire = closedObject({
  /** Stable over a restart. */
  id: Type.String(),
  /** The incident that it belongs to; absent where it is in none. */
  incident: Type.Optional(Type.String()),
  scope: oneOf("host", "group"),
  /** Absent if a hostgroup as a whole is attacked. */
  target: Type.Optional(Type.String()),
  group: Type.String(),
  /** The attacked part of the hostgroup, and the number of attacked hosts. */
  prefix: Type.Optional(Type.String()),
  hosts: Type.Optional(Count),
  /** Absent if no tenant owns the target. */
  tenant: Type.Optional(Type.String()),
  direction: oneOf("incoming", "outgoing"),
  metric: Type.String(),
  rate: Type.Number(),
  threshold: Type.Number(),
  rates: RatesWire,
  /** Absent where the rates are exact. */
  sampling_error: Type.Optional(SamplingErrorWire),
  /** Absent until a tick was counted, and in records of builds that did not count. */
  volume: Type.Optional(VolumeWire),
  active: Type.Boolean(),
  /**
   * Above the baseline for three hours, and always within the thresholds: perhaps legitimate growth. Absent if false.
   */
  lasting_rise: Type.Optional(Type.Literal(true)),
  /** Whether its rules are known to match no users. Absent without rules, and until they have been looked for. */
  separable: Type.Optional(Type.Boolean()),
  separability: Type.Optional(SeparabilityWire),
  ban_state: Type.Optional(BanState),
  method: Type.Optional(Method),
  route: Type.Optional(Type.String()),
  flowspec: Type.Optional(FlowspecWire),
  dry_run: Type.Boolean(),
  started_at: Timestamp,
  ended_at: Type.Optional(Timestamp),
  /** How long its rates have been within the thresholds, and after how long it ends. Absent while one is above. */
  calm_seconds: Type.Optional(Type.Number({ minimum: 0 })),
  calm_of_seconds: Type.Optional(Type.Number({ minimum: 0 })),
  /** The same, also while a rate is above. Absent after the end. */
  ends_after_seconds: Type.Optional(Type.Number({ minimum: 0 })),
  sample: Type.Optional(SampleWire),
  classification: Type.Optional(ClassificationWire),
  reason: ReasonWire,
});
export type AttackWire = Static<typeof AttackWire>;

export const AttacksWire = closedObject({
  active: Type.Array(AttackWire),
  recent: Type.Array(AttackWire),
  /** Only in pages: the number of matching attacks. */
  total: Type.Optional(Count),
  /** Only in pages with a next page: the value of `after` for it. */
  next: Type.Optional(Type.String()),
});
export type AttacksWire = Static<typeof AttacksWire>;

export const EndedAttacksWire = closedObject({
  available: Type.Boolean(),
  attacks: Type.Array(AttackWire),
  /** Parameters of the next page; absent: there are no older ones in the range. */
  next: Type.Optional(closedObject({ to: Timestamp, to_id: Type.String() })),
});
export type EndedAttacksWire = Static<typeof EndedAttacksWire>;

/** A tenant does not see the exporters of flow telemetry. @param tenant of the caller; null: none. */
export function attackOfTenant(view: AttackView, tenant: string | null): AttackView {
  const { attack } = view;
  if (tenant === null || attack.sample?.topInterfaces === undefined) return view;
  const { topInterfaces: _, ...sample } = attack.sample;
  return { ...view, attack: { ...attack, sample } };
}

/** @param tenant owner of the attacked address; null: none. */
export function attackToWire(
  { attack, ban, calm = null, endsAfterSeconds = null }: AttackView,
  tenant: string | null = null,
): AttackWire {
  return omitNulls({
    id: attack.id,
    incident: attack.incident ?? null,
    scope: attack.scope,
    target: attack.target,
    group: attack.group,
    prefix: attack.carpet?.prefix ?? null,
    hosts: attack.carpet?.hosts ?? null,
    tenant,
    direction: attack.direction,
    metric: attack.metric,
    rate: round(attackRate(attack)),
    threshold: attack.threshold,
    rates: ratesToWire(attack.rates),
    sampling_error: attack.samplingError === null ? null : samplingErrorToWire(attack.samplingError),
    volume: attack.volume === null ? null : volumeToWire(attack.volume),
    active: isActive(attack),
    lasting_rise: attack.lastingRise ? (true as const) : null,
    ...separabilityToWire(ban === null ? null : separabilityOf(ban.measure)),
    ...(ban === null ? storedMitigation(attack) : mitigationOf(ban)),
    flowspec: ban === null ? null : flowspecToWire(ban.measure),
    started_at: timestamp(attack.startedAt),
    ended_at: attack.endedAt === null ? null : timestamp(attack.endedAt),
    calm_seconds: calm === null ? null : Math.floor(calm.seconds * 10) / 10,
    calm_of_seconds: calm?.ofSeconds ?? null,
    ends_after_seconds: endsAfterSeconds,
    sample: attack.sample === null ? null : sampleToWire(attack.sample),
    classification: attack.classification ? classificationToWire(attack.classification) : null,
    reason: reasonToWire(attack.reason),
  });
}

type MitigationWire = Pick<AttackWire, "dry_run"> & {
  readonly [key in "ban_state" | "method" | "route"]: Required<AttackWire>[key] | null;
};

function mitigationOf(ban: Ban): MitigationWire {
  return { ban_state: ban.state, method: ban.method, route: doingText(ban), dry_run: ban.dryRun };
}

/** The ban has been forgotten, or there was none. */
function storedMitigation({ mitigation }: Attack): MitigationWire {
  if (mitigation === undefined) return { ban_state: null, method: null, route: null, dry_run: false };
  const { isRejected, method, route, dryRun } = mitigation;
  return {
    ban_state: isRejected ? "rejected" : "withdrawn",
    method: method as Required<AttackWire>["method"],
    route,
    dry_run: dryRun,
  };
}

function reasonToWire(reason: Reason): Static<typeof ReasonWire> {
  const { baseline, warmupRemainingSeconds } = reason;
  return omitNulls({
    threshold_source: reason.thresholdSource,
    baseline: baseline === null ? null : { ...baseline, normal: round(baseline.normal) },
    normal_of: reason.normalOf === "recent" ? null : reason.normalOf,
    baseline_configured: reason.baselineConfigured ? (true as const) : null,
    warming_up: warmupRemainingSeconds === null ? null : (true as const),
    warmup_remaining_seconds: warmupRemainingSeconds === null ? null : Math.ceil(warmupRemainingSeconds),
    shares: reason.shares,
    dominant_share_gate: reason.dominantShareGate,
  });
}
