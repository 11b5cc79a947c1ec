/**
 * A suggestion as text and as JSON. Everything in the text except the configuration is a YAML comment, so that the
 * whole text can be pasted or included.
 */
import { sectionsText } from "../config/load/section-overrides.ts";
import { timestamp } from "../schema/timestamp.ts";
import { METRICS, round } from "../traffic/rates.ts";
import { type PacketsWire, packetsToWire } from "./json.ts";
import type { CaptureRates, SeenRates } from "./rates.ts";
import { packetTotals } from "./run.ts";
import type { MeasuredChoice, Suggestion } from "./suggest.ts";

const QUANTILES = [
  ["p99", 0.99],
  ["p99_9", 0.999],
] as const;

export function suggestionLines(suggestion: Suggestion): string[] {
  const { capture, rates, suggested, notes } = suggestion;
  const { startedMs, endedMs } = rates;
  const { received, foreign } = packetTotals(rates.status);
  const seconds = Math.round((endedMs - (startedMs ?? endedMs)) / 1000);
  const comments = [
    `from ${capture}: ${seconds} s, ${received} packets, ${foreign} of them of no configured network, ` +
      `up to ${rates.trackedHostsMax} hosts at once`,
    "",
    ...table(["hostgroup", "direction", "metric", "p99", "p99.9", "peak"], ratesRows(suggestion)),
    "",
    ...busiestLines(suggestion),
    "",
    "false alarms of each choice, if all of this traffic was normal:",
    ...table(["choice", "attacks", "hosts", "pps", "mbps", "flows_per_sec"], suggestion.choices.map(choiceRow)),
    "(the last three are the thresholds of all hosts that no hostgroup takes; p99: of windows with such traffic)",
    "",
    ...notes.map((note) => `note: ${note}`),
    ...(notes.length > 0 ? [""] : []),
    `suggested: ${suggested.name}. These sections replace those in the file${isBaselineLeft(suggestion)}.`,
  ];
  const yaml = sectionsText(suggested.sections).trimEnd().split("\n");
  return [...comments.map((line) => `# ${line}`.trimEnd()), ...yaml];
}

function isBaselineLeft({ suggested, config }: Suggestion): string {
  const isInFile = config.hostgroups.some(({ baseline }) => baseline !== null);
  return suggested.factor === null && isInFile
    ? "; `baseline` was not tried with them: remove it, or try it separately"
    : "";
}

function ratesRows({ config, seen }: Suggestion): string[][] {
  return seen.flatMap(({ group, direction, metrics }) =>
    metrics.flatMap((histogram, i) => {
      if (histogram.peak === 0) return [];
      const values = [...QUANTILES.map(([, share]) => histogram.quantile(share)), histogram.peak];
      return [[config.hostgroups[group]?.name ?? "", direction, METRICS[i] ?? "", ...values.map(shown)]];
    }),
  );
}

function busiestLines({ config, seen }: Suggestion): string[] {
  return seen.flatMap(({ group, direction, busiest }) => {
    const hosts = busiest.map(({ target, pps }) => `${target} ${shown(pps)} pps`).join(", ");
    return hosts === "" ? [] : [`busiest of ${config.hostgroups[group]?.name}, ${direction}: ${hosts}`];
  });
}

function choiceRow({ name, alarms, sections }: MeasuredChoice): string[] {
  const { attacks, hosts, refused } = alarms;
  const thresholds = sections["thresholds"] as Partial<Record<string, number>>;
  const more = refused > 0 ? "+" : "";
  const trio = METRICS.slice(0, 3).map((metric) => String(thresholds[metric] ?? ""));
  return [name, `${attacks}${more}`, `${hosts}${more}`, ...trio];
}

/** The first column is aligned left, the others too if they have words. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) =>
        /^[\d.+]+$/.test(rows[0]?.[i] ?? "") ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0),
      )
      .join("  ");
  return [head, ...rows].map(line);
}

function shown(rate: number): string {
  return rate < 100 ? String(round(rate)) : String(Math.round(rate));
}

interface ChoiceWire {
  readonly name: string;
  readonly false_alarms: { readonly attacks: number; readonly hosts: number; readonly refused: number };
  readonly sections: unknown;
}

export interface SuggestionWire {
  readonly capture: string;
  readonly started_at: string;
  readonly ended_at: string;
  readonly packets: PacketsWire;
  readonly hosts_max: number;
  readonly seen: readonly SeenWire[];
  readonly choices: readonly ChoiceWire[];
  readonly suggested: ChoiceWire & { readonly yaml: string };
  readonly notes: readonly string[];
}

interface SeenWire {
  readonly group: string;
  readonly direction: SeenRates["direction"];
  readonly windows: number;
  /** By metric. */
  readonly rates: Readonly<Record<string, { readonly p99: number; readonly p99_9: number; readonly peak: number }>>;
  readonly busiest: CaptureRates["seen"][number]["busiest"];
}

export function suggestionJson(suggestion: Suggestion): SuggestionWire {
  const { capture, rates, choices, suggested, notes } = suggestion;
  const { endedMs, startedMs, status, trackedHostsMax } = rates;
  return {
    capture,
    started_at: timestamp(startedMs ?? endedMs),
    ended_at: timestamp(endedMs),
    packets: packetsToWire(packetTotals(status)),
    hosts_max: trackedHostsMax,
    seen: suggestion.seen.map((seen) => seenToWire(suggestion, seen)),
    choices: choices.map(choiceToWire),
    suggested: { ...choiceToWire(suggested), yaml: sectionsText(suggested.sections) },
    notes,
  };
}

function choiceToWire({ name, alarms, sections }: MeasuredChoice): ChoiceWire {
  return { name, false_alarms: alarms, sections };
}

function seenToWire({ config }: Suggestion, { group, direction, windows, metrics, busiest }: SeenRates): SeenWire {
  const seen = metrics.flatMap((histogram, i) => {
    if (histogram.peak === 0) return [];
    const [p99, p999] = QUANTILES.map(([, share]) => round(histogram.quantile(share)));
    return [[METRICS[i] ?? "", { p99: p99 ?? 0, p99_9: p999 ?? 0, peak: round(histogram.peak) }] as const];
  });
  const hosts = busiest.map(({ target, pps }) => ({ target, pps: round(pps) }));
  return {
    group: config.hostgroups[group]?.name ?? "",
    direction,
    windows,
    rates: Object.fromEntries(seen),
    busiest: hosts,
  };
}
