/** Starts that cannot be: the service says why, touches nothing, and ends with 1. */
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Scenario } from "../fixtures/scenario.ts";
import { freePort } from "../fixtures/service.ts";

const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
`;
const BGP = `bgp: { local_asn: 64500, router_id: 192.0.2.1, next_hop: 192.0.2.1,
  neighbors: [{ address: 192.0.2.2, remote_asn: 64500, password_env: FLOODWALL_TEST_UNSET }] }
`;
const scene = new Scenario();

test.each([
  [
    "networks: []\nthresholds: { pps: 0 }\nnetwork: x\n",
    [/yaml:3: networks: /, /yaml:4: thresholds\.pps: /, /yaml:5: /],
  ],
  [CONFIG + BGP, [/FLOODWALL_TEST_UNSET is not set/]],
])("by %j", async (config, complaints) => {
  const { code, output } = await scene.failedStart(config);
  expect(code).toBe(1);
  for (const complaint of complaints) expect(output).toMatch(complaint);
});

test("on a file in place of the folder of state, which is left as it was", async () => {
  const path = join(scene.directory, "state");
  writeFileSync(path, "a file");
  const { code, output } = await scene.failedStart(`${CONFIG}edge: { nodes: [{ name: e1 }] }\n`);
  expect([code, output]).toEqual([1, expect.stringContaining("check state_dir")]);
  expect(readFileSync(path, "latin1")).toBe("a file");
});

test("a port in use, and a folder of state in use: who has them goes on", async () => {
  const first = await scene.start(CONFIG);
  const directory = join(scene.directory, "second");
  mkdirSync(directory);
  const sameState = await scene.failedStart(CONFIG, { port: await freePort() });
  expect(sameState.output).toContain("is in use by another floodwall");
  const samePort = await scene.failedStart(CONFIG, { port: first.port, directory });
  expect(samePort.output).toContain(`cannot listen on 127.0.0.1:${first.port}: the port is in use`);
  expect((await first.get("/api/v1/status")).status).toBe(200);
});
