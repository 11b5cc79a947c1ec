/**
 * The time range and step of all history routes (docs/interface.md#time-ranges), checked before the storage is queried.
 */
import { BUCKETS_MAX, RANGE_MS_MAX, STEP_SECONDS_MAX } from "../limits.ts";
import { parseTimestamp } from "../schema/timestamp.ts";
import { type InvalidQuery, invalidQuery, parameter } from "./server/query.ts";

/** Wall clock, ms. An event at `toMs` itself is in the range; a bucket that starts there is not. */
export interface TimeRange {
  readonly kind: "range";
  readonly fromMs: number;
  readonly toMs: number;
}

interface Step {
  readonly kind: "step";
  readonly stepSeconds: number;
}

const DEFAULT_RANGE_MS = 3_600_000;
const DEFAULT_STEP_SECONDS = 60;

/** `from` alone ends now, `to` alone starts one hour before, neither is the last hour. */
export function timeRange(query: URLSearchParams, nowMs: number): TimeRange | InvalidQuery {
  const from = time(query, "from");
  if (from?.kind === "invalid_query") return from;
  const to = time(query, "to");
  if (to?.kind === "invalid_query") return to;
  const toMs = to?.wallMs ?? nowMs;
  const fromMs = from?.wallMs ?? toMs - DEFAULT_RANGE_MS;
  if (toMs <= fromMs) return invalidQuery("to must be after from");
  if (toMs - fromMs > RANGE_MS_MAX) return invalidQuery("time range too large (max 31 days)");
  return { kind: "range", fromMs, toMs };
}

function time(query: URLSearchParams, name: string): { kind: "time"; wallMs: number } | InvalidQuery | null {
  const text = parameter(query, name);
  if (text === null) return null;
  const wallMs = parseTimestamp(text);
  // An unescaped plus sign arrives as a space, which is hard to notice.
  if (wallMs === null) return invalidQuery(`${name} must be an RFC 3339 time (a + in it is written %2B): ${text}`);
  return { kind: "time", wallMs };
}

const WHOLE = /^[1-9]\d*$/;

/** In seconds, increased so that the range has at most BUCKETS_MAX buckets. */
export function step(query: URLSearchParams, { fromMs, toMs }: TimeRange): Step | InvalidQuery {
  const text = parameter(query, "step") ?? String(DEFAULT_STEP_SECONDS);
  if (!WHOLE.test(text) || Number(text) > STEP_SECONDS_MAX) {
    return invalidQuery(`step must be a whole number of seconds from 1 to ${STEP_SECONDS_MAX}: ${text}`);
  }
  const atLeast = Math.max(Number(text), Math.ceil((toMs - fromMs) / 1000 / BUCKETS_MAX));
  // Buckets start at multiples of the step: a range that starts between two has one more.
  const stepSeconds = bucketCount(fromMs, toMs, atLeast) > BUCKETS_MAX ? atLeast + 1 : atLeast;
  return { kind: "step", stepSeconds };
}

export function steppedRange(query: URLSearchParams, nowMs: number): (TimeRange & Omit<Step, "kind">) | InvalidQuery {
  const range = timeRange(query, nowMs);
  if (range.kind !== "range") return range;
  const stepped = step(query, range);
  return stepped.kind === "step" ? { ...range, stepSeconds: stepped.stepSeconds } : stepped;
}

export function bucketCount(fromMs: number, toMs: number, stepSeconds: number): number {
  return Math.ceil(toMs / (stepSeconds * 1000)) - Math.floor(fromMs / (stepSeconds * 1000));
}
