/** Source blocks: active ones, free policy slots, and the results of commands. */
import { Counter, Gauge, type Registry } from "prom-client";

export interface SourceBlockReading {
  readonly virtual: number;
  readonly installed: number;
  /** Not installed in the kernel yet. */
  readonly missing: number;
  readonly slotsFree: number;
}

export class SourceBlockMetrics {
  readonly #live: Gauge<"state">;
  readonly #slots: Gauge;
  readonly #orders: Counter;
  readonly #refused: Counter<"reason">;
  readonly #ended: Counter<"reason">;
  readonly #faults: Counter<"operation">;

  constructor(registry: Registry) {
    const registers = [registry];
    const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter<Label>({ name, help, labelNames, registers });
    this.#live = new Gauge({
      name: "svc_source_blocks",
      help: "Active source blocks: in the kernel, waiting to be installed, or virtual in dry run.",
      labelNames: ["state"],
      registers,
    });
    this.#slots = new Gauge({
      name: "svc_source_block_slots_free",
      help: "Free policy slots for pairs, without the slots reserved for bans.",
      registers,
    });
    this.#orders = counter("svc_source_blocks_ordered_total", "Commands that blocked a source or refreshed its block.");
    this.#refused = counter("svc_source_blocks_refused_total", "Commands that were refused.", "reason");
    this.#ended = counter("svc_source_blocks_ended_total", "Source blocks that ended.", "reason");
    this.#faults = counter(
      "svc_source_block_faults_total",
      "Operations on pairs that the kernel refused.",
      "operation",
    );
  }

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

  ordered(): void {
    this.#orders.inc();
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
