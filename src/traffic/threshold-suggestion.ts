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

/** Above what was marked as no attack, so that the same does not cross it again. */
const ALARM_MARGIN = 1.1;
/** Over what the history alone proposes: a wrong mark does not make the hosts undefended. */
export const RAISED_MAX = 4;

/** The highest rates of an attack that an operator marked. */
export interface MarkedPeak {
  readonly group: string;
  readonly direction: Direction;
  /** For the hostgroup as a whole, and not for one host. */
  readonly isTotal: boolean;
  /** Marked as expected or as a false alarm. Otherwise as real. */
  readonly isFalse: boolean;
  readonly peak: Trio;
}

/** Why a proposal is above what the history alone would propose. */
export interface Raised {
  /** Attacks that were marked as expected or as false alarms. */
  readonly attacks: number;
  /** The highest rates of these. */
  readonly highest: Trio;
  /** These are above the proposal all the same, which is bounded. */
  readonly isBounded: boolean;
  /** Attacks marked as real that the proposal would not notice. */
  readonly hidesReal: number;
}

interface SuggestedFor {
  readonly name: string;
  /** For a sum over all hosts, which is judged in place of each. */
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
  /** null: no mark raises it. */
  readonly raised: Raised | null;
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
  /** Peaks of the same days. */
  readonly marked: readonly MarkedPeak[];
}

/** Yields between its steps, since there may be very many hosts and groups. */
export function* suggestThresholds(
  { days, hosts, leftOut }: TrafficPeaks,
  terms: SuggestionTerms,
): Generator<undefined, Suggestion> {
  const counted = days.filter(({ seconds }) => seconds >= DAY_RECORDED_SHARE * DAY_SECONDS).map(({ day }) => day);
  const weekdays = new Set(counted.map((day) => day % 7)).size;
  if (counted.length < SUGGEST_DAYS_MIN || weekdays < 7) return { kind: "too_little", days: counted.length, weekdays };
  const seen = yield* seenOf(hosts, terms);
  const marked = Map.groupBy(terms.marked, keyOfMark);
  const groups: GroupSuggestion[] = [];
  for (const { name, isTotal, judgesOutgoing } of terms.groups) {
    for (const direction of judgesOutgoing ? BOTH : INCOMING) {
      const own = seen.get(keyOf(name, direction));
      const marks = marked.get(keyOfMark({ group: name, direction, isTotal })) ?? [];
      // None of its hosts had traffic.
      if (own === undefined || own.highest.pps === 0) continue;
      groups.push({ ...{ name, direction }, ...suggestionOf(own, marks, terms.margin, isTotal) });
    }
    yield;
  }
  return { kind: "suggested", days: counted.length, groups, leftOut };
}

const INCOMING: readonly Direction[] = ["incoming"];
const BOTH: readonly Direction[] = ["incoming", "outgoing"];

/** The rates of the hosts of a hostgroup in one direction. */
interface Seen {
  hosts: number;
  highest: Trio;
  /** With the most packets, at most BUSIEST_NAMED. */
  busiest: readonly HostPeaks[];
}

/** By keyOf(). Of a hostgroup that is judged as a whole, its sum stands for its hosts. */
function* seenOf(
  hosts: readonly HostPeaks[],
  { groups, groupOf }: Pick<SuggestionTerms, "groups" | "groupOf">,
): Generator<undefined, ReadonlyMap<string, Seen>> {
  const [totals, others] = [groups.filter(({ isTotal }) => isTotal), groups.filter(({ isTotal }) => !isTotal)];
  const ofSum = new Map(totals.map(({ name }) => [totalSeries({ kind: "hostgroup", name }), name]));
  const ofHosts = new Set(others.map(({ name }) => name));
  const seen = new Map<string, Seen>();
  for (const host of hosts) {
    const group = groupOf(host.key);
    const name = ofSum.get(host.key) ?? (group !== null && ofHosts.has(group) ? group : null);
    if (name !== null) see(seen, keyOf(name, host.outgoing ? "outgoing" : "incoming"), host);
    yield;
  }
  return seen;
}

function see(seen: Map<string, Seen>, key: string, host: HostPeaks): void {
  const own = seen.get(key) ?? { hosts: 0, highest: NOTHING, busiest: [] };
  seen.set(key, own);
  own.hosts++;
  own.highest = both(own.highest, host, Math.max);
  own.busiest = [...own.busiest, host].sort((a, b) => b.pps - a.pps).slice(0, BUSIEST_NAMED);
}

function keyOf(name: string, direction: Direction): string {
  return `${direction} ${name}`;
}

function keyOfMark({ group, direction, isTotal }: Pick<MarkedPeak, "group" | "direction" | "isTotal">): string {
  return `${isTotal} ${keyOf(group, direction)}`;
}

function suggestionOf(
  { hosts, highest: seen, busiest }: Seen,
  marked: readonly MarkedPeak[],
  margin: number,
  isTotal: boolean,
): Omit<GroupSuggestion, "name" | "direction"> {
  const bare = mapped(seen, (rate) => roundedUp(margin * rate));
  const [first, second] = busiest;
  return {
    ...{ hosts, seen, busiest, ...raisedAbove(bare, marked) },
    isOutlier: !isTotal && second !== undefined && (first?.pps ?? 0) > OUTLIER_FACTOR * second.pps,
  };
}

/** A proposal is above what was marked as no attack, within a bound. */
function raisedAbove(bare: Trio, marked: readonly MarkedPeak[]): Pick<GroupSuggestion, "thresholds" | "raised"> {
  const alarms = marked.filter(({ isFalse }) => isFalse).map(({ peak }) => peak);
  const highest = highestOf(alarms);
  const over = (rate: number, least: number) => Math.max(least, rate === 0 ? 0 : roundedUp(ALARM_MARGIN * rate));
  const wanted = both(highest, bare, over);
  const thresholds = both(wanted, bare, (rate, least) => Math.min(rate, RAISED_MAX * least));
  if (isWithin(thresholds, bare)) return { thresholds: bare, raised: null };
  const hidesReal = marked.filter(
    ({ isFalse, peak }) => !isFalse && isWithin(peak, thresholds) && !isWithin(peak, bare),
  );
  const isBounded = !isWithin(highest, thresholds);
  return { thresholds, raised: { attacks: alarms.length, highest, isBounded, hidesReal: hidesReal.length } };
}

/** Whether no rate is above that of the other. */
function isWithin(rates: Trio, of: Trio): boolean {
  return rates.pps <= of.pps && rates.mbps <= of.mbps && rates.flowsPerSec <= of.flowsPerSec;
}

function mapped(trio: Trio, by: (rate: number) => number): Trio {
  return { pps: by(trio.pps), mbps: by(trio.mbps), flowsPerSec: by(trio.flowsPerSec) };
}

function both(a: Trio, b: Trio, by: (a: number, b: number) => number): Trio {
  return { pps: by(a.pps, b.pps), mbps: by(a.mbps, b.mbps), flowsPerSec: by(a.flowsPerSec, b.flowsPerSec) };
}

const NOTHING: Trio = { pps: 0, mbps: 0, flowsPerSec: 0 };

function highestOf(rates: readonly Trio[]): Trio {
  return rates.reduce((most, each) => both(most, each, Math.max), NOTHING);
}

/** To two digits, and at least 1: a threshold is not 0. */
function roundedUp(value: number): number {
  if (value <= 1) return 1;
  const step = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1);
  return Math.ceil(value / step) * step;
}
