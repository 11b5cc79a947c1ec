/**
 * The log: one JSON line per event on standard output, fields first, then a lower-case message. Fields name tokens and
 * never contain them; text that looks like a credential is masked.
 */
import pino from "pino";
import type { Clock } from "../system/clock.ts";

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A log that adds these fields to each line. */
  child(fields: object): Log;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

export interface LogOptions {
  readonly level: LogLevel;
  readonly clock: Pick<Clock, "wallMs">;
  /** Receives whole lines. Default: standard output, written before the call returns, so that a crash loses none. */
  readonly destination?: { write(line: string): void };
}

const CREDENTIALS = ["authorization", "token", "secret", "password", "key_authorization"];

export function openLog({ level, clock, destination }: LogOptions): Log {
  return pino(
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
}

/** Logs an Error with its stack and causes, any other thrown value as text. */
function serializeCause(cause: unknown): unknown {
  return cause instanceof Error ? pino.stdSerializers.err(cause) : String(cause);
}
