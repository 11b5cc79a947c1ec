/** An attack's report for a ticket or a customer: a plain text, and its traffic as CSV. Times in UTC. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { SeriesWire, TimelineWire } from "../../src/http/wire/attack-series.ts";
import type { AttackSourcesWire } from "../../src/http/wire/attack-sources.ts";
import { t } from "../language.ts";
import { amountText, errorAtMost, missedText, passedText, peakNote, proofText, secondsText } from "./attack-size.ts";
import { csvText } from "./format/csv.ts";
import { bitRate, packetRate, percent } from "./format/numbers.ts";
import { vectorName } from "./format/vectors.ts";
import { DIRECTION_NAMES } from "./format/words.ts";
import { attackSubject } from "./mitigation.ts";
import { entryText, entryTitle, type FoldedEntry, foldedEntries } from "./timeline.ts";

interface ReportParts {
  readonly attack: AttackWire;
  readonly timeline: TimelineWire["entries"];
  /** null: not known. */
  readonly sources: Pick<AttackSourcesWire, "total_packets" | "top_sources"> | null;
  /** The time of the service's clock. */
  readonly nowMs: number;
  /** A time as the page shows it, beside that in UTC; null: the page shows UTC. */
  readonly localTime: ((ms: number) => string) | null;
}

export function attackReport({ attack, timeline, sources, nowMs, localTime }: ReportParts): string {
  const { started_at: begin, ended_at: end, tenant, group, volume } = attack;
  const customer = tenant === undefined || tenant === group ? group : t`${tenant} (hostgroup ${group})`;
  const both = (time: string) => `${utc(time)}${localTime === null ? "" : ` (${localTime(Date.parse(time))})`}`;
  const facts: (Fact | null)[] = [
    [t`Customer`, customer],
    [t`Direction`, DIRECTION_NAMES[attack.direction].toLowerCase()],
    attack.hosts === undefined ? null : [t`Hosts attacked`, String(attack.hosts)],
    [t`Kind`, kindText(attack)],
    volume === undefined ? null : [t`Began`, both(volume.began_at)],
    [t`Detected`, both(begin)],
    [t`Ended`, end === undefined ? t`not yet, as of ${utc(new Date(nowMs).toISOString())}` : both(end)],
    ...(volume === undefined ? [[t`Size`, t`not known`] as const] : sizeFacts(volume, attack.scope)),
  ];
  const lines = [
    t`DDoS attack on ${attackSubject(attack)}`,
    "",
    ...factLines(facts.filter((fact) => fact !== null)),
    "",
    t`What was done:`,
    ...(timeline.length === 0 ? [t`  nothing is known`] : foldedEntries(timeline).map(entryLine)),
    "",
    ...sourceLines(sources),
    "",
    t`Attack ${attack.id}, reported by Floodwall.`,
  ];
  return `${lines.join("\n")}\n`;
}

type Fact = readonly [name: string, value: string];

const NAME_WIDTH = 16;

/** The values are below each other, also where a language has longer names. */
function factLines(facts: readonly Fact[]): string[] {
  const width = Math.max(NAME_WIDTH, ...facts.map(([name]) => name.length + 2));
  return facts.map(([name, value]) => `${`${name}:`.padEnd(width)}${value}`);
}

function sizeFacts(volume: NonNullable<AttackWire["volume"]>, scope: AttackWire["scope"]): Fact[] {
  const proofs = proofText(volume);
  const missed = missedText(volume, (ms) => utc(new Date(ms).toISOString()));
  return [
    [t`Flood lasted`, secondsText(volume.duration_seconds)],
    [t`Peak`, `${bitRate(volume.peak_mbps)}, ${packetRate(volume.peak_pps)} ${peakNote(volume)}`],
    [t`Mean`, `${bitRate(volume.mean_mbps)}, ${packetRate(volume.mean_pps)}${errorAtMost(volume)}`],
    [t`Total`, `${amountText(volume.packets, volume.bits)}${errorAtMost(volume)}`],
    [t`Passed here`, passedText(volume, scope)],
    ...(proofs === null ? [] : [[t`Challenged`, proofs] as const]),
    ...(missed === null ? [] : [[t`Not counted`, missed] as const]),
  ];
}

function kindText({ classification }: AttackWire): string {
  if (classification === undefined) return t`not known`;
  const parts = classification.parts ?? [];
  const name = vectorName(classification.type);
  if (parts.length === 0) return name;
  return `${name}: ${parts.map(({ type, share }) => `${vectorName(type)} ${percent(share)}`).join(", ")}`;
}

function entryLine(entry: FoldedEntry): string {
  const until = entry.times === 1 ? "" : t`, until ${utc(entry.lastAt)}`;
  const text = `${until}${entryText(entry) === "" ? "" : `: ${entryText(entry)}`}`;
  return `  ${utc(entry.at)}  ${entryTitle(entry)}${text}`;
}

const SOURCES_SHOWN = 10;

function sourceLines(sources: ReportParts["sources"]): string[] {
  if (sources === null || sources.top_sources.length === 0) return [t`Top sources: not known`];
  const { total_packets: total, top_sources: top } = sources;
  return [
    t`Top sources, of ${total} sampled packets (addresses may be forged):`,
    ...top.slice(0, SOURCES_SHOWN).map(({ key, packets, asn, as_name: name, country }) => {
      const origin = [asn === undefined ? "" : `AS${asn}`, name ?? "", country ?? ""].filter((part) => part !== "");
      return `  ${percent(packets / Math.max(1, total)).padStart(6)}  ${[key, ...origin].join("  ")}`;
    }),
  ];
}

/** `2026-03-01 12:00:00.200 UTC`. */
function utc(time: string): string {
  return t`${time.slice(0, 23).replace("T", " ")} UTC`;
}

const COLUMNS = [
  "at",
  "seconds",
  "rate",
  "rate_max",
  "pps",
  "pps_max",
  "mbps",
  "mbps_max",
  "max_sampling_error",
  "dropped_pps",
  "dropped_mbps",
  "passed_pps",
  "passed_mbps",
] as const satisfies readonly (keyof SeriesWire["points"][number])[];

/** Times of points are rounded. */
const MISSED_MS_MIN = 1000;

/**
 * Uses the names and values of the API: times in UTC, and nothing where nothing is known, as of the time before the first
 * point where the service was started amid the attack.
 */
export function seriesCsv({ points }: Pick<SeriesWire, "points">, { started_at, volume }: AttackWire): string {
  const at = volume?.began_at ?? started_at;
  const missedMs = Date.parse(points[0]?.at ?? at) - Date.parse(at);
  const all = missedMs >= MISSED_MS_MIN ? [{ at, seconds: missedMs / 1000 }, ...points] : points;
  return csvText([COLUMNS, ...all.map((point: CsvPoint) => COLUMNS.map((column) => String(point[column] ?? "")))]);
}

type CsvPoint = Partial<SeriesWire["points"][number]>;
