/** A service that dies and does not come back must not leave its routes in the routers for ever. */
import { expect, test } from "bun:test";
import { NEXT_HOP, PeeredScenario } from "../fixtures/bgp/peered-scenario.ts";
import { eventually } from "../fixtures/service.ts";

const VICTIM = "203.0.113.7";
const scene = new PeeredScenario();

test("after kill -9 the routes stay as long as the last ban and then go; the next start announces again", async () => {
  const config = (ttlSeconds: number) => `
dry_run: false
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
ban: { ttl_seconds: ${ttlSeconds} }
`;
  const bgp = await scene.peer();
  const first = await scene.start(config(32) + bgp);
  await first.post("/api/v1/ban", { ip: VICTIM });
  await scene.holds(`${VICTIM}/32 ${NEXT_HOP}`);
  const bannedMs = performance.now();
  await first.stop("SIGKILL");
  await eventually(async () => (await scene.bird.routeCount()) === 0, "the route stays", 80_000);
  // Peers keep the routes of a session that only breaks: gobgpd has closed it.
  expect(performance.now() - bannedMs).toBeGreaterThan(30_000);
  await eventually(() => scene.gobgpdPid === null, "gobgpd runs on", 20_000);

  const second = await scene.start(config(600) + bgp, { port: first.port });
  await second.post("/api/v1/ban", { ip: VICTIM });
  await scene.holds(`${VICTIM}/32 ${NEXT_HOP}`);
}, 180_000);
