import { expect, test } from "bun:test";
import { Counter, Registry } from "prom-client";
import { nextTurn } from "../system/timers.ts";
import { exposition } from "./exposition.ts";
import { Metrics } from "./metrics.ts";

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

test("no metric walks the heap of the process", async () => {
  expect(await new Metrics("1").text()).not.toContain("nodejs_heap_space");
});
