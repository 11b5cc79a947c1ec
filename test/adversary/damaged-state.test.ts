/** A start with a damaged state database: the service starts, says so, and withdraws the routes of what is lost. */
import { expect, test } from "bun:test";
import { readdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NEXT_HOP, PeeredScenario } from "../fixtures/bgp/peered-scenario.ts";
import { Receiver } from "../fixtures/notify/notify.ts";
import { eventually } from "../fixtures/service.ts";

const scene = new PeeredScenario();

test("bans that are lost end with their routes, detection and new bans work, and no operator can overlook it", async () => {
  const receiver = new Receiver();
  scene.onEnd(() => receiver.stop());
  const events = () => receiver.received.map(({ body }) => JSON.parse(body) as object);
  const config = `
dry_run: false
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
notify: { webhook: { url_env: FW_HOOK } }
${await scene.peer()}`;
  const env = { FW_HOOK: receiver.url };
  const first = await scene.start(config, { env });
  await first.post("/api/v1/ban", { ip: "203.0.113.7" });
  await scene.holds(`203.0.113.7/32 ${NEXT_HOP}`);
  await first.stop("SIGKILL");
  const state = join(scene.directory, "state");
  truncateSync(join(state, "state.db-wal"));
  writeFileSync(join(state, "state.db"), "\x5a".repeat(8192));

  const second = await scene.start(config, { port: first.port, env });
  await second.says("the state database was damaged and is replaced");
  await scene.holds();
  await second.post("/api/v1/ban", { ip: "203.0.113.8" });
  await scene.holds(`203.0.113.8/32 ${NEXT_HOP}`);
  expect(
    readdirSync(state).filter((name) => name.startsWith("state.db.damaged-") && !name.endsWith("-wal")),
  ).toHaveLength(1);
  const metrics = await (await fetch(`http://127.0.0.1:${second.port}/metrics`)).text();
  expect(metrics).toMatch(/^svc_state_damaged 1$/m);
  const isAlarm = (event: object) => Bun.deepMatch({ event: "state_damaged" }, event);
  await eventually(() => events().some(isAlarm), "no notification");
  expect(events().find(isAlarm)).toMatchObject({ state_database: { salvaged: { bans: 0 } } });

  // Once is enough: the next start finds a sound one.
  await second.stop();
  const third = await scene.start(config, { port: first.port, env });
  expect(third.output).not.toContain("was damaged");
  await scene.holds(`203.0.113.8/32 ${NEXT_HOP}`);
}, 120_000);
