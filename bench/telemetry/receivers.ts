/**
 * The collectors of flow records that are compared, each pinned to the counting CPU in a network namespace: Floodwall's
 * source with its engine, nfcapd and sfcapd, pmacct's nfacctd and sfacctd, and FastNetMon. All get the same buffer.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../../test/fixtures/service.ts";
import type { Undo } from "../../test/fixtures/undo.ts";
import type { Namespace } from "../../test/lab/namespaces.ts";
import { Collector } from "../../test/telemetry/collector.ts";
import type { FlowProtocol } from "../../test/telemetry/record-sender.ts";
import { socketAt } from "../../test/telemetry/udp-socket.ts";
import { COUNTING_CPU } from "../counting-process.ts";
import { FastNetMon } from "../fastnetmon.ts";

export const PORT = 2055;
/** Network of the victims that records name; FastNetMon counts only these. */
export const NETWORK = "203.0.112.0/20";
/** Bytes. */
export const RECEIVE_BUFFER = 32 << 20;
/** As the sender: a receiver that waits for its CPU loses records, and its figures are those of the other processes. */
const FIRST = ["chrt", "--rr", "1"];
const NEVER_PPS = 2_000_000_000;

export interface Receiver {
  readonly name: string;
  readonly pid: number;
  /** Records so far, where it can say so at once. */
  readonly counted?: () => Promise<number>;
  /** Ends it; nothing of it is left. */
  stop(): Promise<void>;
}

export interface ReceiverKind {
  readonly name: string;
  readonly programs: readonly string[];
  start(place: Place): Promise<Receiver>;
}

export interface Place {
  readonly namespace: Namespace;
  readonly protocol: FlowProtocol;
  /** A folder of this run; what is made is undone with it. */
  readonly undo: Undo;
}

export const OURS: ReceiverKind = {
  name: "Floodwall",
  programs: [],
  async start({ namespace }) {
    const options = { port: PORT, networks: [NETWORK], exporters: ["127.0.0.0/8"], receiveBuffer: RECEIVE_BUFFER };
    const runner = [...FIRST, "taskset", "-c", String(COUNTING_CPU)];
    const collector = await Collector.start(namespace, { ...options, keepsTotals: false }, runner);
    return {
      ...{ name: "Floodwall", pid: collector.pid, stop: () => collector.stop() },
      async counted() {
        const { exporters } = await collector.counts();
        return exporters.reduce((sum, { counted }) => sum + counted, 0);
      },
    };
  },
};

const NFDUMP: ReceiverKind = {
  name: "nfcapd",
  programs: ["nfcapd", "sfcapd"],
  start(place) {
    const folder = place.undo.folder("nfcapd");
    const program = place.protocol === "sflow" ? "sfcapd" : "nfcapd";
    return spawned(place, program, [
      program,
      "-w",
      folder,
      "-p",
      String(PORT),
      "-B",
      String(RECEIVE_BUFFER),
      "-t",
      "3600",
    ]);
  },
};

const PMACCT: ReceiverKind = {
  name: "pmacct",
  programs: ["nfacctd", "sfacctd"],
  start(place) {
    const program = place.protocol === "sflow" ? "sfacctd" : "nfacctd";
    const folder = place.undo.folder("pmacct");
    const settings = {
      ...{ daemonize: "false", plugins: "memory", aggregate: "dst_host", imt_path: join(folder, "pipe") },
      ...{ [`${program}_port`]: PORT, [`${program}_ip`]: "127.0.0.1", [`${program}_pipe_size`]: RECEIVE_BUFFER },
      ...{ imt_mem_pools_number: 0, imt_buckets: 65_537, plugin_buffer_size: 102_400, plugin_pipe_size: 10_240_000 },
    };
    const file = join(folder, "conf");
    writeFileSync(
      file,
      Object.entries(settings)
        .map(([key, value]) => `${key}: ${value}\n`)
        .join(""),
    );
    return spawned(place, "pmacct", [program, "-f", file]);
  },
};

const FASTNETMON: ReceiverKind = {
  name: "FastNetMon",
  programs: ["fastnetmon"],
  async start({ namespace, protocol }) {
    const flows = { kind: protocol === "sflow" ? "sflow" : "netflow", port: PORT } as const;
    const rival = await FastNetMon.start({
      namespace,
      flows,
      network: NETWORK,
      thresholdPps: NEVER_PPS,
      cpu: COUNTING_CPU,
      runner: FIRST,
    });
    await isListening(namespace);
    return { name: "FastNetMon", pid: rival.pid, stop: () => rival.stop() };
  },
};

export const RIVALS: readonly ReceiverKind[] = [NFDUMP, PMACCT, FASTNETMON];

export function receiversUnavailable(): string | null {
  const missing = RIVALS.flatMap(({ programs }) => programs).filter((program) => Bun.which(program) === null);
  return missing.length === 0 ? null : `not installed: ${missing.join(", ")}`;
}

async function spawned({ namespace, undo }: Place, name: string, command: readonly string[]): Promise<Receiver> {
  const log = Bun.file(join(undo.folder(name), "log"));
  const pinned = namespace.command([...FIRST, "taskset", "-c", String(COUNTING_CPU), ...command]);
  const child = Bun.spawn(pinned, { stdin: "ignore", stdout: log, stderr: log });
  const stop = async () => {
    // pmacct's plugins are processes of their own, which end with it when it is signaled to end.
    const family = [child.pid, ...descendants(child.pid)];
    child.kill("SIGINT");
    await Promise.race([child.exited, Bun.sleep(3000)]);
    for (const pid of family) endProcess(pid);
    await child.exited;
  };
  try {
    await isListening(namespace);
  } catch (cause) {
    await stop();
    throw new Error(`${name} did not start: ${await log.text()}`, { cause });
  }
  return { name, pid: child.pid, stop };
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

function isListening(namespace: Namespace): Promise<void> {
  return eventually(() => socketAt(namespace, PORT) !== null, "it does not listen", 20_000);
}

/** CPU time of a process and of those that it started, ns. */
export function cpuNs(pid: number): number {
  return [pid, ...descendants(pid)].reduce((sum, one) => sum + ownCpuNs(one), 0);
}

function ownCpuNs(pid: number): number {
  let ns = 0;
  for (const task of tasksOf(pid)) {
    ns += Number(readOrEmpty(`/proc/${pid}/task/${task}/schedstat`).split(" ")[0]);
  }
  return ns;
}

function descendants(pid: number): number[] {
  const children = tasksOf(pid).flatMap((task) =>
    readOrEmpty(`/proc/${pid}/task/${task}/children`).split(" ").filter(Boolean).map(Number),
  );
  return children.flatMap((child) => [child, ...descendants(child)]);
}

function tasksOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
