/**
 * The windows of a report as the history stores them (docs/interface.md#edge-history): of zones that the node serves,
 * with times that the service regards as plausible.
 */
import type { EdgeWindow } from "./edge-history.ts";
import type { EdgeReport, ZoneClaim } from "./report.ts";

/** How far the clock of an edge node may be behind and ahead of the service's, ms. */
export const EDGE_CLOCK_BEHIND_MS = 600_000;
export const EDGE_CLOCK_AHEAD_MS = 60_000;

interface WindowsOptions {
  readonly node: string;
  readonly report: EdgeReport;
  /** The previous report; null: none since the start. */
  readonly previous: EdgeReport | null;
  /** When the report arrived; wall clock, ms. */
  readonly nowMs: number;
  readonly serves: (zone: string) => boolean;
}

interface ReportWindows {
  readonly windows: readonly EdgeWindow[];
  /**
   * Whether the service's time replaced that of a new window; null: no window is new, which says nothing about the
   * clock.
   */
  readonly isClockSkewed: boolean | null;
}

export function reportWindows({ node, report, previous, nowMs, serves }: WindowsOptions): ReportWindows {
  const windows: EdgeWindow[] = [];
  let isClockSkewed: boolean | null = null;
  for (const [zone, claim] of report.zones) {
    const { atMs, seconds, counts, sources } = claim;
    if (atMs === null || seconds === 0 || !serves(zone)) continue;
    const isSkewed = !isPossible(atMs, nowMs);
    const isOld = isSentAgain(claim, previous?.zones.get(zone));
    // An old window is sent until another one closes, so its end may be long ago.
    if (!isOld) isClockSkewed = isSkewed || isClockSkewed === true;
    // A window that is sent again replaces its record, unless its time was replaced by the service's.
    if (isSkewed && isOld) continue;
    windows.push({ node, zone, atMs: isSkewed ? nowMs : atMs, seconds, counts, sources });
  }
  return { windows, isClockSkewed };
}

function isPossible(atMs: number, nowMs: number): boolean {
  return atMs >= nowMs - EDGE_CLOCK_BEHIND_MS && atMs <= nowMs + EDGE_CLOCK_AHEAD_MS;
}

function isSentAgain(claim: ZoneClaim, previous: ZoneClaim | undefined): boolean {
  return claim.atMs === previous?.atMs;
}
