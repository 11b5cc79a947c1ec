/**
 * Plays a fleet of edge nodes. `run` starts a service for it and ends it after; `write` puts a configuration, a zones file
 * and the tokens into a folder, for a service that is started by hand, and `play` is the fleet of such a folder.
 *   main.ts run [SHAPE] [PLAY]                 main.ts write DIRECTORY [SHAPE]
 *   main.ts play DIRECTORY --url http://127.0.0.1:8080 [PLAY] [--driven]
 * SHAPE: --nodes 20 --zones 50 --groups 4 --seed 1   PLAY: --seconds 60 (0: until it is interrupted) --orders 1 --window 10
 * Driven, it reads commands, one a line, and answers each with a line of JSON: summary, mark, delivery, reset.
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { systemTimers } from "../../src/system/timers.ts";
import { ServiceProcess } from "../../test/fixtures/service.ts";
import { TemporaryFolder } from "../../test/fixtures/temporary-folder.ts";
import { percentile } from "../measurement.ts";
import { Fleet, type FleetSummary } from "./fleet.ts";
import { FleetConfig, type FleetShape } from "./fleet-config.ts";

const OPTIONS = {
  nodes: { type: "string", default: "20" },
  zones: { type: "string", default: "50" },
  groups: { type: "string", default: "4" },
  seed: { type: "string", default: "1" },
  seconds: { type: "string", default: "60" },
  orders: { type: "string", default: "1" },
  window: { type: "string", default: "10" },
  url: { type: "string", default: "http://127.0.0.1:8080" },
  driven: { type: "boolean", default: false },
  /** After this number, the reports of a node are repeated with new times. 0: all reports are generated. */
  "reports-kept": { type: "string", default: "0" },
} as const;

const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
const [command, directory = ""] = positionals;
if (command === "run") await run();
else if (command === "write" && directory !== "") new FleetConfig(shapeAsked()).writeTo(resolve(directory));
else if (command === "play" && directory !== "") await play(resolve(directory), new URL(values.url));
else {
  console.error("usage: main.ts run | write DIRECTORY | play DIRECTORY; its first lines say with what");
  process.exit(2);
}

async function run(): Promise<void> {
  using folder = new TemporaryFolder("edge-sim");
  const config = new FleetConfig(shapeAsked());
  config.writeTo(folder.path);
  const service = await ServiceProcess.start({
    config: config.text(folder.at("zones.yaml")),
    api: config.tokens(),
    env: config.secrets(),
  });
  try {
    await play(folder.path, new URL(`http://127.0.0.1:${service.port}`));
  } finally {
    await service.remove();
  }
}

async function play(folder: string, url: URL): Promise<void> {
  const { nodes, shape } = FleetConfig.readFrom(folder);
  const fleet = new Fleet({
    ...{ url, nodes, seed: shape.seed },
    windowSeconds: Number(values.window),
    ordersPerNode: Number(values.orders),
    reportsKept: Number(values["reports-kept"]) || null,
  });
  await fleet.start();
  if (values.driven) {
    console.log(JSON.stringify(fleet.summary()));
    await obey(fleet);
  } else {
    await ended(Number(values.seconds));
    print(fleet.summary());
  }
  await fleet.stop();
}

/** Runs until its input ends. */
async function obey(fleet: Fleet): Promise<void> {
  for await (const line of console) {
    // At its end, the console returns an empty line.
    if (line === "") continue;
    if (line === "mark") fleet.mark();
    else if (line === "reset") fleet.resetTimes();
    else if (line !== "summary" && line !== "delivery") throw new Error(`not a command: ${line}`);
    console.log(JSON.stringify(line === "delivery" ? fleet.delivery() : fleet.summary()));
  }
}

function print({ reportTimesMs, ...summary }: FleetSummary): void {
  const at = (share: number) => (reportTimesMs.length === 0 ? null : percentile(reportTimesMs, share).toFixed(1));
  console.log(JSON.stringify({ ...summary, reportMs: { p50: at(0.5), p99: at(0.99), longest: at(1) } }, null, 2));
}

/** 0: until it is interrupted. */
function ended(seconds: number): Promise<void> {
  return new Promise((resolve) => {
    process.once("SIGINT", () => resolve());
    process.once("SIGTERM", () => resolve());
    if (seconds > 0) systemTimers.after(seconds * 1000, resolve);
  });
}

function shapeAsked(): FleetShape {
  const [nodes, zones, groups, seed] = [values.nodes, values.zones, values.groups, values.seed].map(Number);
  if (![nodes, zones, groups, seed].every(Number.isInteger))
    throw new Error("nodes, zones, groups and seed are numbers");
  return { nodes: nodes ?? 0, zones: zones ?? 0, groups: groups ?? 0, seed: seed ?? 0 };
}
