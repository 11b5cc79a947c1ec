/** Tables and lines of `floodwall ctl` for people. What the service and its callers wrote is made safe for a terminal. */
import type { Json } from "./api.ts";

/** Heading and text of a cell. */
export type Column = readonly [heading: string, cell: (row: Json) => unknown];

const GAP = "  ";
/** Control characters, which a terminal would obey, and those that change the direction of text. */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}]/gu;

/** A time as the service writes it. */
const PARTS_OF_SECOND = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z$/;

/** @param none said where there is no row. */
export function table(rows: readonly Json[], columns: readonly Column[], none: string): string {
  if (rows.length === 0) return none;
  const cells = rows.map((row) => columns.map(([, cell]) => plain(cell(row))));
  const all = [columns.map(([heading]) => heading), ...cells];
  const widths = columns.map((_, i) => Math.max(...all.map((row) => row[i]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join(GAP)
        .trimEnd(),
    )
    .join("\n");
}

/** A line for each pair that has a value. */
export function lines(pairs: readonly (readonly [name: string, value: unknown])[]): string {
  const shown = pairs.map(([name, value]) => [name, plain(value)] as const).filter(([, text]) => text !== "-");
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, text]) => `${name.padEnd(width)}${GAP}${text}`).join("\n");
}

/** `-` for what is absent. */
export function plain(value: unknown): string {
  if (value === undefined || value === null || value === "") return "-";
  if (value === true) return "yes";
  if (value === false) return "no";
  if (Array.isArray(value)) return value.map(plain).join(", ") || "-";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.replace(PARTS_OF_SECOND, "$1Z").replace(UNSAFE, "?");
}

const STEPS = ["", " k", " M", " G", " T"];

/** Three digits: `213 k`. */
export function short(value: unknown): string {
  if (typeof value !== "number" || !Number.isFinite(value)) return "-";
  const step = Math.min(STEPS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, Math.abs(value))) / 3)));
  return `${Number((value / 1000 ** step).toPrecision(3))}${STEPS[step]}`;
}

/** Between two times, as text or Unix milliseconds: `12 s`, `3 min`, `2 h 5 min`. */
export function since(begin: unknown, end: unknown): string {
  const [from = Number.NaN, to = Number.NaN] = [begin, end].map(momentMs);
  if (Number.isNaN(from) || Number.isNaN(to)) return "-";
  const seconds = Math.max(0, Math.round((to - from) / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function momentMs(time: unknown): number {
  return typeof time === "number" ? time : Date.parse(plain(time));
}

/** The rows under `key` of an answer. */
export function rowsOf(answer: Json, key: string): readonly Json[] {
  const rows = answer[key];
  return Array.isArray(rows) ? rows.filter((row): row is Json => typeof row === "object" && row !== null) : [];
}

/** The object under `key`; empty where there is none. */
export function partOf(answer: Json, key: string): Json {
  const part = answer[key];
  return typeof part === "object" && part !== null ? (part as Json) : {};
}
