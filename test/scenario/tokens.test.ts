/** Tokens over the life of the service: secrets that rotate, and entries that come and go. */
import { expect, test } from "bun:test";
import { unlinkSync } from "node:fs";
import { Scenario } from "../fixtures/scenario.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";

const CONFIG = `networks: [192.0.2.0/24]
thresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}
`;
const NOC = "{name: noc, token_env: FW_NOC, role: operator}";
const ACME = "{name: acme, token_env: FW_ACME, role: viewer}";

const scene = new Scenario();
const apiWith = (envFile: string, ...tokens: readonly string[]) => `env_file: ${envFile}, tokens: [${tokens.join()}]`;
const statuses = (service: ServiceProcess, ...secrets: readonly (string | undefined)[]) =>
  Promise.all(secrets.map(async (secret) => (await service.get("/api/v1/status", secret)).status));

test("secrets rotate with the env file, and entries come and go with a reload, which may name another env file", async () => {
  const secrets = scene.file("secrets.env", "FW_NOC=first\n");
  const service = await scene.start(CONFIG, { api: apiWith(secrets, NOC) });
  expect(await statuses(service, undefined, "first", "acme's")).toEqual([401, 200, 401]);
  scene.file("secrets.env", "FW_NOC=second\n");
  expect(await statuses(service, "first", "second")).toEqual([401, 200]);
  unlinkSync(secrets);
  expect(await statuses(service, "second")).toEqual([200]);
  await service.says("the env file cannot be used: variables stay as they were");
  expect(service.output).not.toContain("second");

  const other = scene.file("other.env", "FW_NOC=third\nFW_ACME=acme's\n");
  service.writeConfig(CONFIG, apiWith(other, NOC, ACME));
  service.signal("SIGHUP");
  await eventually(async () => (await statuses(service, "acme's"))[0] === 200, "the reload was never applied");
  expect(await statuses(service, "second", "third")).toEqual([401, 200]);
  service.writeConfig(CONFIG, apiWith(other, NOC));
  expect((await service.post("/api/v1/config/reload", {}, "third")).status).toBe(200);
  expect(await statuses(service, "acme's", "third")).toEqual([401, 200]);
  unlinkSync(service.configPath);
  service.signal("SIGHUP");
  await service.says("cannot be read");
  expect(await statuses(service, "third")).toEqual([200]);
});
