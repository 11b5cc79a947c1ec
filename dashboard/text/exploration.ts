/** The explorer's settings, in the form of the page's address, and the lines of one chart from its answers. Pure. */
import { t } from "../language.ts";
import { isKept, type Term, totalScope } from "./filter.ts";
import { looksLikeAddress } from "./format/address.ts";
import { type Range, rangeOf, rangeQuery, rangeSpan } from "./format/ranges.ts";

export type Grouping = "protocol" | "hostgroup" | "host" | PartGrouping;
/** By where incoming traffic comes from: of all hosts together, for callers without a tenant. */
export type PartGrouping = (typeof PARTS)[number];
const PARTS = ["asn", "country", "prefix", "interface", "exporter", "src_port", "dst_port"] as const;

/** In the order of the form. */
export const GROUPINGS: Readonly<Record<Grouping, string>> = {
  protocol: t`Protocol`,
  hostgroup: t`Hostgroup`,
  host: t`Host`,
  asn: t`Network`,
  country: t`Country`,
  prefix: t`Prefix`,
  interface: t`Interface`,
  exporter: t`Exporter`,
  src_port: t`Source port`,
  dst_port: t`Destination port`,
};
export const PART_OPTIONS = PARTS.map((part) => [part, GROUPINGS[part]] as const);

export function isPart(by: Grouping): by is PartGrouping {
  return PARTS.some((part) => part === by);
}

export type Unit = "pps" | "mbps" | "flows_per_sec";
export type Comparison = "none" | "day" | "week";

export interface Exploration {
  readonly by: Grouping;
  /** Names of hostgroups, or addresses; by protocol at most one hostgroup. Empty: not chosen yet, or all. */
  readonly only: readonly string[];
  readonly direction: "incoming" | "outgoing";
  readonly unit: Unit;
  readonly isStacked: boolean;
  readonly comparison: Comparison;
  readonly range: Range;
}

/** More lines cannot be distinguished. */
export const LINES_MAX = 8;
/** The default period of recording. */
const STEP_SECONDS_MIN = 10;
export const EARLIER_SECONDS: Readonly<Record<Comparison, number>> = { none: 0, day: 86_400, week: 7 * 86_400 };

/** Settings that are not valid are ignored. */
export function explorationOf(query: URLSearchParams): Exploration {
  const by = oneOf(query.get("by"), ["protocol", "hostgroup", "host", ...PARTS]);
  const named = namesOf(query.get("only"));
  const only = by === "host" ? named.filter(looksLikeAddress) : named;
  const unit = oneOf(query.get("unit"), ["pps", "mbps", "flows_per_sec"]);
  return {
    by,
    only: only.slice(0, by === "protocol" ? 1 : LINES_MAX),
    direction: isPart(by) ? "incoming" : oneOf(query.get("direction"), ["incoming", "outgoing"]),
    // New flows are not counted by protocol, nor by their origin.
    unit: (by === "protocol" || isPart(by)) && unit === "flows_per_sec" ? "pps" : unit,
    isStacked: query.get("form") !== "lines",
    comparison: oneOf(query.get("compare"), ["none", "day", "week"]),
    range: rangeOf(query),
  };
}

function oneOf<Value extends string>(text: string | null, values: readonly [Value, ...Value[]]): Value {
  return values.find((value) => value === text) ?? values[0];
}

/** `name`: a hostgroup or an address; null: all hosts. */
export function seriesPath(
  { by, direction, range }: Pick<Exploration, "by" | "direction" | "range">,
  name: string | null,
  { nowMs, earlierSeconds }: { readonly nowMs: number; readonly earlierSeconds: number },
): string {
  const span = rangeSpan(range, nowMs);
  const shown = { from: span.from - earlierSeconds, to: span.to - earlierSeconds };
  const asked = earlierSeconds > 0 ? shown : range;
  const steps = rangeQuery(asked, nowMs, STEP_SECONDS_MIN);
  if (isPart(by) && name !== null) return `/api/v1/traffic/part?${new URLSearchParams({ by, key: name, ...steps })}`;
  const query = new URLSearchParams({ direction, ...steps });
  if (name !== null && !isPart(by)) query.set(by === "host" ? "key" : "hostgroup", name);
  return `/api/v1/traffic${by === "host" ? "" : "/total"}?${query}`;
}

interface Bucket {
  readonly ts: string;
}

interface Part<Point extends Bucket> {
  readonly points: readonly Point[];
  /** How much earlier than they are shown they were recorded. */
  readonly earlierSeconds: number;
}

/**
 * Points of several answers on one time axis of this step; null: nothing was recorded of that part then. Where nothing
 * at all was recorded for longer than a step, one empty time makes a gap.
 */
export function aligned<Point extends Bucket>(
  parts: readonly Part<Point>[],
  stepSeconds: number,
): { readonly times: readonly number[]; readonly rows: readonly (readonly (Point | null)[])[] } {
  const byTime = parts.map(({ points, earlierSeconds }) => {
    const shown = (point: Point) => Date.parse(point.ts) / 1000 + earlierSeconds;
    return new Map(points.map((point) => [Math.round(shown(point) / stepSeconds) * stepSeconds, point]));
  });
  const recorded = [...new Set(byTime.flatMap((points) => [...points.keys()]))].sort((a, b) => a - b);
  const times = recorded.flatMap((at, i) => {
    const before = recorded[i - 1];
    return before !== undefined && at - before > 2.5 * stepSeconds ? [before + stepSeconds, at] : [at];
  });
  return { times, rows: byTime.map((points) => times.map((at) => points.get(at) ?? null)) };
}

/** The sum of the parts that were recorded; null: none. */
export function sumOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}

/** The choice with one name more, or less. */
export function toggled(only: readonly string[], name: string): string | null {
  const next = only.includes(name) ? only.filter((other) => other !== name) : [...only, name];
  return next.length === 0 ? null : next.map(escaped).join(",");
}

/** The names of the page's address, each once. */
export function namesOf(text: string | null): readonly string[] {
  return [...new Set((text ?? "").split(",").map(plain))].filter((name) => name !== "");
}

/** Names of networks may have commas, which separate names in the address. */
function escaped(name: string): string {
  return name.replaceAll("%", "%25").replaceAll(",", "%2C");
}

function plain(name: string): string {
  return name.replaceAll("%2C", ",").replaceAll("%25", "%");
}

/** With the names that the filter keeps; by protocol, its one hostgroup is that of the chart. */
export function filteredExploration(exploration: Exploration, filter: readonly Term[]): Exploration {
  const { by, only } = exploration;
  if (by !== "protocol") {
    const own = filter.filter(({ field }) => field === by);
    const wanted = own.filter(({ isExcluded }) => !isExcluded).map(({ value }) => value);
    const kept = only.filter((name) => isKept(own, () => [name]));
    if (kept.length > 0) return { ...exploration, only: kept };
    return { ...exploration, only: wanted.filter((name) => isKept(own, () => [name])).slice(0, LINES_MAX) };
  }
  const { hostgroup } = totalScope(filter);
  return hostgroup === null ? exploration : { ...exploration, only: [hostgroup] };
}

/** Whether the filter names lines to show, so that none have to be chosen. @param known those that there are */
export function isNamedByFilter(by: Grouping, filter: readonly Term[], known: readonly string[]): boolean {
  const wanted = filter.filter(({ field, isExcluded }) => field === by && !isExcluded);
  const names = new Set(known.map((name) => name.toLowerCase()));
  return wanted.length > 0 && wanted.every(({ value }) => names.has(value.toLowerCase()));
}

/** The terms of the filter that a chart with this grouping cannot show. */
export function ignoredTerms(by: Grouping, filter: readonly Term[]): readonly Term[] {
  const others = by === "protocol" ? totalScope(filter).ignored : filter;
  return others.filter(({ field }) => field !== by);
}
