/**
 * `make lab-telemetry`: exporters of others in a router's namespace. First what several readers make of one stream of
 * each, host by host. Then floods through the router: when its BIRD has the route, and what the service says of the rate
 * by flow records, beside what another one counts on a mirror of the same link. Prints tables, writes them as Markdown
 * into build/lab-telemetry.md, and exits 1 if something disagrees.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";
import { namespacesUnavailable } from "../lab/namespaces.ts";
import { textTable } from "../text-table.ts";
import { type Agreement, disagreements, RECEIVE_BUFFER, watch } from "./agreement.ts";
import type { HostTotals } from "./collector.ts";
import { EXPORTERS, type ExporterKind } from "./exporters.ts";
import { FLOW_PORT, LabWorld } from "./lab-world.ts";
import { READERS, type Totals } from "./readers.ts";
import { grantReceiveBuffers } from "./udp-socket.ts";

const MARKDOWN = join(import.meta.dir, "../../build/lab-telemetry.md");
const WATCHED = { hosts: 10, packets: 4000, pps: 2000, frameBytes: 200 };
/** Standard errors of the estimate within which a sampled total must be. */
const ERRORS_MAX = 4;
const SAMPLING = 10;
const VICTIM = "203.0.113.9";
const FLOOD = {
  profile: "udp",
  target: VICTIM,
  sources: 200,
  pps: 20_000,
  seconds: 10,
  path: "socket",
  bytes: 200,
} as const;
/** When the first records of all flows have come and been spread. */
const RATES_AFTER_MS = 5000;
/** By then the services have started: until then their compilers take the cores that the exporter needs. */
const SETTLED_MS = 6000;
/** Of the mirror's rate, beside the sampling's error: windows of both begin at different moments. */
const RATE_SLACK = 0.1;

interface Table {
  readonly title: string;
  readonly rows: readonly (readonly string[])[];
  readonly faults: readonly string[];
}

const { values } = parseArgs({ options: { only: { type: "string", default: "" }, part: { type: "string" } } });
const unavailable = namespacesUnavailable();
if (unavailable === null) process.exit(await main());
console.log(`skipped: exporters of others: ${unavailable}`);

async function main(): Promise<number> {
  const installed = (programs: readonly string[]) => programs.every((name) => Bun.which(name) !== null);
  const missing = [...EXPORTERS, ...READERS]
    .flatMap(({ programs }) => programs)
    .filter((name) => Bun.which(name) === null);
  if (missing.length > 0) console.log(`left out, since not installed: ${[...new Set(missing)].join(", ")}`);
  const exporters = EXPORTERS.filter(({ programs, name }) => installed(programs) && name.includes(values.only));
  const readers = READERS.filter(({ programs }) => installed(programs));
  const parts: Readonly<Record<string, () => Promise<Table>>> = {
    agreement: () => agreementTable(exporters, readers),
    sampled: () => sampledTable(exporters),
    floods: () => floodTable(exporters),
  };
  const tables: Table[] = [];
  const undo = new Undo();
  try {
    grantReceiveBuffers(undo, RECEIVE_BUFFER);
    for (const [name, part] of Object.entries(parts)) {
      if (values.part === undefined || values.part === name) tables.push(await part());
    }
  } finally {
    await undo.all();
  }
  for (const { title, rows } of tables) console.log(`\n${title}\n${textTable(rows, () => false)}`);
  mkdirSync(dirname(MARKDOWN), { recursive: true });
  writeFileSync(MARKDOWN, tables.map(markdown).join("\n"));
  const faults = tables.flatMap((table) => table.faults);
  for (const fault of faults) console.log(`FAULT: ${fault}`);
  console.log(faults.length === 0 ? "\nall agree" : `\n${faults.length} faults`);
  return faults.length === 0 ? 0 : 1;
}

async function agreementTable(exporters: readonly ExporterKind[], readers: typeof READERS): Promise<Table> {
  const rows = [["exporter", "datagrams", "packets: ours", ...readers.map(({ name }) => name), ""]];
  const faults: string[] = [];
  for (const exporter of exporters) {
    const agreement = await watch(exporter, readers, { ...WATCHED, sampling: 1 }).catch((cause: unknown) =>
      String(cause),
    );
    if (typeof agreement === "string") {
      faults.push(`${exporter.name}: ${agreement}`);
      continue;
    }
    const differ = disagreements(agreement, exporter);
    if (agreement.lostBefore > 0)
      faults.push(`${exporter.name}: the lab's relay lost ${agreement.lostBefore} datagrams`);
    faults.push(...differ.slice(0, 3).map((line) => `${exporter.name}: ${line}`));
    const cells = agreement.readers.map(({ totals }) => packetsOf(totals, agreement).toLocaleString("en-US"));
    const misread = (exporter.misreadBy ?? []).length > 0 ? ` but ${exporter.misreadBy?.join(", ")}` : "";
    const verdict = differ.length === 0 ? `all agree${misread}, host by host` : `${differ.length} disagree`;
    rows.push([
      exporter.name,
      String(agreement.datagrams),
      packetsOf(agreement.ours.hosts, agreement).toLocaleString("en-US"),
      ...cells,
      verdict,
    ]);
    console.log(rows.at(-1)?.join(" | "));
  }
  return {
    title: `${WATCHED.packets.toLocaleString("en-US")} packets to ${WATCHED.hosts} hosts, not sampled`,
    rows,
    faults,
  };
}

/** Of the hosts that we know. */
function packetsOf(totals: Totals, { ours }: Agreement): number {
  return Object.keys(ours.hosts).reduce((sum, host) => sum + (totals[host]?.packets ?? 0), 0);
}

async function sampledTable(exporters: readonly ExporterKind[]): Promise<Table> {
  const rows = [["exporter", "said by it", "packets sent", "estimated", "off by", "standard error"]];
  const faults: string[] = [];
  for (const exporter of exporters.filter(({ canSample }) => canSample)) {
    const agreement = await watch(exporter, [], { ...WATCHED, packets: 8000, sampling: SAMPLING }).catch(
      (cause: unknown) => String(cause),
    );
    if (typeof agreement === "string") {
      faults.push(`${exporter.name}: ${agreement}`);
      continue;
    }
    const said = agreement.ours.exporters.flatMap(({ samplings }) =>
      samplings.map(({ rate, origin }) => `1:${rate} (${origin})`),
    );
    const estimated = Object.values(agreement.ours.hosts).reduce(
      (sum: number, { packets }: HostTotals) => sum + packets,
      0,
    );
    const error = Math.sqrt(8000 * (SAMPLING - 1));
    const off = estimated - 8000;
    if (Math.abs(off) > ERRORS_MAX * error)
      faults.push(`${exporter.name}, 1:${SAMPLING}: ${estimated} of 8000 packets`);
    const percent = (value: number) => `${((100 * value) / 8000).toFixed(1)} %`;
    rows.push([
      exporter.name,
      said.join(", "),
      "8,000",
      estimated.toLocaleString("en-US"),
      percent(off),
      percent(error),
    ]);
    console.log(rows.at(-1)?.join(" | "));
  }
  return { title: `Sampled, one packet in ${SAMPLING}`, rows, faults };
}

async function floodTable(exporters: readonly ExporterKind[]): Promise<Table> {
  const rows = [["exporter", "first packet → route in BIRD", "mirror, packets/s", "by flows, packets/s", "ratio"]];
  const faults: string[] = [];
  const jobs = exporters
    .filter(({ isSlow }) => isSlow !== true)
    .flatMap((exporter) => [
      { exporter, sampling: 1 },
      ...(exporter.canSample ? [{ exporter, sampling: SAMPLING }] : []),
    ]);
  for (const { exporter, sampling } of jobs) {
    const name = sampling === 1 ? exporter.name : `${exporter.name}, 1:${sampling}`;
    try {
      const { routeMs, mirrorPps, flowsPps } = await flood(exporter, sampling);
      const ratio = flowsPps / mirrorPps;
      const slack = RATE_SLACK + ERRORS_MAX * Math.sqrt((sampling - 1) / mirrorPps);
      const isHeld = routeMs !== null && Math.abs(ratio - 1) <= slack;
      if (!isHeld) faults.push(`${name}: route after ${routeMs} ms, ${flowsPps} of ${mirrorPps} packets/s`);
      const number = (value: number) => Math.round(value).toLocaleString("en-US");
      rows.push([
        name,
        routeMs === null ? "none" : `${number(routeMs)} ms`,
        number(mirrorPps),
        number(flowsPps),
        ratio.toFixed(3),
      ]);
      console.log(rows.at(-1)?.join(" | "));
    } catch (cause) {
      faults.push(`${name}: ${String(cause)}`);
    }
  }
  return { title: `A flood of ${FLOOD.pps.toLocaleString("en-US")} packets/s through the router`, rows, faults };
}

async function flood(exporter: ExporterKind, sampling: number) {
  const world = await LabWorld.create({ hasMirror: true });
  try {
    const { router, undo } = world;
    await exporter.start({
      namespace: router,
      device: "up0",
      collector: "198.51.100.1",
      port: FLOW_PORT,
      sampling,
      undo,
    });
    world.mirrorUplink();
    await Bun.sleep(SETTLED_MS);
    const sending = world.send(FLOOD);
    const began = performance.timeOrigin + performance.now();
    const routed = eventually(() => world.bird.hasRoute(`${VICTIM}/32`), "", 1000 * FLOOD.seconds + 2000, 2).then(
      () => performance.timeOrigin + performance.now(),
      () => null,
    );
    await Bun.sleep(RATES_AFTER_MS - (performance.timeOrigin + performance.now() - began));
    const rates = await meanRates(
      [world.mirror as ServiceProcess, world.flows],
      1000 * FLOOD.seconds - RATES_AFTER_MS - 700,
    );
    const [sent, routedMs] = [await sending, await routed];
    const routeMs = routedMs === null ? null : routedMs - sent.first_packet_wall_ns / 1e6;
    return { routeMs, mirrorPps: rates[0] ?? 0, flowsPps: rates[1] ?? 0 };
  } finally {
    await world.close();
  }
}

/** Of the victim, over this time, by each of the services. */
async function meanRates(services: readonly ServiceProcess[], ms: number): Promise<number[]> {
  const sums = services.map(() => 0);
  let readings = 0;
  for (const end = performance.now() + ms; performance.now() < end; await Bun.sleep(200)) {
    const now = await Promise.all(services.map(victimPps));
    for (const [i, pps] of now.entries()) sums[i] = (sums[i] ?? 0) + pps;
    readings++;
  }
  return sums.map((sum) => sum / readings);
}

async function victimPps(service: ServiceProcess): Promise<number> {
  const { body } = await service.get<{ hosts: { target: string; rates: { pps: number } }[] }>("/api/v1/hosts");
  return body.hosts.find(({ target }) => target === VICTIM)?.rates.pps ?? 0;
}

function markdown({ title, rows }: Table): string {
  const [head = [], ...others] = rows;
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return `## ${title}\n\n${[line(head), line(head.map(() => "---")), ...others.map(line)].join("\n")}\n`;
}
