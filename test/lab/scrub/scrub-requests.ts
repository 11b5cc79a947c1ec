/** Legitimate requests through the scrubbing lab: what was seen of each, and what of them counts. */

/** Two attempts to connect: one packet that is lost is no failure yet. */
export const TIMEOUT_MS = 2000;

/** Times are wall time, ms. */
export interface RequestLine {
  readonly startedAtMs: number;
  readonly tookMs: number;
  /** The whole answer came, and it was the right one. */
  readonly isServed: boolean;
}

export interface RequestSummary {
  readonly requests: number;
  readonly served: number;
  readonly medianMs: number;
  readonly slowestMs: number;
}

/** Of those that began at such times. */
export function summaryOf(all: readonly RequestLine[], fromMs: number, toMs: number): RequestSummary {
  const lines = all.filter(({ startedAtMs }) => startedAtMs >= fromMs && startedAtMs <= toMs);
  const served = lines.filter(({ isServed }) => isServed);
  const times = served.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  return {
    requests: lines.length,
    served: served.length,
    medianMs: times[times.length >> 1] ?? 0,
    slowestMs: times.at(-1) ?? 0,
  };
}
