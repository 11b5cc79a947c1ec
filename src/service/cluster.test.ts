import { afterAll, expect, test } from "bun:test";
import { Authority } from "../../test/fixtures/cluster/authority.ts";
import { configOf } from "../../test/fixtures/config/parsed-config.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { eventually, freePort } from "../../test/fixtures/service.ts";
import { memoryStore } from "../../test/fixtures/storage/memory-state.ts";
import { Limiter } from "../observability/limiter.ts";
import { openLog } from "../observability/log.ts";
import { Metrics } from "../observability/metrics.ts";
import type { StateStore } from "../storage/state-store.ts";
import { Cluster } from "./cluster.ts";

const authority = new Authority();
afterAll(() => authority.remove());
const FILE = "networks: [192.0.2.0/24]\nthresholds: {pps: 1, mbps: 1, flows_per_sec: 1}\n";

function opened(config: string, state: StateStore, clock: ManualClock) {
  const metrics = new Metrics("1");
  const cluster = Cluster.open(configOf(config), {
    ...{ state, clock, metrics, timers: new ManualTimers(clock), version: "1", environment: { read: () => null } },
    ...{ limiter: new Limiter(clock), random: () => 0.5 },
    log: openLog({ level: "error", clock, destination: { write: () => {} } }),
  });
  return { cluster, metrics };
}

test("without a cluster no table is shared, and the stamps of one that was there go", async () => {
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
  expect(opened(FILE, again.store, clock).cluster).toBeNull();
  expect(again.store.table("levers").sharing).toBeUndefined();
  await again.flush();
  expect(memory.file.names("cluster_orders")).toEqual([]);
});

test("a brain that cannot be reached is counted", async () => {
  authority.issue("a");
  const section = {
    ...{ name: "a", listen: `127.0.0.1:${await freePort()}`, ...authority.files("a") },
    // No program listens there.
    brains: [{ name: "b", address: "127.0.0.1:1" }],
  };
  const config = `${FILE}cluster: ${JSON.stringify(section)}\n`;
  const { cluster, metrics } = opened(config, memoryStore().store, new ManualClock());
  await cluster?.peers.start();
  await eventually(() => cluster?.peers.states()[0]?.problem !== null, "the attempt has not failed");
  expect(cluster?.peers.states()[0]?.problem).toContain("ECONNREFUSED");
  expect(await metrics.text()).toContain('svc_cluster_link_failures_total{brain="b"} 1\n');
  await cluster?.stop();
});
