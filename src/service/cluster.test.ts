import { expect, test } from "bun:test";
import { configOf } from "../../test/fixtures/config/parsed-config.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { memoryStore } from "../../test/fixtures/storage/memory-state.ts";
import { Limiter } from "../observability/limiter.ts";
import { openLog } from "../observability/log.ts";
import { Metrics } from "../observability/metrics.ts";
import { Cluster } from "./cluster.ts";

const FILE = "networks: [192.0.2.0/24]\nthresholds: {pps: 1, mbps: 1, flows_per_sec: 1}\n";

test("without a cluster no table is shared, and the stamps of one that was there go", async () => {
  const config = configOf(FILE);
  const clock = new ManualClock();
  const memory = memoryStore();
  const order = {
    table: "levers",
    key: "a.example",
    stamp: { ms: 1, brain: "a" },
    state: "ended",
    record: null,
    atMs: 1,
  } as const;
  memory.file.rows.cluster_orders.set("levers a.example", order);
  const again = memoryStore(memory.file, clock);
  const opened = Cluster.open(config, {
    ...{ state: again.store, clock, timers: new ManualTimers(clock), metrics: new Metrics("1"), version: "1" },
    environment: { read: () => null },
    ...{ limiter: new Limiter(clock), random: () => 0.5, log: openLog({ level: "error", clock }) },
  });
  expect(opened).toBeNull();
  expect(again.store.table("levers").sharing).toBeUndefined();
  await again.flush();
  expect(memory.file.names("cluster_orders")).toEqual([]);
});
