/** The reload by the API (docs/interface.md#reload), by the whole service. */
import { beforeEach, expect, test } from "bun:test";
import { Scenario } from "../fixtures/scenario.ts";
import { ServiceInProcess } from "../fixtures/service-in-process.ts";

const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
`;

const scene = new Scenario();
let service: ServiceInProcess;

beforeEach(() => {
  service = new ServiceInProcess({ directory: scene.directory, config: CONFIG });
  scene.onEnd(() => service.stop());
});

function reload(config: string): Promise<object> {
  service.writeConfig(config);
  return service.post("/api/v1/config/reload", "");
}

test("reload reads the file again and returns what is in force", async () => {
  const thresholds = { pps: 2000, mbps: 100, flows_per_sec: 500 };
  const body = { reloaded: true, dry_run: true, thresholds, needs_restart: [] };
  expect(await reload(CONFIG.replace("pps: 1000", "pps: 2000"))).toEqual({ status: 200, body });
  expect(await service.get("/api/v1/status")).toMatchObject({ thresholds });
});

test.each(["thresholds: [", CONFIG.replace("203.0.113.0/24", "203.0.113.1/24")])(
  "reload of an invalid file is 400 with the error, and the running configuration is untouched: %j",
  async (config) => {
    const error = expect.stringContaining("floodwall.yaml:");
    expect(await reload(config)).toEqual({ status: 400, body: { error } });
    expect(await service.get("/api/v1/status")).toMatchObject({ networks: ["203.0.113.0/24"] });
  },
);
