import { expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { observation } from "../../test/fixtures/notify/notify.ts";
import { exporterConfig, exporterReading, listenerReading } from "../../test/fixtures/telemetry/exporters.ts";
import type { FlowReadings } from "../dataplane/flow-receivers.ts";
import { TelemetryWatch } from "./telemetry.ts";

function watch(exporters = [exporterConfig()]) {
  const clock = new ManualClock();
  const { lines, ...seen } = observation(clock);
  let readings: FlowReadings = { listeners: [listenerReading()], exporters: [exporterReading()] };
  const made = new TelemetryWatch({
    ...{
      config: { listen: [], exporters },
      clock,
      timers: new ManualTimers(clock),
      log: seen.log,
      limiter: seen.limiter,
    },
    read: () => readings,
    metrics: seen.metrics.telemetry,
  });
  const changes: string[] = [];
  made.onChange(({ view, kind, change }) => changes.push(`${view.name} ${kind} ${change}`));
  made.start();
  const logged = () => lines.splice(0).map((line) => JSON.parse(line) as Record<string, unknown>);
  const read = (next: Partial<FlowReadings>) => {
    readings = { ...readings, ...next };
    clock.advance(5000);
  };
  return { made, clock, changes, logged, read, metrics: seen.metrics };
}

test("a fault is logged with its remedy when it begins, and when it is over, and counted", async () => {
  const { changes, logged, read, metrics, made } = watch();
  read({});
  logged();
  read({ exporters: [exporterReading({ silentMs: 60_000 })] });
  expect(logged()).toMatchObject([
    {
      level: "warn",
      exporter: "edge1",
      address: "192.0.2.1",
      fault: "silent",
      remedy: expect.stringContaining("router"),
    },
  ]);
  read({});
  expect(logged()).toEqual([]);
  read({ exporters: [exporterReading({ silentMs: 10 })] });
  expect(logged()).toMatchObject([{ level: "info", exporter: "edge1", fault: "silent" }]);
  expect(changes).toEqual(["edge1 silent begun", "edge1 silent ended"]);
  made.fillMetrics();
  const text = await metrics.text();
  expect(text).toContain('svc_telemetry_faults_total{fault="silent"} 1\n');
  expect(text).toContain('svc_telemetry_exporters{state="ok"} 1\n');
  expect(text).toContain('svc_telemetry_records_total{exporter="edge1",outcome="counted"} 2400\n');
  expect(text).toContain('svc_telemetry_dropped_datagrams_total{listen="[::]:2055",reason="no_exporter"} 7\n');
});

test("datagrams that a full buffer lost, and those of strangers, are logged with the remedy", () => {
  const { logged, read } = watch();
  read({});
  expect(logged()).toMatchObject([
    { level: "warn", listen: "[::]:2055", lost: 3 },
    { level: "info", addresses: ["203.0.113.9"] },
  ]);
});

test("of many faults at once, those whose begin was reported have their end reported, and no others", () => {
  const names = Array.from({ length: 100 }, (_, i) => `edge${i}`);
  const { changes, logged, read } = watch(names.map((name, i) => exporterConfig({ name, address: `198.51.100.${i}` })));
  const readWith = (silent: number) =>
    read({
      listeners: [],
      exporters: names.map((name, i) =>
        exporterReading({ name, address: address(`198.51.100.${i}`), silentMs: i < silent ? 1e6 : 10 }),
      ),
    });
  for (const silent of [0, 25, 50, 75, 100]) readWith(silent);
  const begun = changes.splice(0);
  expect(begun).toHaveLength(80);
  expect(logged().filter(({ more }) => more === 5)).toHaveLength(4);
  readWith(0);
  expect(changes.toSorted()).toEqual(begun.map((text) => text.replace("begun", "ended")).toSorted());
  expect(logged().filter(({ level }) => level === "warn")).toEqual([]);
  readWith(1);
  expect(changes.slice(80)).toEqual(["edge0 silent begun"]);
});

test("the end of a silence since the start is reported, and none of an exporter that went away meanwhile", () => {
  const { changes, read } = watch([exporterConfig(), exporterConfig({ name: "edge2", address: "192.0.2.2" })]);
  const second = (silentMs: number) => exporterReading({ name: "edge2", address: address("192.0.2.2"), silentMs });
  for (let i = 0; i < 12; i++) read({ listeners: [], exporters: [second(1e6)] });
  read({ exporters: [exporterReading()] });
  read({ exporters: [exporterReading(), second(10)] });
  expect(changes).toEqual(["edge2 silent begun", "edge1 silent begun", "edge1 silent ended"]);
});

test("exporters beyond the measured ones have their metrics together", async () => {
  const names = Array.from({ length: 258 }, (_, i) => `edge${i}`);
  const { read, made, metrics } = watch(names.map((name, i) => exporterConfig({ name, address: `2001:db8::${i}` })));
  read({ exporters: names.map((name, i) => exporterReading({ name, address: address(`2001:db8::${i}`) })) });
  made.fillMetrics();
  const text = await metrics.text();
  expect(text.match(/^svc_telemetry_exporter_datagrams_total\{/gm)).toHaveLength(257);
  expect(text).toContain('svc_telemetry_exporter_datagrams_total{exporter="(others)"} 200\n');
});
