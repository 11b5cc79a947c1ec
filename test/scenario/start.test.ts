/** Starts that cannot be: the service says why, touches nothing, and ends with 1. */
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Scenario } from "../fixtures/scenario.ts";
import { freePort, type ServiceOptions } from "../fixtures/service.ts";

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
    "a configuration with faults",
    "networks: []\nthresholds: { pps: 0, mbps: 1 }\nnetwork: x\n",
    [
      /yaml:3: networks: /,
      /yaml:4: thresholds\.pps: /,
      /yaml:4: thresholds\.flows_per_sec: /,
      /yaml:5: network: .*networks/,
    ],
  ],
  ["a secret that is not set", CONFIG + BGP, [/FLOODWALL_TEST_UNSET is not set/]],
  [
    "a file of origins that cannot be read",
    `${CONFIG}samples: { asn_file: /nowhere.mmdb }\n`,
    [/floodwall\.yaml:\d+: samples\.asn_file: \/nowhere\.mmdb cannot be read/],
  ],
])("%s", async (_, config, complaints) => {
  const { code, output } = await scene.failedStart(config);
  expect(code).toBe(1);
  for (const complaint of complaints) expect(output).toMatch(complaint);
});

/** Each is left as it was. */
test.each([
  ["a file where the folder of state should be", "state", "a file", "check state_dir"],
  [
    "clearance masters of another form",
    "state/clearance-masters",
    "another form\n",
    "state/clearance-masters has a format that this build does not know: move it aside",
  ],
])("%s", async (_, name, content, complaint) => {
  const path = join(scene.directory, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  const { code, output } = await scene.failedStart(`${CONFIG}edge: { nodes: [{ name: e1 }] }\n`);
  expect(code).toBe(1);
  expect(output).toContain(complaint);
  expect(readFileSync(path, "latin1")).toBe(content);
});

test("a port in use, and a folder of state in use: who has them goes on", async () => {
  const first = await scene.start(CONFIG);
  const second = async (options: Partial<ServiceOptions>) => (await scene.failedStart(CONFIG, options)).output;
  expect(await second({ port: await freePort() })).toContain("is in use by another floodwall");
  const elsewhere = { port: first.port, directory: join(scene.directory, "second") };
  mkdirSync(elsewhere.directory);
  expect(await second(elsewhere)).toContain(`cannot listen on 127.0.0.1:${first.port}: the port is in use`);
  expect((await first.get("/api/v1/status")).status).toBe(200);
});
