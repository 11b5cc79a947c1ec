/** The service stops in time, whatever those that it talks to do, and whatever is requested of it meanwhile. */
import { expect, test } from "bun:test";
import { createServer, type Socket } from "node:net";
import { RawHttp } from "../fixtures/http/raw-http.ts";
import { Scenario } from "../fixtures/scenario.ts";

/** What an operator who restarts the service waits at most, ms. */
const STOP_MS = 5000;
const scene = new Scenario();

/** Takes connections and says nothing on them. Returns its port. */
async function silentServer(): Promise<number> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket.on("error", () => {})));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  scene.onEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

test("in 5 s, while the history, a webhook, a caller's body and an event stream hang, and a SIGHUP comes", async () => {
  const [store, hook] = [await silentServer(), await silentServer()];
  const config = `
networks: [192.0.2.0/24]
thresholds: {pps: 1000, mbps: 100, flows_per_sec: 1000}
storage: {driver: clickhouse, clickhouse: {url: "http://127.0.0.1:${store}", database: floodwall}}
notify: {webhook: {url_env: HOOK_URL}}
`;
  const service = await scene.start(config, { env: { HOOK_URL: `http://127.0.0.1:${hook}/` } });
  // Its row waits for the history, its event for the webhook.
  expect((await service.post("/api/v1/ban", { ip: "192.0.2.7" })).status).toBe(200);
  const [reader, writer] = [await RawHttp.connect(service.port), await RawHttp.connect(service.port)];
  scene.onEnd(() => {
    reader.close();
    writer.close();
  });
  await reader.write("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const head =
    "POST /api/v1/unban HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{";
  await writer.write(head);
  await service.get("/api/v1/status");

  const began = performance.now();
  service.signal("SIGTERM");
  await service.says('"stopping"');
  expect(await service.stop("SIGHUP")).toBe(0);
  expect(performance.now() - began).toBeLessThan(STOP_MS);
  expect(service.output).toContain('"stopped;');
  expect(service.output).toContain("history that could not be written in time is lost");
});
