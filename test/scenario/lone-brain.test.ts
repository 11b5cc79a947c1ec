/** A service without the section `cluster`: nothing listens for brains, and no answer has a word of them. */
import { expect, test } from "bun:test";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { connectionsListened } from "../fixtures/cluster/listeners.ts";
import { Scenario } from "../fixtures/scenario.ts";

const CONFIG = "networks: [192.0.2.0/24]\nthresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}\n";
const scene = new Scenario();

test("a lone service has neither a listener nor fields of a cluster", async () => {
  const service = await scene.start(CONFIG);
  const ban = await service.post<BanWire>("/api/v1/ban", { ip: "192.0.2.7" });
  const lifted = await service.post<BanWire>("/api/v1/unban", { ip: "192.0.2.7" });
  for (const { status, body } of [ban, lifted]) {
    expect([status, "shared" in body, "unconfirmed_by" in body]).toEqual([200, false, false]);
  }
  expect("cluster" in (await service.get("/api/v1/status")).body).toBe(false);
  expect((await service.get("/api/v1/cluster")).body).toEqual({ enabled: false });
  expect(await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text()).not.toContain("svc_cluster_");
  expect(connectionsListened(service.pid)).toEqual([service.port]);
});
