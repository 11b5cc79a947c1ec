/**
 * Faults that an earlier process notified, of parts that report only changes: one that is reported again still holds and is
 * not notified again; one that is not reported for a while is over. Bounded by what was notified.
 */
import type { NotifyEvent } from "./event.ts";
import { problemOf } from "./problem.ts";

/** From the start until what was not found again counts as over, ms: some faults must last for minutes to be found. */
export const FOUND_AGAIN_MS = 300_000;

export class RestoredFaults {
  readonly #waiting = new Map<string, NotifyEvent>();
  #sinceMs: number | null = null;

  constructor(begins: Iterable<NotifyEvent>) {
    for (const event of begins) {
      const key = problemOf(event)?.key;
      if (key !== undefined && endOf(event) !== null) this.#waiting.set(key, event);
    }
  }

  /** Call this for each event. Whether its targets know of it from the earlier process. */
  isKnown(event: NotifyEvent): boolean {
    const problem = this.#waiting.size === 0 ? null : problemOf(event);
    return problem !== null && this.#waiting.delete(problem.key) && !problem.isOver;
  }

  /** The ends of those that are over: call this once a second. */
  over(monotonicMs: number): readonly FaultEnd[] {
    this.#sinceMs ??= monotonicMs;
    if (this.#waiting.size === 0 || monotonicMs - this.#sinceMs < FOUND_AGAIN_MS) return [];
    const ends = [...this.#waiting.values()].map(endOf).filter((end) => end !== null);
    this.#waiting.clear();
    return ends;
  }
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
