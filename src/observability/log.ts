/**
 * The log: one JSON line per event on standard output, fields first, then a lower-case message. Fields name tokens and
 * never contain them; text that looks like a credential is masked.
 */
import pino from "pino";
import type { Clock } from "../system/clock.ts";
import { LineBudget } from "./line-budget.ts";

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A log that adds these fields to each line. */
  child(fields: object): Log;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

interface LogOptions {
  readonly level: LogLevel;
  readonly clock: Pick<Clock, "wallMs">;
  /** Receives whole lines. Default: standard output, written before the call returns, so that a crash loses none. */
  readonly destination?: { write(line: string): void };
}

const CREDENTIALS = ["authorization", "token", "secret", "password", "key_authorization"];

export function openLog({ level, clock, destination }: LogOptions): Log {
  const log: Log = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(clock.wallMs()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: [...CREDENTIALS, ...CREDENTIALS.map((name) => `*.${name}`)], censor: "[redacted]" },
      serializers: { cause: serializeCause },
    },
    destination ?? pino.destination({ dest: 1, sync: true }),
  );
  return withinBudget(log, new LineBudget(() => clock.wallMs()));
}

/** A log whose lines are within the budget. */
function withinBudget(log: Log, budget: LineBudget): Log {
  const write = (level: LogLevel) => (fields: object, message: string) => {
    const suppressed = budget.pass(message);
    if (suppressed === null) return;
    log[level](suppressed === 0 ? fields : { ...fields, suppressed_lines: suppressed }, message);
  };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child: (fields) => withinBudget(log.child(fields), budget),
  };
}

/** Logs an Error with its stack and causes, any other thrown value as text. */
function serializeCause(cause: unknown): unknown {
  return cause instanceof Error ? pino.stdSerializers.err(cause) : String(cause);
}
