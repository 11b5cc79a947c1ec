/** The section `baseline`: limits learned from each host's own traffic, under the static thresholds. */
import { type Static, Type } from "@sinclair/typebox";
import { BASE_TRIO, METRICS } from "../../traffic/rates.ts";
import { closed, integer } from "../load/schema-forms.ts";

const FACTOR = { minimum: 1.5, maximum: 100 };
const HALF_LIFE = [10, 604_800] as const;
const WARMUP = [0, 86_400] as const;
const Floor = Type.Number({ exclusiveMinimum: 0 });
const FLOORS = { pps: Floor, mbps: Floor, flows_per_sec: Floor };

export const BaselineSection = Type.Object(
  {
    factor: Type.Number({ ...FACTOR, default: 3 }),
    half_life_seconds: integer(...HALF_LIFE, 3600),
    warmup_seconds: integer(...WARMUP, 600),
    seasonal: Type.Boolean({ default: false }),
    /** Required: without it a host that is all but silent would be attacked by its first visitors. */
    floor: Type.Object(FLOORS, closed),
  },
  closed,
);

/** Partial: what is absent is inherited. */
export const GroupBaseline = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean()),
    factor: Type.Optional(Type.Number(FACTOR)),
    half_life_seconds: Type.Optional(integer(...HALF_LIFE)),
    warmup_seconds: Type.Optional(integer(...WARMUP)),
    seasonal: Type.Optional(Type.Boolean()),
    floor: Type.Optional(Type.Partial(Type.Object(FLOORS, closed))),
  },
  closed,
);

export interface BaselineConfig {
  /** A rate above so many times the normal one is an attack. */
  readonly factor: number;
  /** After so long traffic counts half in what is normal. */
  readonly halfLifeSeconds: number;
  /** Seconds with traffic that must have been seen before the normal rate is believed. */
  readonly warmupSeconds: number;
  /** Whether the normal is kept by hour of the week as well. */
  readonly seasonal: boolean;
  /** The base trio; no limit is below it. */
  readonly floor: readonly number[];
}

const DEFAULTS: BaselineConfig = {
  factor: 3,
  halfLifeSeconds: 3600,
  warmupSeconds: 600,
  seasonal: false,
  floor: [],
};

/** null: off. A floor is whole, its own or inherited: a rule between the keys says so. */
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
