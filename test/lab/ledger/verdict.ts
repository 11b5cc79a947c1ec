/** Compares the numbers of one flood: those of the sender and the victim with those of every view, and the views. Pure. */
import { CAUSES_OF, type Mechanism } from "./mechanisms.ts";
import type { Numbers, Views } from "./views.ts";

export interface FloodNumbers {
  readonly mechanisms: readonly Mechanism[];
  /** Packets that left the sender. */
  readonly sent: number;
  /** Packets that the victim got. */
  readonly arrived: number;
  /** False: nothing on the service's machine filters, so that what was dropped is not known. */
  readonly isFiltered: boolean;
  /** As its report says. Absent: none dropped. */
  readonly droppedByNode?: number;
  readonly views: Views;
}

/** Of what was sent. */
export const ERROR_MAX = 0.02;
/** Of a figure with three digits. */
const DIGITS_ERROR = 0.005;

export function faultsOf(flood: FloodNumbers): string[] {
  const { sent, arrived, isFiltered, views, mechanisms } = flood;
  const { api, by, series, csv, report, kept, files } = views;
  const faults: string[] = [];
  const near = (what: string, is: number | null, should: number | null, most: number) => {
    const isWrong = is === null || should === null ? is !== should : !(Math.abs(is - should) <= most);
    if (isWrong) faults.push(`${what} ${shown(is)}, should be ${shown(should)}`);
  };
  const allowed = ERROR_MAX * sent;
  near("total", api.packets, sent, allowed);
  near("passed", api.passed, isFiltered ? arrived : null, allowed);
  near("dropped", api.dropped, isFiltered ? sent - arrived : null, allowed);
  if (api.passed !== null) near("dropped and passed", (api.dropped ?? 0) + api.passed, api.packets, 0);
  const causes = Object.values(by).reduce((sum, count) => sum + count, 0);
  if (api.dropped !== null) near("sum of causes", causes, api.dropped, 0);
  const possible = new Set<string>(mechanisms.flatMap((mechanism) => CAUSES_OF[mechanism]));
  for (const cause of Object.keys(by)) if (!possible.has(cause)) faults.push(`dropped by ${cause}, which is not there`);
  for (const name of ["packets", "dropped", "passed"] as const) {
    // Of ticks below the threshold at both ends of a flood the series has all, and the volume one of each.
    near(`series: ${name}`, series[name], api[name], allowed);
    near(`CSV: ${name}`, csv[name], series[name], 0.001);
  }
  near("report: total", report.packets, api.packets, DIGITS_ERROR * api.packets);
  near("report: passed", report.passed, api.passed, DIGITS_ERROR * (api.passed ?? 0));
  if (views.tenant !== views.own) faults.push(`the tenant reads ${views.tenant}, the operator ${views.own}`);
  if (views.history !== views.own) faults.push(`the history has ${views.history}, the list ${views.own}`);
  for (const [name, count] of Object.entries(kept)) near(`pcap: ${name}`, files[name as keyof typeof files], count, 0);
  const { droppedByNode } = flood;
  if (droppedByNode !== undefined) near("dropped by the node", droppedByNode, sent - arrived, allowed);
  faults.push(...samplesFaults(api, views));
  return faults;
}

/** Of what a tenth of the packets became, there are some. */
function samplesFaults({ packets, passed }: Numbers, { by, kept }: Views): string[] {
  if (passed === null) return [];
  const { answered = 0, ...others } = by;
  const dropped = Object.values(others).reduce((sum, count) => sum + count, 0);
  return Object.entries({ passed, dropped, answered }).flatMap(([outcome, count]) => {
    const sampled = kept[outcome as keyof typeof kept];
    if (count > 0.1 * packets && sampled === 0) return [`pcap: none that ${outcome}, and ${count} of ${packets} did`];
    return count === 0 && sampled > 0 ? [`pcap: ${sampled} that ${outcome}, and none did`] : [];
  });
}

function shown(count: number | null): string {
  return count === null ? "not known" : String(Math.round(count));
}
