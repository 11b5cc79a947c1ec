/** A service that dies and does not come back must not leave its routes in the routers for ever. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NEXT_HOP, PeeredScenario } from "../fixtures/bgp/peered-scenario.ts";
import { eventually } from "../fixtures/service.ts";

const VICTIM = "203.0.113.7";
const TTL_SECONDS = 600;
const scene = new PeeredScenario();

/** Seconds of the clock that no one can set. */
const bootSeconds = () => Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]);

test("after kill -9 the routes stay as long as the last ban and then go; the next start announces again", async () => {
  const config = `
dry_run: false
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
ban: { ttl_seconds: ${TTL_SECONDS} }
${await scene.peer()}`;
  const deadline = join(scene.directory, "state/gobgpd/routes-until");
  const first = await scene.start(config);
  const beforeSeconds = bootSeconds();
  await first.post("/api/v1/ban", { ip: VICTIM });
  const bannedSeconds = bootSeconds();
  await scene.holds(`${VICTIM}/32 ${NEXT_HOP}`);
  await first.stop("SIGKILL");
  const text = readFileSync(deadline, "utf8");
  expect(Number(text)).toBeGreaterThanOrEqual(Math.floor(beforeSeconds) + TTL_SECONDS);
  expect(Number(text)).toBeLessThanOrEqual(Math.ceil(bannedSeconds) + TTL_SECONDS + 1);
  expect(await scene.bird.routeCount()).toBe(1);
  // As if the ban had expired.
  writeFileSync(
    deadline,
    text.replace(/\d+/, (digits) => "1".padEnd(digits.length)),
  );
  // Peers keep the routes of a session that only breaks: gobgpd closes it.
  await eventually(async () => (await scene.bird.routeCount()) === 0, "the route stays", 40_000);
  await eventually(() => scene.gobgpdPid === null, "gobgpd runs on", 20_000);

  // The ban of before, which has not expired.
  await scene.start(config, { port: first.port });
  await scene.holds(`${VICTIM}/32 ${NEXT_HOP}`);
}, 120_000);
