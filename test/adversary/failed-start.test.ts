/** A start that fails for a moment, under a service manager that starts the service again and again. */
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { Scenario } from "../fixtures/scenario.ts";
import { freePort, type ServiceProcess } from "../fixtures/service.ts";

const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
`;
const scene = new Scenario();

test("a port that is taken for a while: each start waits longer before it ends, and the first that can serves", async () => {
  const port = await freePort();
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(port, "127.0.0.1", resolve));
  const runtime = join(scene.directory, "run");
  mkdirSync(runtime);
  const options = { port, env: { RUNTIME_DIRECTORY: runtime } };
  for (const seconds of [1, 2]) {
    const { code, output } = await scene.failedStart(CONFIG, options);
    expect(code).toBe(1);
    expect(output).toContain("the port is in use");
    expect(output).toContain(`ends in ${seconds} s, so that the service manager starts it again`);
  }
  await new Promise((resolve) => taken.close(resolve));
  const service: ServiceProcess = await scene.start(CONFIG, options);
  expect((await service.get("/api/v1/status")).status).toBe(200);
});
