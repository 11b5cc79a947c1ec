/** An attack above the baseline that never ends: three hours of the service's own clocks, and who is told. */
import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig } from "../../src/config/load/load.ts";
import { explain } from "../../src/detection/attack/reason.ts";
import { attackToWire } from "../../src/http/wire/attack.ts";
import { openLog } from "../../src/observability/log.ts";
import { Metrics } from "../../src/observability/metrics.ts";
import { Floodwall } from "../../src/service/floodwall.ts";
import { StateDatabase } from "../../src/storage/state-database.ts";
import { attack } from "../fixtures/browser/views.ts";
import { thresholds } from "../fixtures/host-rows.ts";
import { ManualClock, ManualTimers } from "../fixtures/manual-clock.ts";

const HOUR_MS = 3_600_000;

const undo: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

function serviceWithAttack() {
  const directory = mkdtempSync(join(tmpdir(), `floodwall-rise-${process.pid}-`));
  undo.push(() => rmSync(directory, { recursive: true, force: true }));
  const loaded = parseConfig(
    new TextEncoder().encode(`
networks: [192.0.2.0/24]
thresholds: { pps: 5000, mbps: 1000, flows_per_sec: 100000 }
baseline: { floor: { pps: 300, mbps: 50, flows_per_sec: 1000 } }
state_dir: ${directory}
`),
  );
  if (loaded.kind === "invalid") throw new Error(loaded.problems.map(({ rule }) => rule).join("; "));
  const state = new StateDatabase(directory);
  const learned = {
    baseline: { normal: 400, factor: 3, floor: 300, ceiling: 5000 },
    normalOf: "recent",
    baselineConfigured: true,
    warmupRemainingSeconds: null,
  } as const;
  const rates = thresholds({ pps: 1500 });
  const clock = new ManualClock();
  const lines: string[] = [];
  const metrics = new Metrics("1.2.3");
  const floodwall = new Floodwall({
    config: loaded.config,
    configPath: "",
    state,
    native: null,
    clock,
    timers: new ManualTimers(clock),
    environment: { read: () => null },
    log: openLog({ level: "warn", clock, destination: { write: (line) => void lines.push(line) } }),
    metrics,
  });
  floodwall.start();
  // As a tick of the packet counter would have found it: there is none here, whose time could not be moved on.
  floodwall.detector.restore([attack({ rates, reason: explain(rates, learned) })]);
  undo.push(() => floodwall.stop());
  const warnings = () => lines.filter((line) => line.includes("above the baseline"));
  const onWire = () => [...floodwall.detector.active.values()].map((each) => attackToWire({ attack: each, ban: null }));
  return { clock, metrics, warnings, onWire };
}

test("is told of after three hours, once, in the log, in the metrics and with the attack", async () => {
  const { clock, metrics, warnings, onWire } = serviceWithAttack();
  clock.advance(3 * HOUR_MS);
  expect(warnings()).toEqual([]);
  expect(onWire()[0]).not.toHaveProperty("lasting_rise");
  expect(await metrics.text()).toContain("\nsvc_attacks_lasting_rise 0\n");
  // The first look, a second after the start, begins the three hours.
  clock.advance(1000);
  expect(warnings()).toHaveLength(1);
  expect(warnings()[0]).toContain("raise baseline.floor or baseline.factor");
  expect(onWire()).toMatchObject([{ target: "192.0.2.1", active: true, lasting_rise: true }]);
  expect(await metrics.text()).toContain("\nsvc_attacks_lasting_rise 1\n");
  clock.advance(3 * HOUR_MS);
  expect(warnings()).toHaveLength(1);
});
