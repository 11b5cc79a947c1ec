/**
 * Candidate thresholds and baselines, derived from the rates of a capture, in the form of the configuration file. Pure;
 * their false alarms are measured elsewhere.
 */
import type { Config } from "../config/config.ts";
import type { Sections } from "../config/load/section-overrides.ts";
import type { Hostgroup } from "../detection/hostgroup.ts";
import { BASE_TRIO, type Direction, METRICS, type Metric, type Thresholds } from "../traffic/rates.ts";
import type { SeenRates } from "./rates.ts";

export interface Choice {
  readonly name: string;
  /** null: only thresholds. */
  readonly factor: number | null;
  /** Replaces these sections of the file; undefined removes a section. */
  readonly sections: Sections;
}

interface Rule {
  readonly name: string;
  /** null: the peak. */
  readonly quantile: number | null;
  readonly headroom: number;
}

/** Usually strictest first. */
const RULES: readonly Rule[] = [
  { name: "p99 x 2", quantile: 0.99, headroom: 2 },
  { name: "p99.9 x 2", quantile: 0.999, headroom: 2 },
  { name: "p99.9 x 5", quantile: 0.999, headroom: 5 },
  { name: "peak x 1.5", quantile: null, headroom: 1.5 },
  { name: "peak x 2", quantile: null, headroom: 2 },
  { name: "peak x 4", quantile: null, headroom: 4 },
];
/** The suggested thresholds, which are also used when baselines are tried. */
export const SUGGESTED_RULE: Rule = { name: "peak x 2", quantile: null, headroom: 2 };
export const FACTORS = [2, 3, 5] as const;
const FLOOR_QUANTILE = 0.99;
/**
 * Lower bounds: in a quiet capture the first visitors of a host would otherwise be an attack. Packets, megabits, flows.
 */
const LEAST = [100, 1, 50] as const;
/** A part of the traffic gets its own threshold if that is at most this share of the threshold of the whole. */
const PART_MAX = 0.5;

interface Ground {
  readonly file: Sections;
  readonly config: Config;
  readonly seen: readonly SeenRates[];
}

export function choicesOf(ground: Ground): Choice[] {
  const thresholds = RULES.map((rule): Choice => {
    return { name: rule.name, factor: null, sections: sectionsOf(ground, rule, null) };
  });
  const baselines = FACTORS.map((factor): Choice => {
    const name = `${SUGGESTED_RULE.name}, baseline x ${factor}`;
    return { name, factor, sections: sectionsOf(ground, SUGGESTED_RULE, factor) };
  });
  return [...thresholds, ...baselines];
}

function sectionsOf(ground: Ground, rule: Rule, factor: number | null): Sections {
  const { file, config } = ground;
  const [global, ...groups] = config.hostgroups;
  const own = (section: "thresholds" | "thresholds_outgoing") => (file[section] ?? {}) as ThresholdsFile;
  const incoming = thresholdsFor(ground, rule, { index: 0, direction: "incoming" }) ?? own("thresholds");
  const outgoing = thresholdsFor(ground, rule, { index: 0, direction: "outgoing" }) ?? own("thresholds_outgoing");
  const files = (file["hostgroups"] ?? []) as readonly Sections[];
  return {
    thresholds: incoming,
    ...(global?.thresholdsOutgoing ? { thresholds_outgoing: outgoing } : {}),
    baseline: factor === null ? undefined : baselineOf(ground, factor),
    ...(groups.length === 0
      ? {}
      : {
          hostgroups: files.map((group, i) => ({
            ...group,
            ...groupThresholds(ground, rule, { index: i + 1, incoming, outgoing }),
            baseline: factor === null ? undefined : groupBaseline(ground, i + 1, group),
          })),
        }),
  };
}

type ThresholdsFile = Partial<Record<Metric, number>>;

function groupThresholds(
  ground: Ground,
  rule: Rule,
  { index, incoming, outgoing }: { index: number; incoming: ThresholdsFile; outgoing: ThresholdsFile },
): Sections {
  const thresholds = thresholdsFor(ground, rule, { index, direction: "incoming", inherited: incoming });
  const sent = thresholdsFor(ground, rule, { index, direction: "outgoing", inherited: outgoing });
  return {
    ...(thresholds === null ? {} : { thresholds }),
    ...(sent === null ? {} : { thresholds_outgoing: sent }),
  };
}

/** null: no such traffic was seen, or it is not judged. */
function thresholdsFor(
  { config, seen }: Ground,
  rule: Rule,
  { index, direction, inherited = {} }: { index: number; direction: Direction; inherited?: ThresholdsFile },
): ThresholdsFile | null {
  const rates = seen.find((each) => each.group === index && each.direction === direction);
  const configured = configuredOf(config.hostgroups[index], direction);
  if (rates === undefined || configured === null) return null;
  const proposed = METRICS.map((_, metric) => proposedFor(rates, metric, rule));
  const thresholds: ThresholdsFile = {};
  for (const [i, metric] of METRICS.entries()) {
    const value = proposed[i] ?? null;
    const own = configured[i] ?? 0;
    const isInherited = (inherited[metric] ?? 0) > 0;
    const isWanted = i < BASE_TRIO || own > 0 || isInherited;
    const whole = proposed[unitOf(i)] ?? Number.POSITIVE_INFINITY;
    if (value !== null && (isWanted || value <= PART_MAX * whole)) thresholds[metric] = value;
    // Without traffic nothing is known: the threshold stays, unless that of the whole would always trigger first.
    else if (value === null && own > 0 && (own < whole || isInherited)) thresholds[metric] = own;
  }
  return thresholds;
}

function configuredOf(group: Hostgroup | undefined, direction: Direction): Thresholds | null {
  return (direction === "incoming" ? group?.thresholds : group?.thresholdsOutgoing) ?? null;
}

/** null: the metric was not seen. */
function proposedFor({ metrics }: SeenRates, metric: number, { quantile, headroom }: Rule): number | null {
  const seen = metrics[metric];
  if (seen === undefined || seen.peak === 0) return null;
  const base = quantile === null ? seen.peak : seen.quantile(quantile);
  return roundedUp(Math.max(LEAST[unitOf(metric)] as number, base * headroom));
}

function baselineOf(ground: Ground, factor: number): Sections {
  const { halfLifeSeconds, warmupSeconds } = ground.config.hostgroups[0]?.baseline ?? {
    halfLifeSeconds: 3600,
    warmupSeconds: 600,
  };
  return { factor, half_life_seconds: halfLifeSeconds, warmup_seconds: warmupSeconds, floor: floorOf(ground, 0) };
}

/** The group's own settings stay, except for those that are tried. */
function groupBaseline(ground: Ground, index: number, group: Sections): Sections | undefined {
  const own = group["baseline"] as Sections | undefined;
  if (own?.["enabled"] === false) return own;
  const { factor: _, ...rest } = own ?? {};
  if (ground.seen.some(({ group: seen }) => seen === index)) return { ...rest, floor: floorOf(ground, index) };
  return Object.keys(rest).length === 0 ? undefined : rest;
}

/** A rate that nearly all hosts stay under nearly always, used as the lowest learned limit, for both directions. */
function floorOf({ seen, config }: Ground, index: number): Sections {
  const judged = seen.filter(
    ({ group, direction }) => group === index && configuredOf(config.hostgroups[group], direction) !== null,
  );
  const floors = LEAST.map((least, metric) => {
    const quantiles = judged.map(({ metrics }) => metrics[metric]?.quantile(FLOOR_QUANTILE) ?? 0);
    return roundedUp(Math.max(least / 2, ...quantiles));
  });
  return Object.fromEntries(floors.map((floor, metric) => [METRICS[metric] as Metric, floor]));
}

/** Index in METRICS of the base metric that it is a part of; base metrics return their own index. */
function unitOf(metric: number): number {
  if (metric < BASE_TRIO) return metric;
  return METRICS[metric]?.endsWith("_pps") ? 0 : 1;
}

/** To two significant digits. */
export function roundedUp(value: number): number {
  const step = 10 ** (Math.floor(Math.log10(value)) - 1);
  // Removes the rounding error of binary fractions.
  return Number((Math.ceil(Number((value / step).toPrecision(12))) * step).toPrecision(2));
}
