/** Peers that open connections and send nothing use up no descriptors that the service needs. */
import { afterAll, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { metricIn } from "../fixtures/metric-value.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";

const DESCRIPTORS = 2000;
/** Between two looks of the service, a tenth of a second apart, they must not use up all. */
const PAUSE_MS = 10;

const sockets: Socket[] = [];
let service: ServiceProcess | null = null;

/** Over a connection of its own. */
async function answerOf(port: number): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`, {
    keepalive: false,
    signal: AbortSignal.timeout(5000),
  });
  return answer.status;
}

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await service?.remove();
});

test("the API answers while a peer opens more connections than the process may have descriptors #limit-connections", async () => {
  service = await ServiceProcess.start({
    config: "networks: [203.0.113.0/24]\nthresholds: { pps: 100000, mbps: 1000, flows_per_sec: 10000 }\n",
    runner: ["prlimit", `--nofile=${DESCRIPTORS}:${DESCRIPTORS}`],
  });
  const { port } = service;
  for (let i = 0; i < 3 * DESCRIPTORS; i++) {
    const socket = connect(port, "127.0.0.1");
    // A reset is what the service answers with.
    socket.on("error", () => {});
    sockets.push(socket);
    if (i % 50 !== 0) continue;
    expect(await answerOf(port)).toBe(200);
    await Bun.sleep(PAUSE_MS);
  }
  const metrics = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  await eventually(async () => {
    const text = await metrics();
    const reset = metricIn(text, 'svc_api_connections_reset_total{bound="total"}');
    return reset > DESCRIPTORS && metricIn(text, "svc_api_connections") <= DESCRIPTORS / 2;
  }, "the connections were not reset");
  await service.says("too many connections: those that sent nothing");
});
