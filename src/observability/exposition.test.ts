import { expect, test } from "bun:test";
import { Counter, Registry } from "prom-client";
import { nextTurn } from "../system/timers.ts";
import { exposition } from "./exposition.ts";
import { Metrics } from "./metrics.ts";
import { ScrubAgentMetrics } from "./scrub-agent-metrics.ts";

const METRICS = 20;

function largeRegistry(): Registry {
  const registry = new Registry();
  for (let i = 0; i < METRICS; i++) {
    const counter = new Counter({ name: `m${i}_total`, help: "-", labelNames: ["of"], registers: [registry] });
    for (let of = 0; of < 1000; of++) counter.inc({ of });
  }
  return registry;
}

test("the event loop turns between the metrics of a large text, which is the library's", async () => {
  const registry = largeRegistry();
  let turns = 0;
  let isOver = false;
  const text = exposition(registry).finally(() => {
    isOver = true;
  });
  for (; !isOver; turns++) await nextTurn();
  expect(turns).toBeGreaterThanOrEqual(METRICS);
  expect(await text).toBe(await registry.metrics());
});

test.each([Metrics, ScrubAgentMetrics])("%p has those of the process, of which none walks the heap", async (Group) => {
  const metrics = new Group("1");
  metrics.collectProcess();
  const text = await metrics.text();
  expect(text).toContain("process_resident_memory_bytes ");
  expect(text).toContain("nodejs_eventloop_lag_p99_seconds ");
  expect(text).not.toContain("nodejs_heap_space");
});
