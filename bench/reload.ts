/**
 * For how long does a reload block the event loop? Compared with reading and checking the same file on the event loop.
 */
import { writeFileSync } from "node:fs";
import { loadConfigOrThrow } from "../src/config/load/load.ts";
import { loadAddon } from "../src/dataplane/addon.ts";
import { openLog } from "../src/observability/log.ts";
import { Metrics } from "../src/observability/metrics.ts";
import { Floodwall } from "../src/service/floodwall.ts";
import { StateDatabase } from "../src/storage/state-database.ts";
import { systemClock } from "../src/system/clock.ts";
import { processEnvironment } from "../src/system/environment.ts";
import { systemTimers } from "../src/system/timers.ts";
import { localStore } from "../test/fixtures/storage/memory-state.ts";
import { TemporaryFolder } from "../test/fixtures/temporary-folder.ts";
import { type Bench, figure, type Measurement } from "./measurement.ts";

const RUNS = 7;
const SIZES = [
  { prefixes: 100_000, targetMs: 50 },
  { prefixes: 10_000, targetMs: 20 },
] as const;

export const reload: Bench = {
  question: "reload: longest hold-up of the event loop",
  async run() {
    const rows: Measurement[] = [];
    for (const size of SIZES) rows.push(await measure(size));
    return rows;
  },
};

async function measure({ prefixes, targetMs }: (typeof SIZES)[number]): Promise<Measurement> {
  using directory = new TemporaryFolder("bench");
  const path = directory.at("floodwall.yaml");
  writeFileSync(path, configText(prefixes, directory.path));
  const ours: number[] = [];
  const rival: number[] = [];
  const floodwall = floodwallOn(path);
  // Not in turns: the rival's garbage would be collected during our measurement.
  for (let run = 0; run < RUNS; run++) ours.push(await holdUpMs(() => reloaded(floodwall)));
  for (let run = 0; run < RUNS; run++) rival.push(await holdUpMs(async () => void loadConfigOrThrow(path)));
  await floodwall.stop();
  const mine = figure("Floodwall, in a thread of its own", ours);
  return {
    question: `reload with ${prefixes.toLocaleString("en-US")} prefixes: longest hold-up of the event loop`,
    unit: "ms",
    ours: mine,
    rival: figure("the same file on the event loop", rival),
    target: `≤ ${targetMs} ms`,
    isMet: mine.median <= targetMs,
  };
}

/** Half of them are networks, the other half are in a hundred hostgroups. */
function configText(prefixes: number, directory: string): string {
  const half = prefixes / 2;

  const address = (i: number) => `10.${i >> 8}.${i & 255}`;
  const networks = Array.from({ length: half }, (_, i) => `  - ${address(i)}.0/24\n`);
  const groups = Array.from({ length: 100 }, (_, group) => {
    const own = Array.from({ length: half / 100 }, (_, i) => `      - ${address((group * half) / 100 + i)}.128/25\n`);
    return `  - name: group-${group}\n    networks:\n${own.join("")}`;
  });
  return `state_dir: ${directory}
capture: {pcap_file: ${directory}/none.pcap}
thresholds: {pps: 1000, mbps: 100, flows_per_sec: 100}
networks:
${networks.join("")}hostgroups:
${groups.join("")}`;
}

/** With a packet counter, since a reload changes its networks too; it counts nothing here. */
function floodwallOn(configPath: string): Floodwall {
  const config = loadConfigOrThrow(configPath);
  return new Floodwall({
    config,
    configPath,
    state: localStore(new StateDatabase(config.stateDir), systemTimers),
    native: loadAddon(),
    clock: systemClock,
    timers: systemTimers,
    environment: processEnvironment,
    log: openLog({ level: "error", clock: systemClock }),
    metrics: new Metrics("bench"),
  });
}

async function reloaded(floodwall: Floodwall): Promise<void> {
  const outcome = await floodwall.reload();
  if (outcome.kind === "invalid") throw new Error(outcome.problems.join("\n"));
}

/** The longest time between two turns of a timer of 1 ms while `work` runs. */
async function holdUpMs(work: () => Promise<void>): Promise<number> {
  let longestMs = 0;
  let lastMs = performance.now();
  const look = () => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  };
  const timer = setInterval(look, 1);
  await work();
  await new Promise((resolve) => setTimeout(resolve, 50));
  clearInterval(timer);
  look();
  return longestMs;
}
