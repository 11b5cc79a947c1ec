/**
 * How many small requests per second does the real service answer? Compared with a bare server that returns the same
 * bytes with the runtime's own listener; both are driven by wrk over loopback.
 */
import { join } from "node:path";
import { ServiceProcess } from "../test/fixtures/service.ts";
import { type Bench, compared, figure, type Measurement } from "./measurement.ts";

const PATHS = ["/api/v1/status", "/healthz"];
const RUNS = 5;
const RUN_SECONDS = 3;
const CONNECTIONS = 64;
const BARE_SERVER = join(import.meta.dir, "bare-server.ts");
const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 100000 }
`;

export const requestRate: Bench = {
  question: "small requests a second",
  async run() {
    if (Bun.which("wrk") === null) return { skipped: "wrk is not installed" };
    const service = await ServiceProcess.start({ config: CONFIG });
    try {
      const measurements: Measurement[] = [];
      for (const path of PATHS) measurements.push(await measured(service.port, path));
      return measurements;
    } finally {
      await service.remove();
    }
  },
};

async function measured(port: number, path: string): Promise<Measurement> {
  const bare = await bareServer(port, path);
  try {
    const [ours, theirs]: [number[], number[]] = [[], []];
    for (let run = 0; run < RUNS; run++) {
      ours.push(requestsPerSecond(port, path));
      theirs.push(requestsPerSecond(bare.port, path));
    }
    return compared({
      question: `GET ${path}, ${CONNECTIONS} connections`,
      unit: "requests/s",
      ours: figure("Floodwall", ours),
      rival: figure("bare Bun.serve, the same bytes", theirs),
      ratioMin: null,
    });
  } finally {
    await bare.end();
  }
}

function requestsPerSecond(port: number, path: string): number {
  const url = `http://127.0.0.1:${port}${path}`;
  const options = ["--threads", "1", "--connections", String(CONNECTIONS), "--duration", `${RUN_SECONDS}s`];
  const { stdout, success } = Bun.spawnSync(["wrk", ...options, url]);
  const output = stdout.toString();
  const rate = /^Requests\/sec:\s+([\d.]+)$/m.exec(output)?.[1];
  if (!success || rate === undefined || /Non-2xx|Socket errors/.test(output)) throw new Error(`wrk: ${output}`);
  return Number(rate);
}

/** Sends the service's current answer, head and body. */
async function bareServer(port: number, path: string): Promise<{ port: number; end(): Promise<void> }> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  const headers = [...answer.headers].filter(([name]) => name !== "date" && name !== "content-length");
  const argument = JSON.stringify({ body: await answer.text(), headers });
  const child = Bun.spawn([process.execPath, BARE_SERVER, argument], { stdout: "pipe", stderr: "inherit" });
  const { value } = await child.stdout.getReader().read();
  return {
    port: Number(new TextDecoder().decode(value)),
    end: async () => {
      child.kill();
      await child.exited;
    },
  };
}
