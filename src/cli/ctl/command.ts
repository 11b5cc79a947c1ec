/** One command of `floodwall ctl`: everything that help, completion and the manual page say of it is here. */
import { nearestTimeOfDay } from "../../schema/time-of-day.ts";
import type { Clock } from "../../system/clock.ts";
import type { Api, Json } from "./api.ts";

/** The words of a command line cannot be obeyed. */
export class CtlUsage extends Error {}

export interface CtlOption {
  readonly name: string;
  /** The placeholder of its value; null: it has none. */
  readonly value: string | null;
  readonly help: string;
}

export type Options = Readonly<Record<string, string | boolean | undefined>>;

export interface Answered {
  /** As the interface gave it: what `--json` prints. */
  readonly answer: Json;
  /** For people. */
  readonly text: string;
}

export interface CtlCall {
  readonly api: Api;
  readonly operands: readonly string[];
  readonly options: Options;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Pick<Clock, "wallMs">;
  /** Resolves in that time. */
  readonly sleep: (ms: number) => Promise<void>;
}

export interface CtlCommand {
  readonly name: string;
  /** As in the usage: `ADDRESS...`; the empty string where there are none. */
  readonly operands: string;
  /** Least and most operands. */
  readonly count: readonly [least: number, most: number];
  readonly summary: string;
  readonly options: readonly CtlOption[];
  readonly example: string;
  /** Yields what to print: once, or for each order. @throws Refused, Unreachable, CtlUsage */
  readonly run: (given: CtlCall) => AsyncGenerator<Answered | Error>;
}

/** A command as help, completion and the manual page describe it. */
export type CtlWord = Pick<CtlCommand, "name" | "operands" | "summary" | "options" | "example">;

/** A value of an option. */
export function given(options: Options, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { "": 1, s: 1, m: 60, min: 60, h: 3600, d: 86_400 };

/** Seconds of `90`, `90s`, `15m`, `1h` or `2d`. @throws CtlUsage */
export function secondsOf(option: string, text: string): number {
  const [, digits, unit] = /^(\d{1,9})(s|m|min|h|d|)$/.exec(text) ?? [];
  const seconds = Number(digits) * (UNIT_SECONDS[unit ?? "?"] ?? Number.NaN);
  if (seconds > 0) return seconds;
  throw new CtlUsage(`--${option} ${text}: write a time as 90s, 15m, 1h or 2d`);
}

/** A time as RFC 3339, the time before `nowMs` as `2h`, or the last `22:00` by this machine's clock. @throws CtlUsage */
export function momentOf(option: string, text: string | undefined, nowMs: number): string | undefined {
  return text === undefined ? undefined : written({ option, text, nowMs, direction: -1 });
}

/** The same for a time to come: the next `22:00`. @throws CtlUsage */
export function momentAheadOf(option: string, text: string | undefined, nowMs: number): string | undefined {
  return text === undefined ? undefined : written({ option, text, nowMs, direction: 1 });
}

interface Written {
  readonly option: string;
  readonly text: string;
  readonly nowMs: number;
  /** 1: a time to come; -1: one that is past. */
  readonly direction: 1 | -1;
}

function written({ option, text, nowMs, direction }: Written): string {
  if (/^\d{4}-/.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text).toISOString();
  const time = nearestTimeOfDay(text, nowMs, direction);
  if (time !== null) return time.toISOString();
  try {
    return new Date(nowMs + direction * secondsOf(option, text) * 1000).toISOString();
  } catch {
    const otherwise = direction > 0 ? "in how long" : "how long ago";
    throw new CtlUsage(`--${option} ${text}: write a time as 2026-03-01T12:00:00Z or 22:00, or ${otherwise} as 2h`);
  }
}

/** `{reason}` of `--reason`. */
export function reasonOf(options: Options): Json {
  const reason = given(options, "reason");
  return reason === undefined ? {} : { reason };
}
