/** The rows of benches as a table. */
import type { Row } from "./attempts.ts";
import type { Load } from "./machine-load.ts";
import type { Figure, Measurement } from "./measurement.ts";

const HEADS = ["Question", "Unit", "Ours", "Rival", "Ours / rival", "Target", "Stolen, others", "Attempt", ""];

export function table(rows: readonly Row[]): string {
  const lines = [HEADS, HEADS.map(() => "---"), ...rows.map(cells)];
  return lines.map((line) => `| ${line.join(" | ")} |`).join("\n");
}

function cells(row: Row): string[] {
  const { question, unit, ours, rival, target, load, attempt, verdict } = row;
  const reasons = verdict.reasons.length === 0 ? "" : `: ${verdict.reasons.join("; ")}`;
  return [
    ...[question, unit, figureText(ours), rival === null ? "" : figureText(rival), ratioText(row), target],
    ...[row.isExact === true ? "" : loadText(load), String(attempt), `${verdict.word}${reasons}`],
  ];
}

function ratioText({ ours, rival, ratio }: Measurement): string {
  if (rival === null) return "";
  if (ratio === undefined) return `${number(ours.median / rival.median)} × (not run by run)`;
  return `**${number(ratio.median)} ×** (${number(ratio.least)}–${number(ratio.most)})`;
}

function figureText({ name, median, least, most, runs, tail }: Figure): string {
  if (tail !== undefined) {
    const { p90, p99 } = tail;
    return `**${number(median)}** (p90 ${number(p90)}, p99 ${number(p99)}, max ${number(most)}, ${runs}) ${name}`;
  }
  return `**${number(median)}** (${number(least)}–${number(most)}, ${runs}) ${name}`;
}

export function loadText({ stolen, others }: Load): string {
  return `${(100 * stolen).toFixed(0)} %, ${(100 * others).toFixed(0)} %`;
}

function number(value: number): string {
  if (value >= 1e6) return `${(value / 1e6).toFixed(2)} M`;
  if (value >= 1e4) return Math.round(value).toLocaleString("en-US");
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
