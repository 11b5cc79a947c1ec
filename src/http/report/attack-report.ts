/** The report of one attack for a customer: HTML that prints well, from what the API says of the attack. Times in UTC. */
import type { AttackWire } from "../wire/attack.ts";
import type { SeriesWire, TimelineWire } from "../wire/attack-series.ts";
import type { AttackSourcesWire } from "../wire/attack-sources.ts";
import type { VolumeWire } from "../wire/attack-volume.ts";
import { type Bar, chart } from "./chart.ts";
import { facts, type Html, html, page, table } from "./html.ts";
import {
  amount,
  bitRate,
  error,
  errorAtMost,
  metricWords,
  packetRate,
  percent,
  sampledShare,
  seconds,
  short,
  utc,
  words,
} from "./report-text.ts";

interface AttackReportParts {
  readonly attack: AttackWire;
  readonly series: SeriesWire;
  readonly timeline: TimelineWire;
  readonly sources: AttackSourcesWire;
  /** Wall clock, ms. */
  readonly nowMs: number;
}

/** Bars of the chart, and rows of a table. */
const [BARS_MAX, ROWS_MAX] = [120, 10];
/** Times of points are rounded. */
const MISSED_MS_MIN = 1000;

export function attackReport(parts: AttackReportParts): string {
  const { attack, series, timeline, sources, nowMs } = parts;
  const title = `${attack.direction === "outgoing" ? "Outgoing attack from" : "Attack on"} ${subjectOf(attack)}`;
  const sections = [
    overview(attack, nowMs),
    html`<h2>Traffic</h2>${courseOf(attack, series)}`,
    html`<h2>Numbers</h2>${numbersOf(attack.volume)}`,
    html`<h2>What was done</h2>${doneOf(timeline)}`,
    html`<h2>Where it came from</h2>${originsOf(attack, sources)}`,
  ];
  return page(title, sections, `Attack ${attack.id}. Report of ${utc(nowMs)} by Floodwall.`);
}

function subjectOf({ target, prefix, group, hosts }: AttackWire): string {
  if (prefix !== undefined) return `${hosts ?? ""} hosts of ${prefix}`;
  return target ?? `hostgroup ${group}`;
}

function overview(attack: AttackWire, nowMs: number): Html {
  const { classification, volume, started_at: begin, ended_at: end } = attack;
  const parts = classification?.parts?.map(({ type, share }) => `${words(type)} ${percent(share)}`).join(", ") ?? "";
  return facts([
    ["Customer", attack.tenant === undefined ? attack.group : `${attack.tenant} (hostgroup ${attack.group})`],
    [
      "Kind",
      classification === undefined ? "not known" : `${words(classification.type)}${parts === "" ? "" : `: ${parts}`}`,
    ],
    ["Began", volume === undefined ? null : utc(volume.began_at)],
    ["Detected", utc(begin)],
    ["Ended", end === undefined ? `not yet, as of ${utc(nowMs)}` : utc(end)],
    ["Detected because", `${metricWords(attack.metric)} over ${thresholdOf(attack)}`],
    ["Mitigation", mitigationOf(attack)],
  ]);
}

function thresholdOf({ metric, threshold }: AttackWire): string {
  if (metric === "flows_per_sec") return `${short(threshold)} new flows/s`;
  return metric.endsWith("mbps") ? bitRate(threshold) : packetRate(threshold);
}

function mitigationOf({ method, ban_state: state, dry_run: isDryRun }: AttackWire): string {
  if (state === undefined) return "none";
  const how = `${words(method ?? "")}, ${state}`;
  return isDryRun ? `${how}; in dry run: nothing was announced` : how;
}

/** The highest rate of each time stays. */
function courseOf(attack: AttackWire, { points, metric, threshold }: SeriesWire): Html {
  const isBits = metric.endsWith("mbps");
  const textOf = isBits ? bitRate : packetRate;
  const bars = barsOf(points, ({ mbps_max: mbps, pps_max: pps, dropped_mbps: droppedMbps, dropped_pps: dropped }) =>
    isBits ? [mbps, droppedMbps ?? 0] : [pps, dropped ?? 0],
  );
  const errors = points.flatMap(({ max_sampling_error: fraction }) => (fraction === undefined ? [] : [fraction]));
  const isOfAll = metric === "pps" || metric === "mbps";
  const line = isOfAll ? { value: threshold, text: "threshold" } : null;
  const worst =
    errors.length === 0
      ? ""
      : ` The rates are estimates of sampled traffic, ± ${percent(Math.max(...errors))} at most.`;
  const drawn = chart(bars, { title: `Traffic of ${subjectOf(attack)}`, textOf, line });
  const begin = attack.volume?.began_at ?? attack.started_at;
  const first = points[0]?.at ?? begin;
  const isMissing = Date.parse(first) - Date.parse(begin) >= MISSED_MS_MIN;
  const missing = isMissing ? ` Not known from ${utc(begin)} to ${utc(first)}.` : "";
  const legend = `The highest ${isBits ? "bit" : "packet"} rate of each time; dark: dropped on this machine. Times in UTC.${worst}${missing}`;
  return bars.length === 0 ? drawn : html`${drawn}<p class="note">${legend}</p>`;
}

type Point = SeriesWire["points"][number];

/** Bars of equal times: the points of the first minutes are shorter than later ones. @param of value and part of a point */
function barsOf(points: readonly Point[], of: (point: Point) => readonly [number, number]): Bar[] {
  const spans = points.map((point) => {
    const from = Date.parse(point.at);
    return { from, to: from + 1000 * point.seconds, of: of(point) };
  });
  const [begin, end] = [spans[0]?.from ?? 0, Math.max(...spans.map(({ to }) => to))];
  const count = Math.min(BARS_MAX, points.length);
  const widthMs = Math.max(1, (end - begin) / Math.max(1, count));
  const bars = Array.from({ length: count }, (_, i) => {
    const label = new Date(begin + i * widthMs).toISOString().slice(11, 19);
    return { label, value: 0, part: 0 };
  });
  for (const { from, to, of: values } of spans) {
    // A clock that was set back must not lose the point.
    const first = Math.max(0, Math.min(count - 1, Math.floor((from - begin) / widthMs)));
    const last = Math.max(first, Math.min(count - 1, Math.ceil((to - begin) / widthMs) - 1));
    for (const bar of bars.slice(first, last + 1)) {
      bar.value = Math.max(bar.value, values[0]);
      bar.part = Math.max(bar.part, values[1]);
    }
  }
  return bars;
}

function numbersOf(volume: VolumeWire | undefined): Html {
  if (volume === undefined) return html`<p>Not known.</p>`;
  const { peak_pps: pps, peak_mbps: mbps, peak_over_ms: overMs, peak_sampling_error: fraction } = volume;
  const { dropped_packets: dropped, passed_packets: passed, dropped_by: by, packets } = volume;
  // Without causes only the drops of its ban's rules are known.
  const ofBan = by === undefined ? ", by the rules of its ban" : "";
  return facts([
    ["Flood lasted", seconds(volume.duration_seconds)],
    ["Peak", `${bitRate(mbps)}${error(fraction)}, ${packetRate(pps)}${error(fraction)}, over ${Math.round(overMs)} ms`],
    ["Mean", `${bitRate(volume.mean_mbps)}, ${packetRate(volume.mean_pps)}${errorAtMost(fraction)}`],
    ["Total", `${amount(packets, volume.bits)}${errorAtMost(fraction)}`],
    ["Dropped here", dropped === undefined ? "not known" : partOf(dropped, volume) + ofBan],
    ["Passed here", passed === undefined ? "not known" : passedOf(passed, volume)],
    ["Not counted", missedOf(volume)],
  ]);
}

/** The total, and with it the share, is an estimate where traffic is sampled. */
function partOf(part: number, { packets, peak_sampling_error: fraction }: VolumeWire): string {
  const about = fraction === undefined ? "" : "about ";
  return `${short(part)} packets, ${about}${percent(part / Math.max(1, packets))} of the total`;
}

/** Sampled traffic does not show which of its packets came through the filter: only the computation is known. */
function passedOf(passed: number, volume: VolumeWire): string {
  const { dropped_by: by, peak_sampling_error: fraction } = volume;
  const part = `${fraction === undefined ? "" : "about "}${partOf(passed, volume)}`;
  if (by === undefined) return `at most ${part}: what other causes dropped is not known of it`;
  return fraction === undefined ? part : `${part}, not known exactly: the estimated total less what was dropped here`;
}

/** null: all of it was counted. */
function missedOf({ not_counted: spans }: VolumeWire): string | null {
  if (spans === undefined) return null;
  return `${spans.map(({ from, to }) => `${utc(from)} to ${utc(to)}`).join(", ")}: Floodwall did not run`;
}

function doneOf({ entries }: TimelineWire): Html {
  if (entries.length === 0) return html`<p>Nothing is known.</p>`;
  return table(
    ["Time", "Step", ""],
    entries.map(({ at, kind, text = "", neighbor }) => [
      utc(at),
      words(kind),
      [text.replace(/^\w+(?= above )/, metricWords), neighbor].filter(Boolean).join(" – "),
    ]),
  );
}

function originsOf({ sample }: AttackWire, sources: AttackSourcesWire): Html {
  const { total_packets: total } = sources.available ? sources : (sample ?? { total_packets: 0 });
  const {
    top_asns: asns = [],
    top_countries: countries = [],
    top_sources: top,
  } = sources.available ? sources : (sample ?? { top_sources: [] });
  if (total === 0) return html`<p>Not known: no packets were sampled.</p>`;
  const rows = (shares: readonly { readonly key: string; readonly packets: number }[]) =>
    shares.slice(0, ROWS_MAX).map(({ key, packets }) => [key, sampledShare(packets, total)]);
  return html`<p class="note">Shares of ${total} sampled packets, with the error of the sample (95 %). Addresses may be forged.</p>
    ${asns.length === 0 ? null : table(["Network (AS)", "Share"], rows(asns))}
    ${countries.length === 0 ? null : table(["Country", "Share"], rows(countries))}
    ${table(["Address", "Share"], rows(top))}`;
}
