/** A brain whose clock is set while an order of another one is on its way: the running service, and no connection. */

import { expect, test } from "bun:test";
import { configOf } from "../../test/fixtures/config/parsed-config.ts";
import { TestEdge } from "../../test/fixtures/edge/edge.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { memoryStore } from "../../test/fixtures/storage/memory-state.ts";
import { Limiter } from "../observability/limiter.ts";
import { openLog } from "../observability/log.ts";
import { Metrics } from "../observability/metrics.ts";
import { Cluster } from "./cluster.ts";
import { Floodwall } from "./floodwall.ts";

const FILE = `networks: [192.0.2.0/24]
thresholds: { pps: 1, mbps: 1, flows_per_sec: 1 }
cluster:
  name: a
  listen: "127.0.0.1:1"
  certificate: /none
  key: /none
  authority: /none
  brains: [{ name: b, address: "127.0.0.1:2" }]
`;
const [MINUTE, HOUR] = [60_000, 3_600_000];

function brain() {
  const config = configOf(FILE);
  const clock = new ManualClock();
  const parts = {
    clock,
    timers: new ManualTimers(clock),
    log: openLog({ level: "error", clock, destination: { write: () => {} } }),
  };
  const { store } = memoryStore();
  const opened = { ...parts, metrics: new Metrics("1"), state: store, environment: { read: () => null } };
  const cluster = Cluster.open(config, {
    ...{ ...opened, version: "1", limiter: new Limiter(clock), random: () => 0.5 },
  });
  if (cluster === null) throw new Error("the file has a cluster");
  const floodwall = new Floodwall({ ...opened, config, configPath: "/none", native: null });
  const edge = new TestEdge(clock, parts.timers);
  cluster.start(floodwall, Object.assign(edge, { onPublished: () => {}, clearance: () => null }));
  return { clock, cluster, floodwall };
}

function windowOf(name: string, wallMs: number) {
  const times = { kind: "once", fromMs: 0, untilMs: wallMs + 10 * MINUTE };
  const what = { watchOnly: true, quiet: false, thresholdFactor: 1, prefixes: [], hostgroups: [], reason: "" };
  const window = { name, ...what, times };
  return { name, window, createdAt: wallMs, expiresAt: wallMs + 10 * MINUTE, operator: "noc" };
}

test.each([-HOUR, HOUR])(
  "an order that arrives right after a step of %d ms lasts as long as the others",
  async (byMs) => {
    const { clock, cluster, floodwall } = brain();
    const of = (name: string) => ({
      ...{ table: "maintenance" as const, key: name, stamp: { ms: clock.wallMs(), brain: "b" } },
      record: windowOf(name, clock.wallMs()),
    });
    await cluster.register.take([of("before")], "b");
    clock.setWall(new Date(clock.wallMs() + byMs).toISOString());
    // Its times have been corrected by the clock that this brain has now.
    await cluster.register.take([of("after")], "b");
    clock.advance(2000);
    floodwall.maintenance.tick(floodwall.now().wallMs);
    const leftMs = ["before", "after"].map((name) => {
      const order = floodwall.maintenance.orders.get(name);
      return order === undefined ? null : order.expiresAt - clock.wallMs();
    });
    expect(leftMs).toEqual([10 * MINUTE - 2000, 10 * MINUTE - 2000]);
    cluster.stopOrders();
    await cluster.stop();
  },
);

test("a scheduled window of a brain whose clock differs opens when it says, also after this clock is set right", async () => {
  const { clock, cluster, floodwall } = brain();
  // This clock is an hour and a half ahead.
  const wallMs = clock.wallMs() - 1.5 * HOUR;
  const [fromMs, untilMs] = [wallMs + HOUR, wallMs + 3 * HOUR];
  const order = { ...windowOf("w", wallMs), expiresAt: untilMs };
  const record = { ...order, window: { ...order.window, times: { kind: "once", fromMs, untilMs } } };
  const sent = { table: "maintenance", key: "w", stamp: { ms: wallMs, brain: "b" }, record } as const;
  await cluster.register.take([cluster.register.shifted(sent, 1.5 * HOUR)], "b");
  clock.setWall(new Date(wallMs).toISOString());
  floodwall.maintenance.tick(floodwall.now().wallMs);
  const [view] = floodwall.maintenance.views();
  expect([view?.openUntil, view?.opensNext, view?.order?.expiresAt]).toEqual([
    null,
    { atMs: fromMs, untilMs },
    untilMs,
  ]);
  cluster.stopOrders();
  await cluster.stop();
});
