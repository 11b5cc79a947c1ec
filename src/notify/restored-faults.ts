/**
 * Faults that an earlier process notified, of parts that report only changes: one that is reported again still holds and is
 * not notified again; one that is not reported for a while, since its part was seen, is over. Bounded by what was notified.
 */
import { DIFFERS_MS } from "../cluster/cluster-faults.ts";
import { FAULT_TIMES } from "../telemetry/exporter-faults.ts";
import type { NotifyEvent } from "./event.ts";
import { problemOf } from "./problem.ts";

/** From when the part is seen until a fault of it that was not found again counts as over, ms. */
export const FOUND_AGAIN_MS = 300_000;
/** Longer than a fault must last to be found, ms. */
const MARGIN_MS = 60_000;

/** Kinds that an earlier build knew have none. */
const EXPORTER_TIMES: Readonly<Record<string, { readonly beginMs: number } | undefined>> = FAULT_TIMES;

interface Waiting {
  readonly event: NotifyEvent;
  /** Monotonic, ms: when the part was seen; null: it was not. */
  sinceMs: number | null;
}

export class RestoredFaults {
  readonly #waiting = new Map<string, Waiting>();
  readonly #isUnseen: IsUnseen;

  constructor(begins: Iterable<NotifyEvent>, isUnseen: IsUnseen = () => false) {
    this.#isUnseen = isUnseen;
    for (const event of begins) {
      const key = problemOf(event)?.key;
      if (key !== undefined && endOf(event) !== null) this.#waiting.set(key, { event, sinceMs: null });
    }
  }

  /** Call this for each event. Whether its targets know of it from the earlier process. */
  isKnown(event: NotifyEvent): boolean {
    const problem = this.#waiting.size === 0 ? null : problemOf(event);
    return problem !== null && this.#waiting.delete(problem.key) && !problem.isOver;
  }

  /** The ends of those that are over: call this once a second. */
  over(monotonicMs: number): readonly FaultEnd[] {
    const ends: FaultEnd[] = [];
    for (const [key, waiting] of this.#waiting) {
      const { event } = waiting;
      waiting.sinceMs = this.#isUnseen(event) ? null : (waiting.sinceMs ?? monotonicMs);
      if (waiting.sinceMs === null || monotonicMs - waiting.sinceMs < foundAgainMs(event)) continue;
      this.#waiting.delete(key);
      const end = endOf(event);
      if (end !== null) ends.push(end);
    }
    return ends;
  }
}

/** Whether the part of a fault was not seen since the start, so that the fault cannot be found again. */
export type IsUnseen = (event: NotifyEvent) => boolean;

function foundAgainMs(event: NotifyEvent): number {
  return Math.max(FOUND_AGAIN_MS, lastsMs(event) + MARGIN_MS);
}

/** How long the fault must last to be found. */
function lastsMs(event: NotifyEvent): number {
  if ("exporter" in event) return EXPORTER_TIMES[event.exporter.fault]?.beginMs ?? 0;
  return "cluster" in event && event.cluster.fault === "configuration" ? DIFFERS_MS : 0;
}

type FaultEnd = NonNullable<ReturnType<typeof endOf>>;

/** null: not of such a part. */
function endOf(event: NotifyEvent) {
  switch (event.kind) {
    case "exporter_fault":
      return { kind: "exporter_fault_over", exporter: { ...event.exporter, found: "", remedy: "" } } as const;
    case "scrub_node_fault":
      return { kind: "scrub_node_fault_over", scrubNode: { ...event.scrubNode, found: "" } } as const;
    case "file_fault":
      return { kind: "file_fault_over", file: { ...event.file, error: "", effect: "" } } as const;
    case "cluster_fault":
      return { kind: "cluster_fault_over", cluster: { ...event.cluster, found: "", remedy: "" } } as const;
    default:
      return null;
  }
}
