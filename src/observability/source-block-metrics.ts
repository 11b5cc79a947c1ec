/** Source blocks: active ones, free policy slots, and the results of commands. */
import { MetricGroup } from "./metric-group.ts";

interface SourceBlockReading {
  readonly virtual: number;
  readonly installed: number;
  /** Not installed in the kernel yet. */
  readonly missing: number;
  readonly slotsFree: number;
}

export class SourceBlockMetrics extends MetricGroup {
  readonly #live = this.gauge(
    "svc_source_blocks",
    "Active source blocks: in the kernel, waiting to be installed, or virtual in dry run.",
    "state",
  );
  readonly #slots = this.gauge(
    "svc_source_block_slots_free",
    "Free policy slots for pairs, without the slots reserved for bans.",
  );
  readonly ordered = this.counting(
    "svc_source_blocks_ordered_total",
    "Commands that blocked a source or refreshed its block.",
  );
  readonly #refused = this.counter("svc_source_blocks_refused_total", "Commands that were refused.", "reason");
  readonly #ended = this.counter("svc_source_blocks_ended_total", "Source blocks that ended.", "reason");
  readonly #faults = this.counter(
    "svc_source_block_faults_total",
    "Operations on pairs that the kernel refused.",
    "operation",
  );

  /** Creates the labels with a value of 0. */
  declare(labels: Readonly<Record<"refusals" | "ends" | "operations", readonly string[]>>): void {
    for (const reason of labels.refusals) this.#refused.inc({ reason }, 0);
    for (const reason of labels.ends) this.#ended.inc({ reason }, 0);
    for (const operation of labels.operations) this.#faults.inc({ operation }, 0);
  }

  set({ virtual, installed, missing, slotsFree }: SourceBlockReading): void {
    for (const [state, blocks] of Object.entries({ virtual, installed, missing })) this.#live.set({ state }, blocks);
    this.#slots.set(slotsFree);
  }

  refused(reason: string): void {
    this.#refused.inc({ reason });
  }

  ended(reason: string, blocks: number): void {
    this.#ended.inc({ reason }, blocks);
  }

  kernelFailed(operation: string): void {
    this.#faults.inc({ operation });
  }
}
