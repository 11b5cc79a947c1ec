/** Metrics of the process by the client library: `process_` and `nodejs_`. Once a process: they start a timer of 10 ms. */
import { collectDefaultMetrics, type Registry } from "prom-client";

/** Each read of them walks the whole heap at once, and under Bun they have one space. */
const HEAP_SPACES = ["total", "used", "available"].map((of) => `nodejs_heap_space_size_${of}_bytes`);

export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  for (const name of HEAP_SPACES) registry.removeSingleMetric(name);
}
