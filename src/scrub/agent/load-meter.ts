/** Measures the received and dropped traffic of a scrub node from the filter's verdicts: one for each packet. Pure. */
import type { FilterInterface, FilterVerdicts } from "../../dataplane/native.d.ts";

export interface Load {
  readonly pps: number;
  readonly mbps: number;
}

interface Sum {
  readonly packets: number;
  readonly bytes: number;
}

export class LoadMeter {
  #last: (Sum & { readonly atMs: number }) | null = null;

  /** The rate since the last call; zero at the first call. Monotonic time. */
  measure(verdicts: FilterVerdicts, nowMs: number): Load {
    const last = this.#last;
    const all = sumOf(verdicts, () => true);
    this.#last = { ...all, atMs: nowMs };
    // Lower counts than before: the filter's maps are new.
    if (last === null || nowMs <= last.atMs || all.packets < last.packets) return { pps: 0, mbps: 0 };
    const seconds = (nowMs - last.atMs) / 1000;
    return {
      pps: Math.round((all.packets - last.packets) / seconds),
      mbps: Math.round((8 * (all.bytes - last.bytes)) / seconds / 1e4) / 100,
    };
  }
}

export function droppedIn(verdicts: FilterVerdicts): Sum {
  return sumOf(verdicts, (verdict) => verdict.startsWith("drop_"));
}

function sumOf(verdicts: FilterVerdicts, counts: (verdict: string) => boolean): Sum {
  const of = Object.entries(verdicts).filter(([verdict]) => counts(verdict));
  return {
    packets: of.reduce((sum, [, { packets }]) => sum + packets, 0),
    bytes: of.reduce((sum, [, { bytes }]) => sum + bytes, 0),
  };
}

/** The worst mode of all interfaces: `none` if one has no program. */
export function xdpModeOf(interfaces: readonly Pick<FilterInterface, "mode">[]): "native" | "generic" | "none" {
  if (interfaces.some(({ mode }) => mode === null)) return "none";
  return interfaces.some(({ mode }) => mode?.startsWith("generic")) ? "generic" : "native";
}
