/** The report of all attacks on a customer in a time, as a month: HTML that prints well. Times in UTC. */
import { DAY_MS } from "../../system/now.ts";
import type { AttackWire } from "../wire/attack.ts";
import type { VolumeWire } from "../wire/attack-volume.ts";
import { type Bar, chart } from "./chart.ts";
import { facts, type Html, html, page, table } from "./html.ts";
import { amount, bitRate, error, errorAtMost, packetRate, sampledShare, seconds, utc, words } from "./report-text.ts";

interface RangeReportParts {
  /** The customer that it is about; null: all customers. */
  readonly customer: string | null;
  readonly fromMs: number;
  readonly toMs: number;
  /** That ended in this time. */
  readonly attacks: readonly AttackWire[];
  /** There are more than were read. */
  readonly isCut: boolean;
  readonly nowMs: number;
}

const [LARGEST_MAX, ROWS_MAX] = [20, 10];

export function rangeReport(parts: RangeReportParts): string {
  const { customer, fromMs, toMs, attacks, isCut, nowMs } = parts;
  const title = `Attacks on ${customer ?? "all customers"}, ${utc(fromMs).slice(0, 10)} to ${utc(toMs - 1).slice(0, 10)}`;
  const cut = isCut
    ? [
        html`<p><strong>There are more attacks than this report reads: it has the newest ${attacks.length}.</strong></p>`,
      ]
    : [];
  const sections = [
    ...cut,
    numbersOf(parts),
    html`<h2>Attacks by day</h2>${daysOf(parts)}`,
    html`<h2>Kinds</h2>${countsOf(attacks, "Kind", ({ classification }) => words(classification?.type ?? "not known"))}`,
    html`<h2>What was done</h2>${countsOf(attacks, "Mitigation", doneOf)}`,
    html`<h2>The largest</h2>${largestOf(attacks)}`,
    html`<h2>Where they came from</h2>${originsOf(attacks)}`,
  ];
  return page(
    title,
    sections,
    `Report of ${utc(nowMs)} by Floodwall. Days and times are in UTC; an attack counts on the day of its end. An attack on a prefix and attacks on its hosts at the same time both count.`,
  );
}

const volumes = (attacks: readonly AttackWire[]) =>
  attacks.flatMap(({ volume }) => (volume === undefined ? [] : [volume]));
const peakOf = ({ volume }: AttackWire) => volume?.peak_mbps ?? 0;

function numbersOf({ attacks, fromMs, toMs }: RangeReportParts): Html {
  const known = volumes(attacks);
  const sum = (value: (volume: (typeof known)[number]) => number) =>
    known.reduce((all, volume) => all + value(volume), 0);
  const errors = known.flatMap(({ peak_sampling_error: fraction }) => (fraction === undefined ? [] : [fraction]));
  const worst = errors.length === 0 ? undefined : Math.max(...errors);
  const [largest] = known.toSorted((a, b) => b.peak_mbps - a.peak_mbps);
  const targets = new Set(attacks.map(({ target, prefix, group }) => target ?? prefix ?? group)).size;
  return facts([
    ["Attacks", String(attacks.length)],
    ["Targets", String(targets)],
    ["Under attack", seconds(underAttackMs(attacks, { fromMs, toMs }) / 1000)],
    [
      "In all",
      `${amount(
        sum(({ packets }) => packets),
        sum(({ bits }) => bits),
      )}${errorAtMost(worst)}`,
    ],
    [
      "Largest peak",
      largest === undefined ? null : `${bitRate(largest.peak_mbps)}${error(largest.peak_sampling_error)}`,
    ],
    ["Not counted", missedText(known)],
    ["Size not known", known.length === attacks.length ? null : `of ${attacks.length - known.length} attacks`],
  ]);
}

/** null: nothing was missed. */
function missedText(known: readonly VolumeWire[]): string | null {
  const spans = known.map(({ not_counted: missed = [] }) => missed).filter((missed) => missed.length > 0);
  if (spans.length === 0) return null;
  const ms = spans.flat().reduce((sum, { from, to }) => sum + Date.parse(to) - Date.parse(from), 0);
  return `${seconds(ms / 1000)} of ${spans.length} attacks: Floodwall did not run`;
}

/** How long at least one flood lasted, within the time: of many at once it is that of one. */
function underAttackMs(attacks: readonly AttackWire[], { fromMs, toMs }: { fromMs: number; toMs: number }): number {
  let [sumMs, doneMs] = [0, fromMs];
  for (const [beginMs, endMs] of attacks.map(floodOf).sort(([a], [b]) => a - b)) {
    const untilMs = Math.min(endMs, toMs);
    sumMs += Math.max(0, untilMs - Math.max(beginMs, doneMs));
    doneMs = Math.max(doneMs, untilMs);
  }
  return sumMs;
}

/** Where its size is not known, from its detection to its end. */
function floodOf({ volume, started_at: start, ended_at: end = start }: AttackWire): readonly [number, number] {
  if (volume === undefined) return [Date.parse(start), Date.parse(end)];
  const beginMs = Date.parse(volume.began_at);
  return [beginMs, beginMs + 1000 * volume.duration_seconds];
}

function daysOf({ attacks, fromMs, toMs }: RangeReportParts): Html {
  const first = Math.floor(fromMs / DAY_MS);
  const byDay = Map.groupBy(attacks, ({ ended_at: end = "" }) => Math.floor(Date.parse(end) / DAY_MS));
  const bars: Bar[] = Array.from({ length: Math.ceil(toMs / DAY_MS) - first }, (_, i) => {
    const day = byDay.get(first + i) ?? [];
    const label = new Date((first + i) * DAY_MS).toISOString().slice(5, 10);
    return {
      label,
      value: day.length,
      part: day.filter(({ ban_state: state, dry_run: dry }) => state !== undefined && state !== "rejected" && !dry)
        .length,
    };
  });
  const textOf = (value: number) => String(Math.round(value));
  return html`${chart(bars, { title: "Attacks by day", textOf, line: null })}<p class="note">Dark: with a ban in force.</p>`;
}

function countsOf(attacks: readonly AttackWire[], heading: string, nameOf: (attack: AttackWire) => string): Html {
  if (attacks.length === 0) return html`<p>No attack.</p>`;
  const counts = [...Map.groupBy(attacks, nameOf)].toSorted(([, a], [, b]) => b.length - a.length);
  return table(
    [heading, "Attacks"],
    counts.map(([name, of]) => [name, String(of.length)]),
  );
}

function doneOf({ method, ban_state: state, dry_run: isDryRun }: AttackWire): string {
  if (state === undefined) return "none";
  if (state === "rejected") return "refused";
  return `${words(method ?? "ban")}${isDryRun ? ", in dry run" : ""}`;
}

function largestOf(attacks: readonly AttackWire[]): Html {
  if (attacks.length === 0) return html`<p>No attack.</p>`;
  const largest = attacks.toSorted((a, b) => peakOf(b) - peakOf(a)).slice(0, LARGEST_MAX);
  return table(
    ["Detected", "Target", "Kind", "Peak", "Lasted", "Done"],
    largest.map((attack) => {
      const { volume, started_at: begin, target, prefix, group, classification } = attack;
      const peak =
        volume === undefined
          ? "not known"
          : `${bitRate(volume.peak_mbps)}${error(volume.peak_sampling_error)}, ${packetRate(volume.peak_pps)}${error(volume.peak_sampling_error)}`;
      const kind = words(classification?.type ?? "not known");
      const lasted = volume === undefined ? "-" : seconds(volume.duration_seconds);
      return [utc(begin), target ?? prefix ?? group, kind, peak, lasted, doneOf(attack)];
    }),
  );
}

/** Over the samples of all attacks, so that those of which more was sampled weigh more. */
function originsOf(attacks: readonly AttackWire[]): Html {
  const samples = attacks.flatMap(({ sample }) => (sample === undefined ? [] : [sample]));
  const total = samples.reduce((sum, { total_packets: packets }) => sum + packets, 0);
  if (total === 0) return html`<p>Not known: no packets were sampled.</p>`;
  const sums = (
    shares: (sample: (typeof samples)[number]) => readonly { readonly key: string; readonly packets: number }[],
  ) => {
    const byKey = new Map<string, number>();
    for (const sample of samples)
      for (const { key, packets } of shares(sample)) byKey.set(key, (byKey.get(key) ?? 0) + packets);
    return [...byKey]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, ROWS_MAX)
      .map(([key, packets]) => [key, sampledShare(packets, total)]);
  };
  const [asns, countries] = [
    sums(({ top_asns: shares = [] }) => shares),
    sums(({ top_countries: shares = [] }) => shares),
  ];
  return html`<p class="note">Shares of ${total} packets, sampled in ${samples.length} attacks, with the error of the sample (95 %). Addresses may be forged; of each attack the first origins are counted.</p>
    ${asns.length === 0 ? html`<p>Networks are not known: samples.asn_file is not configured.</p>` : table(["Network (AS)", "Share"], asns)}
    ${countries.length === 0 ? null : table(["Country", "Share"], countries)}`;
}
