/** The reload by the API (docs/interface.md#reload), by the whole service. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { ServiceProcess } from "../fixtures/service.ts";

const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
`;

let service: ServiceProcess;

beforeAll(async () => {
  service = await ServiceProcess.start({ config: CONFIG });
}, 60_000);
afterAll(() => service.remove());

async function reload(): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(`http://127.0.0.1:${service.port}/api/v1/config/reload`, {
    method: "POST",
    headers: { "content-type": "application/json" },
  });
  return { status: answer.status, body: await answer.json() };
}

test("reload reads the file again and returns what is in force", async () => {
  service.writeConfig(CONFIG.replace("pps: 1000", "pps: 2000"));
  const thresholds = { pps: 2000, mbps: 100, flows_per_sec: 500 };
  expect(await reload()).toEqual({
    status: 200,
    body: { reloaded: true, dry_run: true, thresholds, needs_restart: [] },
  });
  expect((await service.get("/api/v1/status")).body).toMatchObject({ thresholds });
});

test("reload of an invalid file is 400 with the error, and the running configuration is untouched", async () => {
  service.writeConfig(CONFIG);
  await reload();
  for (const broken of ["thresholds: [", CONFIG.replace("203.0.113.0/24", "203.0.113.1/24")]) {
    service.writeConfig(broken);
    expect(await reload()).toMatchObject({ status: 400, body: { error: expect.stringContaining("floodwall.yaml:") } });
    expect((await service.get("/api/v1/status")).body).toMatchObject({ networks: ["203.0.113.0/24"] });
  }
});

test("reload names keys that need a restart, and they keep their running values", async () => {
  service.writeConfig(`${CONFIG}detection: { tick_ms: 50 }\n`);
  expect(await reload()).toMatchObject({ status: 200, body: { needs_restart: ["detection.tick_ms"] } });
});
