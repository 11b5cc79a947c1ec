/**
 * How long does it take to read 100,000 hosts, and how does it delay other requests? The real service with hosts from a
 * generated capture; another process requests /healthz all the time.
 */
import { connect } from "node:net";
import { join } from "node:path";
import { SNAPSHOT_MS } from "../src/http/hosts/hosts-snapshots.ts";
import { eventually, ServiceProcess } from "../test/fixtures/service.ts";
import { TemporaryFolder } from "../test/fixtures/temporary-folder.ts";
import { HOST_NETWORK, writeHostCapture } from "./host-capture.ts";
import type { Probes } from "./http-prober.ts";
import { type Bench, figure } from "./measurement.ts";

const HOSTS = 100_000;
const RUNS = 11;
const TARGET_MS = 150;
const DELAY_TARGET_MS = 20;
const PROBER = join(import.meta.dir, "http-prober.ts");

interface Run {
  readonly readMs: number;
  /** The longest answer time of a small request meanwhile, and without load for the same duration. */
  readonly delayMs: number;
  readonly quietMs: number;
}

export const hostsRead: Bench = {
  question: `GET /api/v1/hosts, ${HOSTS.toLocaleString("en-US")} hosts`,
  async run() {
    using directory = new TemporaryFolder("bench-hosts");
    const capture = directory.at("hosts.pcap");
    writeHostCapture(capture, { hosts: HOSTS });
    return measurements(await readings(capture));
  },
};

function measurements(runs: readonly Run[]) {
  const [read, delays, quiet] = [
    figure(
      "Floodwall, request to last byte",
      runs.map(({ readMs }) => readMs),
    ),
    figure(
      "longest /healthz during a read",
      runs.map(({ delayMs }) => delayMs),
    ),
    figure(
      "longest /healthz in quiet",
      runs.map(({ quietMs }) => quietMs),
    ),
  ];
  return [
    {
      question: hostsRead.question,
      unit: "ms",
      ours: read,
      rival: null,
      target: `≤ ${TARGET_MS} ms`,
      isMet: read.median <= TARGET_MS,
    },
    {
      question: "another request meanwhile",
      unit: "ms",
      ours: delays,
      rival: quiet,
      target: `delayed by ≤ ${DELAY_TARGET_MS} ms`,
      isMet: delays.median - quiet.median <= DELAY_TARGET_MS,
    },
  ];
}

async function readings(capture: string): Promise<Run[]> {
  const service = await ServiceProcess.start({
    config: `
networks: [${HOST_NETWORK}]
thresholds: { pps: 100000, mbps: 1000, flows_per_sec: 100000 }
capture: { pcap_file: ${capture}, pace: max }
`,
  });
  try {
    await eventually(async () => (await trackedHosts(service)) === HOSTS, "not all hosts were counted", 20_000);
    const prober = new Prober(service.port);
    try {
      const runs: Run[] = [];
      for (let run = 0; run < RUNS; run++) runs.push(await reading(service.port, prober));
      return runs;
    } finally {
      await prober.end();
    }
  } finally {
    await service.remove();
  }
}

async function trackedHosts(service: ServiceProcess): Promise<number> {
  const { body } = await service.get<{ capture: { tracked_hosts: number } }>("/api/v1/status");
  return body.capture.tracked_hosts;
}

/** A snapshot is kept for a second: each run waits until it has expired. */
async function reading(port: number, prober: Prober): Promise<Run> {
  await Bun.sleep(SNAPSHOT_MS + 200);
  await prober.probes();
  await Bun.sleep(TARGET_MS);
  const { longestMs: quietMs } = await prober.probes();
  const startedMs = performance.now();
  await readAll(port, "/api/v1/hosts");
  const readMs = performance.now() - startedMs;
  const { longestMs: delayMs } = await prober.probes();
  return { readMs, delayMs, quietMs };
}

/** Counts bytes without storing them, so that the reader is cheap. */
function readAll(port: number, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`));
    let left = 0;
    let head = "";
    socket.on("data", (chunk: Buffer) => {
      if (left === 0) {
        head += chunk.toString("latin1");
        const end = head.indexOf("\r\n\r\n");
        if (end < 0) return;
        left = Number(/content-length: (\d+)/i.exec(head)?.[1]) - (head.length - end - 4);
      } else left -= chunk.length;
      if (left > 0) return;
      socket.destroy();
      if (head.startsWith("HTTP/1.1 200 ")) resolve();
      else reject(new Error(head.slice(0, 200)));
    });
    socket.on("error", reject);
  });
}

class Prober {
  readonly #child: Bun.Subprocess<"pipe", "pipe", "inherit">;
  readonly #reader: ReturnType<typeof readerOf>;

  constructor(port: number) {
    const command = [process.execPath, PROBER, String(port), "/healthz"];
    this.#child = Bun.spawn(command, { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
    this.#reader = readerOf(this.#child);
  }

  /** Since the last call. */
  async probes(): Promise<Probes> {
    await this.#child.stdin.write("\n");
    await this.#child.stdin.flush();
    const { value } = await this.#reader.read();
    if (value === undefined) throw new Error("the prober ended");
    return JSON.parse(new TextDecoder().decode(value)) as Probes;
  }

  async end(): Promise<void> {
    this.#child.kill();
    await this.#child.exited;
  }
}

function readerOf(child: Bun.Subprocess<"pipe", "pipe", "inherit">) {
  return child.stdout.getReader();
}
