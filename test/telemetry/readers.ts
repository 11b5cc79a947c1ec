/**
 * Programs of others that read flow records or samples, and say what each destination got: nfdump, pmacct, FastNetMon and
 * goflow2 (of Go's modules, where it is in PATH). Each in a network namespace, at a port of its own.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FastNetMon } from "../../bench/fastnetmon.ts";
import { LineProcess } from "../fixtures/line-process.ts";
import { runCommand } from "../fixtures/run-command.ts";
import { eventually } from "../fixtures/service.ts";
import type { Undo } from "../fixtures/undo.ts";
import type { Namespace } from "../lab/namespaces.ts";
import type { HostTotals } from "./collector.ts";
import { socketAt } from "./udp-socket.ts";

/** By destination. Packets and bytes as the exporter counted them: nothing is multiplied by a sampling rate. */
export type Totals = Readonly<Record<string, HostTotals>>;

export interface Reader {
  readonly name: string;
  /** Of what it got until now. It may end for that. */
  totals(): Promise<Totals>;
}

export interface ReaderPlace {
  readonly namespace: Namespace;
  readonly port: number;
  readonly isSflow: boolean;
  readonly undo: Undo;
}

export interface ReaderKind {
  readonly name: string;
  /** Its packets are sums of the rates that it says once a second: near, never exact. Its bytes are not compared. */
  readonly isNear?: boolean;
  readonly programs: readonly string[];
  start(place: ReaderPlace): Promise<Reader>;
}

/** Bytes; what the kernel grants without a change of its settings. */
const RECEIVE_BUFFER = 4 << 20;

const NFDUMP: ReaderKind = {
  name: "nfdump",
  programs: ["nfcapd", "sfcapd", "nfdump"],
  async start(place) {
    const folder = place.undo.folder("nfcapd");
    const program = place.isSflow ? "sfcapd" : "nfcapd";
    const child = await started(place, [
      program,
      "-w",
      folder,
      "-p",
      String(place.port),
      "-t",
      "3600",
      "-B",
      String(RECEIVE_BUFFER),
    ]);
    return {
      name: program,
      async totals() {
        await ended(child);
        const lines = runCommand(["nfdump", "-q", "-R", folder, "-A", "dstip", "-o", "fmt:%da,%pkt,%byt", "-N"]);
        return sumOf(lines.split("\n").map((line) => line.split(",").map((cell) => cell.trim())));
      },
    };
  },
};

const PMACCT: ReaderKind = {
  name: "pmacct",
  programs: ["nfacctd", "sfacctd", "pmacct"],
  async start(place) {
    const program = place.isSflow ? "sfacctd" : "nfacctd";
    const folder = place.undo.folder("pmacct");
    const file = join(folder, "totals");
    const settings = {
      ...{ daemonize: "false", plugins: "print", aggregate: "dst_host", print_output: "csv", print_output_file: file },
      ...{ [`${program}_port`]: place.port, [`${program}_ip`]: "127.0.0.1", print_refresh_time: 3600 },
      ...{ [`${program}_pipe_size`]: RECEIVE_BUFFER, plugin_pipe_size: RECEIVE_BUFFER, plugin_buffer_size: 1024 },
    };
    const config = join(folder, "conf");
    writeFileSync(
      config,
      Object.entries(settings)
        .map(([key, value]) => `${key}: ${value}\n`)
        .join(""),
    );
    const child = await started(place, [program, "-f", config]);
    return {
      name: program,
      async totals() {
        // It writes what it has when it is interrupted.
        child.kill("SIGINT");
        await child.exited;
        await eventually(() => existsSync(file), `${program} wrote nothing`);
        const lines = readFileSync(file, "utf8").trim().split("\n").slice(1);
        return sumOf(lines.map((line) => line.split(",")));
      },
    };
  },
};

const GOFLOW2: ReaderKind = {
  name: "goflow2",
  programs: ["goflow2"],
  async start(place) {
    const file = join(place.undo.folder("goflow2"), "flows");
    // With several workers data may overtake its template.
    const listen = `${place.isSflow ? "sflow" : "netflow"}://127.0.0.1:${place.port}?workers=1`;
    const output = ["-transport.file", file, "-addr", "127.0.0.1:0", "-templates.path", "/"];
    const child = await started(place, ["goflow2", "-listen", listen, ...output]);
    return {
      name: "goflow2",
      async totals() {
        await ended(child);
        const flows = readFileSync(file, "utf8").trim().split("\n").filter(Boolean);
        return sumOf(
          flows.map((line) => {
            const { dst_addr, packets, bytes } = JSON.parse(line) as Record<string, string>;
            return [dst_addr ?? "", String(packets), String(bytes)];
          }),
        );
      },
    };
  },
};

/** Its rates are averages, which fade out within this time. */
const FADED_MS = 8000;

const FASTNETMON: ReaderKind = {
  ...{ name: "FastNetMon", programs: ["fastnetmon"], isNear: true },
  async start({ namespace, port, isSflow, undo }) {
    const graphitePort = port + 1000;
    const sums = new LineProcess(
      namespace.command([process.execPath, `${import.meta.dir}/rate-sums.ts`, String(graphitePort)]),
    );
    undo.add(() => sums.end());
    await sums.line();
    const flows = { kind: isSflow ? "sflow" : "netflow", port } as const;
    const started = await FastNetMon.start({
      ...{ namespace, flows, network: "203.0.113.0/24", thresholdPps: 2e9, graphitePort },
    });
    undo.add(() => started.stop());
    return {
      name: "FastNetMon",
      async totals() {
        await Bun.sleep(FADED_MS);
        return JSON.parse(await sums.ask("sums")) as Totals;
      },
    };
  },
};

export const READERS: readonly ReaderKind[] = [NFDUMP, PMACCT, FASTNETMON, GOFLOW2];

/** Each row is a destination, packets and bytes. */
function sumOf(rows: readonly (readonly string[])[]): Totals {
  const totals: Record<string, HostTotals> = {};
  for (const [host = "", packets, bytes] of rows) {
    if (!/^[\d.]+$|:/.test(host)) continue;
    const before = totals[host] ?? { packets: 0, bytes: 0 };
    totals[host] = { packets: before.packets + Number(packets), bytes: before.bytes + Number(bytes) };
  }
  return totals;
}

async function started(place: ReaderPlace, command: readonly string[]): Promise<Bun.Subprocess> {
  const log = Bun.file(join(place.undo.folder("reader"), "log"));
  const child = Bun.spawn(place.namespace.command(command), { stdin: "ignore", stdout: log, stderr: log });
  place.undo.add(() => ended(child));
  await eventually(
    () => socketAt(place.namespace, place.port) !== null,
    () => `${command.join(" ")} does not listen`,
    20_000,
  );
  return child;
}

/** Some programs end at SIGINT only at their next datagram. */
async function ended(child: Bun.Subprocess): Promise<void> {
  child.kill("SIGTERM");
  const isOver = await Promise.race([child.exited.then(() => true), Bun.sleep(5000).then(() => false)]);
  if (!isOver) child.kill("SIGKILL");
  await child.exited;
}
