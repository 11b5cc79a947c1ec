/** A gobgpd that crashes again and again under a running service: the routes are at the peer again each time. */
import { expect, test } from "bun:test";
import { NEXT_HOP, PeeredScenario } from "../fixtures/bgp/peered-scenario.ts";
import { eventually } from "../fixtures/service.ts";

const CRASHES = ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGSEGV", "SIGABRT", "SIGSEGV"] as const;
const scene = new PeeredScenario();

test("after each of six crashes in a row the session and the route are there again, and a peer with graceful restart sees no gap", async () => {
  const service = await scene.start(`
dry_run: false
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
${await scene.peer()}`);
  await service.post("/api/v1/ban", { ip: "203.0.113.7" });
  await scene.holds(`203.0.113.7/32 ${NEXT_HOP}`);
  const downTimes: number[] = [];
  for (const signal of CRASHES) {
    const crashed = scene.gobgpdPid;
    if (crashed === null) throw new Error("gobgpd does not run");
    process.kill(crashed, signal);
    const crashedMs = performance.now();
    await eventually(async () => !(await scene.bird.isEstablished("floodwall")), "BIRD did not notice the crash");
    await eventually(
      async () => {
        expect(await scene.bird.prefixes()).toEqual(["203.0.113.7/32"]);
        return scene.gobgpdPid !== crashed && (await scene.bird.isEstablished("floodwall"));
      },
      () => `no session after the crash:\n${service.output}`,
      60_000,
    );
    downTimes.push(Math.round(performance.now() - crashedMs));
  }
  console.log(`ms from crash to session: ${downTimes.join(", ")}`);
  await scene.holds(`203.0.113.7/32 ${NEXT_HOP}`);
  expect(service.output.split("gobgpd crashed, starting it again").length - 1).toBe(5);
}, 180_000);
