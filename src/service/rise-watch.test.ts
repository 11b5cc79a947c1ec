/** An attack above the baseline that never ends: three hours of the service's own clocks, then where it is reported. */
import { expect, test } from "bun:test";
import { thresholds } from "../../test/fixtures/host-rows.ts";
import { ManualClock } from "../../test/fixtures/manual-clock.ts";
import { Scenario } from "../../test/fixtures/scenario.ts";
import { ServiceInProcess } from "../../test/fixtures/service-in-process.ts";
import { attack } from "../../test/fixtures/views.ts";
import { explain } from "../detection/attack/reason.ts";

const HOUR_MS = 3_600_000;
const CONFIG = `
networks: [192.0.2.0/24]
thresholds: { pps: 5000, mbps: 1000, flows_per_sec: 100000 }
baseline: { floor: { pps: 300, mbps: 50, flows_per_sec: 1000 } }
`;
const LEARNED = {
  baseline: { normal: 400, factor: 3, floor: 300, ceiling: 5000 },
  normalOf: "recent",
  baselineConfigured: true,
  warmupRemainingSeconds: null,
} as const;

const scene = new Scenario();

test("is reported after three hours, once, in the log, in the metrics and with the attack", async () => {
  const clock = new ManualClock();
  const service = new ServiceInProcess({ directory: scene.directory, config: CONFIG, clock });
  scene.onEnd(() => service.stop());
  const { metrics } = service;
  const rates = thresholds({ pps: 1500 });
  // As a tick of the packet counter would have found it: there is none here, whose time could not be moved on.
  service.floodwall.detector.restore([attack({ rates, reason: explain(rates, LEARNED) })]);
  const warnings = () => service.logged.filter(({ msg }) => msg.includes("above the baseline"));
  const active = async () => (await service.get<{ active: object[] }>("/api/v1/attacks")).active;
  clock.advance(3 * HOUR_MS);
  expect(warnings()).toEqual([]);
  expect((await active())[0]).not.toHaveProperty("lasting_rise");
  expect(await metrics.text()).toContain("\nsvc_attacks_lasting_rise 0\n");
  // The first look, a second after the start, begins the three hours.
  clock.advance(1000);
  expect(warnings()).toHaveLength(1);
  expect(JSON.stringify(warnings())).toContain("raise baseline.floor or baseline.factor");
  expect(await active()).toMatchObject([{ target: "192.0.2.1", active: true, lasting_rise: true }]);
  expect(await metrics.text()).toContain("\nsvc_attacks_lasting_rise 1\n");
  clock.advance(3 * HOUR_MS);
  expect(warnings()).toHaveLength(1);
});
