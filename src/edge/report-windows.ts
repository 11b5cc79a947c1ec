/**
 * The windows of a report as the history keeps them (docs/interface.md#edge-history): of the zones that the node
 * serves, at times that the service holds for possible.
 */
import { EDGE_CLOCK_AHEAD_MS, EDGE_CLOCK_BEHIND_MS } from "../limits.ts";
import type { EdgeWindow } from "./edge-history.ts";
import type { EdgeReport, ZoneClaim } from "./report.ts";

export interface WindowsOptions {
  readonly node: string;
  readonly report: EdgeReport;
  /** The one before; null: none since the start. */
  readonly previous: EdgeReport | null;
  /** When the report came; wall clock, ms. */
  readonly nowMs: number;
  readonly serves: (zone: string) => boolean;
}

export interface ReportWindows {
  readonly windows: readonly EdgeWindow[];
  /** The service's own time had to be taken for a new one of them at least; null: none is new, which says nothing of the clock. */
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
    // An old window is sent for as long as no other closes, and ends ever longer ago.
    if (!isOld) isClockSkewed = isSkewed || isClockSkewed === true;
    // What is sent again takes the place of what it was, but for those whose own time is not their key.
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
