/**
 * Finds out which neighbor crashes gobgpd, from what gobgpd wrote, and decides for how long it is left out so that the
 * others are served. Does no I/O.
 */
import { subjectOfLine } from "./gobgpd-log.ts";

/** A crash sooner than this after a start belongs to the same series. */
export const SPEAKER_STABLE_MS = 60_000;
/** With this many crashes in a row over one neighbor it is left out, and after that with each. */
const CRASHES_MAX = 3;
const LEFT_OUT_MS = 60_000;
const LEFT_OUT_MAX_MS = 3_600_000;

/** How a Go program reports that it crashed, as `panic: runtime error: …`. */
const CRASH = /^(panic|fatal error|SIG[A-Z]+): /;
/** Logged about a neighbor that dials at the wrong moment, at any time. */
const UNRELATED = "Closed an accepted connection";

export interface Crash {
  readonly reason: string;
  /** The neighbor that gobgpd wrote about last; null: none. */
  readonly neighbor: string | null;
}

/** @param log what gobgpd wrote since its start. null: it did not crash, or was killed. */
export function crashIn(log: string, neighbors: ReadonlySet<string>): Crash | null {
  const lines = log.split("\n");
  const at = lines.findIndex((line) => CRASH.test(line));
  if (at < 0) return null;
  const named = lines.slice(0, at).findLast((line) => {
    const entry = subjectOfLine(line);
    return entry !== null && neighbors.has(entry.key) && entry.text !== UNRELATED;
  });
  return { reason: lines[at] ?? "", neighbor: named === undefined ? null : (subjectOfLine(named)?.key ?? null) };
}

interface LeftOut {
  readonly untilMs: number;
  readonly forMs: number;
}

export class CrashSuspects {
  #suspect: string | null = null;
  /** Crashes in a row over this suspect. */
  #crashes = 0;
  #lastCrashMs = Number.NEGATIVE_INFINITY;
  readonly #leftOut = new Map<string, LeftOut>();

  /** gobgpd crashed. Monotonic ms. Returns the neighbor that is left out from now on, if another one remains. */
  crashed(crash: Crash, neighbors: ReadonlySet<string>, nowMs: number): string | null {
    const { neighbor } = crash;
    const isSeries = neighbor === this.#suspect && nowMs - this.#lastCrashMs < SPEAKER_STABLE_MS;
    this.#crashes = isSeries ? this.#crashes + 1 : 1;
    this.#suspect = neighbor;
    this.#lastCrashMs = nowMs;
    for (const known of this.#leftOut.keys()) if (!neighbors.has(known)) this.#leftOut.delete(known);
    if (neighbor === null) return null;
    const before = this.#leftOut.get(neighbor);
    const isKnown = before !== undefined && nowMs - before.untilMs < LEFT_OUT_MAX_MS;
    if (!isKnown && this.#crashes < CRASHES_MAX) return null;
    const remain = [...neighbors].filter((other) => other !== neighbor && this.leftOutForMs(other, nowMs) === 0);
    if (remain.length === 0) return null;
    const forMs = isKnown ? Math.min(LEFT_OUT_MAX_MS, 2 * before.forMs) : LEFT_OUT_MS;
    this.#leftOut.set(neighbor, { untilMs: nowMs + forMs, forMs });
    return neighbor;
  }

  /** How much longer the neighbor is left out; 0: it is not. */
  leftOutForMs(neighbor: string, nowMs: number): number {
    return Math.max(0, (this.#leftOut.get(neighbor)?.untilMs ?? nowMs) - nowMs);
  }
}
