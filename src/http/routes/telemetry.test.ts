import { afterEach, beforeEach, expect, test } from "bun:test";
import { admitCallers, as } from "../../../test/fixtures/http/callers.ts";
import { TestServer } from "../../../test/fixtures/http/http.ts";
import { exporterConfig, exporterReading, listenerReading } from "../../../test/fixtures/telemetry/exporters.ts";
import { Exporters } from "../../telemetry/exporters.ts";

const NOW_MS = Date.parse("2026-01-02T03:04:05.000Z");

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
});
afterEach(() => server.http.stop());

const ask = (query = "") => fetch(`${server.base}/api/v1/telemetry${query}`, { headers: as("viewer") });

test("GET /api/v1/telemetry has the ports and the exporters, in the configuration's order; of one address its interfaces", async () => {
  const waiting = exporterConfig({ address: "198.51.100.0/24", name: "branches" });
  const exporters = new Exporters([waiting, exporterConfig()], 0);
  exporters.take([exporterReading()], 1000);
  server.backend.telemetry = () => ({
    ...{ now: { wallMs: NOW_MS, monotonicMs: 3000 }, readAtMs: 1000 },
    ...{ listeners: [listenerReading()], exporters: exporters.views(3000) },
  });
  const all = await (await ask()).json();
  expect(all).toMatchObject({
    ...{ enabled: true, read_at: "2026-01-02T03:04:03.000Z" },
    listeners: [{ listen: "[::]:2055", lost_datagrams: 3, refused_datagrams: 7, refused_addresses: ["203.0.113.9"] }],
    exporters: [
      { name: "branches", address: "198.51.100.0/24", state: "waiting", faults: [] },
      {
        name: "edge1",
        address: "192.0.2.1",
        state: "ok",
        protocols: ["netflow9"],
        records: 2400,
        counted_records: 2400,
      },
    ],
  });
  const of = (answer: unknown) => (answer as { exporters: { interfaces?: unknown; rates?: unknown }[] }).exporters;
  expect(of(all)[1]).not.toContainKeys(["interfaces", "rates"]);
  const one = of(await (await ask("?address=192.0.2.1")).json());
  expect(one).toMatchObject([{ name: "edge1", interfaces: [{ index: 17, name: "et-0/0/1", role: "external" }] }]);
  expect(of(await (await ask("?address=192.0.2.2")).json())).toEqual([]);
  expect((await ask("?address=router")).status).toBe(400);
});

test("GET /api/v1/telemetry without the section says so", async () => {
  expect(await (await ask()).json()).toMatchObject({ enabled: false, listeners: [], exporters: [] });
});
