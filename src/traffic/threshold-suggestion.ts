/**
 * Thresholds for the hosts of each hostgroup, proposed from the history: above what its busiest host had on all but the worst
 * days, by a margin. Needs a whole week, since traffic differs by the time of the day and by the day of the week. Pure.
 */
import type { Direction } from "./rates.ts";
import { totalSeries } from "./traffic-history.ts";
import { DAY_SECONDS, type HostPeaks, type TrafficPeaks } from "./traffic-peaks.ts";

export const MARGIN_DEFAULT = 2;
/** Days with enough records, each day of the week among them. */
export const SUGGEST_DAYS_MIN = 7;
/** A day with records of less time does not count: its peak hours may be missing. */
const DAY_RECORDED_SHARE = 0.75;
const BUSIEST_NAMED = 3;
/** A host this many times as busy as the next one should have a hostgroup of its own, or was attacked unseen. */
const OUTLIER_FACTOR = 10;

export interface SuggestedFor {
  readonly name: string;
  /** Of a sum over all hosts, which is judged in place of each. */
  readonly isTotal: boolean;
  readonly judgesOutgoing: boolean;
}

export interface Trio {
  readonly pps: number;
  readonly mbps: number;
  readonly flowsPerSec: number;
}

export interface GroupSuggestion {
  readonly name: string;
  readonly direction: Direction;
  /** Hosts with traffic. */
  readonly hosts: number;
  readonly seen: Trio;
  readonly thresholds: Trio;
  /** With the most packets. */
  readonly busiest: readonly HostPeaks[];
  /** The busiest host is not like the others. */
  readonly isOutlier: boolean;
}

export type Suggestion =
  | { readonly kind: "too_little"; readonly days: number; readonly weekdays: number }
  | {
      readonly kind: "suggested";
      /** That count. */
      readonly days: number;
      readonly groups: readonly GroupSuggestion[];
      readonly leftOut: number;
    };

export interface SuggestionTerms {
  readonly groups: readonly SuggestedFor[];
  /** The name of the hostgroup of a host; null: it is in none of the networks now. */
  readonly groupOf: (host: string) => string | null;
  readonly margin: number;
}

export function suggestThresholds({ days, hosts, leftOut }: TrafficPeaks, terms: SuggestionTerms): Suggestion {
  const counted = days.filter(({ seconds }) => seconds >= DAY_RECORDED_SHARE * DAY_SECONDS).map(({ day }) => day);
  const weekdays = new Set(counted.map((day) => day % 7)).size;
  if (counted.length < SUGGEST_DAYS_MIN || weekdays < 7) return { kind: "too_little", days: counted.length, weekdays };
  const groups = terms.groups.flatMap((group) => {
    const directions: readonly Direction[] = group.judgesOutgoing ? ["incoming", "outgoing"] : ["incoming"];
    return directions.flatMap((direction) => groupSuggestion(group, direction, hosts, terms) ?? []);
  });
  return { kind: "suggested", days: counted.length, groups, leftOut };
}

/** null: none of its hosts had traffic. */
function groupSuggestion(
  { name, isTotal }: SuggestedFor,
  direction: Direction,
  all: readonly HostPeaks[],
  { groupOf, margin }: SuggestionTerms,
): GroupSuggestion | null {
  const sum = totalSeries({ kind: "hostgroup", name });
  const isOwn = ({ key }: HostPeaks) => (isTotal ? key === sum : groupOf(key) === name);
  const own = all.filter((peaks) => peaks.outgoing === (direction === "outgoing") && isOwn(peaks));
  const seen = highestOf(own);
  if (seen.pps === 0) return null;
  const [first, second] = own.toSorted((a, b) => b.pps - a.pps);
  return {
    ...{ name, direction, hosts: own.length, seen },
    thresholds: {
      pps: roundedUp(margin * seen.pps),
      mbps: roundedUp(margin * seen.mbps),
      flowsPerSec: roundedUp(margin * seen.flowsPerSec),
    },
    busiest: own.toSorted((a, b) => b.pps - a.pps).slice(0, BUSIEST_NAMED),
    isOutlier: !isTotal && second !== undefined && (first?.pps ?? 0) > OUTLIER_FACTOR * second.pps,
  };
}

function highestOf(hosts: readonly HostPeaks[]): Trio {
  const of = (value: (host: HostPeaks) => number) => hosts.reduce((most, host) => Math.max(most, value(host)), 0);
  return { pps: of(({ pps }) => pps), mbps: of(({ mbps }) => mbps), flowsPerSec: of(({ flowsPerSec }) => flowsPerSec) };
}

/** To two digits, and at least 1: a threshold is not 0. */
function roundedUp(value: number): number {
  if (value <= 1) return 1;
  const step = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1);
  return Math.ceil(value / step) * step;
}
