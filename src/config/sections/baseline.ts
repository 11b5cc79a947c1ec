/** The section `baseline`: limits learned from each host's own traffic, below the static thresholds. */
import { type Static, Type } from "@sinclair/typebox";
import type { BaselineConfig } from "../../detection/baseline/baseline-config.ts";
import { closedObject, described, integer } from "../../schema/schema-forms.ts";
import { BASE_TRIO, METRICS } from "../../traffic/rates.ts";

const FACTOR = { minimum: 1.5, maximum: 100 };
const HALF_LIFE = [10, 604_800] as const;
const WARMUP = [0, 86_400] as const;
const Floor = Type.Number({ exclusiveMinimum: 0 });
const FLOORS = {
  pps: described(Floor, "No learned limit for packets is below this."),
  mbps: described(Floor, "No learned limit for bits is below this."),
  flows_per_sec: described(Floor, "No learned limit for new flows is below this."),
};

const MEANINGS = {
  factor: "A rate above this many times the normal one is an attack.",
  half_life_seconds: "After this time, traffic counts half as much in the normal rate.",
  warmup_seconds: "How many seconds with traffic a host must have been seen before its normal rate is used.",
  seasonal:
    "Whether a normal rate is also kept for each hour of the week (UTC) and used from the second week on. It takes 536 bytes more for each host and direction.",
  floor: "The least that a learned limit can be, so that a host with little traffic is not under attack at once.",
} as const;

export const BaselineSection = described(
  closedObject({
    factor: described(Type.Number({ ...FACTOR, default: 3 }), MEANINGS.factor),
    half_life_seconds: described(integer(...HALF_LIFE, 3600), MEANINGS.half_life_seconds),
    warmup_seconds: described(integer(...WARMUP, 600), MEANINGS.warmup_seconds),
    seasonal: described(Type.Boolean({ default: false }), MEANINGS.seasonal),
    /** Required: without it a host with almost no traffic would be under attack from its first visitors. */
    floor: described(closedObject(FLOORS), MEANINGS.floor),
  }),
  "Learns the normal rates of each host, and judges by `min(threshold, max(floor, factor × normal))`. Without this section the thresholds alone are used.",
  { examples: [{ factor: 4, floor: { pps: 10_000, mbps: 100, flows_per_sec: 5000 } }] },
);

/** Partial: absent keys are inherited. */
export const GroupBaseline = closedObject({
  enabled: described(Type.Optional(Type.Boolean()), "`false` switches off learned limits that are inherited.", {
    valueIfAbsent: true,
  }),
  factor: described(Type.Optional(Type.Number(FACTOR)), MEANINGS.factor),
  half_life_seconds: described(Type.Optional(integer(...HALF_LIFE)), MEANINGS.half_life_seconds),
  warmup_seconds: described(Type.Optional(integer(...WARMUP)), MEANINGS.warmup_seconds),
  seasonal: described(Type.Optional(Type.Boolean()), MEANINGS.seasonal),
  floor: described(Type.Optional(Type.Partial(closedObject(FLOORS))), MEANINGS.floor, {
    ifAbsent: "inherited",
  }),
});

const DEFAULTS: BaselineConfig = {
  factor: 3,
  halfLifeSeconds: 3600,
  warmupSeconds: 600,
  seasonal: false,
  floor: [],
};

/** null: off. A rule between the keys ensures a complete floor, own or inherited. */
export function buildBaseline(
  file: Static<typeof GroupBaseline> | undefined,
  inherited: BaselineConfig | null,
): BaselineConfig | null {
  if (file?.enabled === false) return null;
  if (file === undefined) return inherited;
  const base = inherited ?? DEFAULTS;
  return {
    factor: file.factor ?? base.factor,
    halfLifeSeconds: file.half_life_seconds ?? base.halfLifeSeconds,
    warmupSeconds: file.warmup_seconds ?? base.warmupSeconds,
    seasonal: file.seasonal ?? base.seasonal,
    floor: METRICS.slice(0, BASE_TRIO).map(
      (metric, i) => file.floor?.[metric as keyof typeof FLOORS] ?? base.floor[i] ?? 0,
    ),
  };
}
