import { afterEach, beforeEach, expect, test } from "bun:test";
import { admitCallers, as } from "../../../test/fixtures/http/callers.ts";
import { TestServer } from "../../../test/fixtures/http/http.ts";
import { exporterConfig, exporterReading, listenerReading } from "../../../test/fixtures/telemetry/exporters.ts";
import { status } from "../../../test/fixtures/views.ts";
import { countStates, Exporters } from "../../telemetry/exporters.ts";

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
});
afterEach(() => server.http.stop());

const READ_MS = Date.parse("2026-01-02T03:04:05.000Z");

async function get(path: string): Promise<Record<string, unknown>> {
  const answer = await fetch(`${server.base}/api/v1/${path}`, { headers: as("viewer") });
  return (await answer.json()) as Record<string, unknown>;
}

/** Read a hundred seconds after the start, two seconds ago. */
function views() {
  const exporters = new Exporters([exporterConfig(), exporterConfig({ address: "192.0.2.2", name: "edge2" })], 0);
  exporters.take([exporterReading({ lostRecords: 3, clockSkewMs: null })], 80_000);
  const of = { undecodedByKind: { field_length: 1, length: 0 }, clockSkewMs: null, lostRecords: 3 };
  const undecoded = [{ kind: "field_length", reason: "field 315", count: 1 }];
  exporters.take([exporterReading({ ...of, records: 4400, counted: 4400, undecoded })], 100_000);
  const now = { wallMs: READ_MS + 2000, monotonicMs: 102_000 };
  return { now, readAtMs: 100_000, listeners: [listenerReading()], exporters: exporters.views(102_000) };
}

test("each port and exporter is listed with its rates, and with its faults and their start #telemetry", async () => {
  server.backend.telemetry = views;
  expect(await get("telemetry?address=192.0.2.1")).toMatchObject({
    exporters: [
      {
        address: "192.0.2.1",
        interfaces: [
          {
            ...{ index: 17, name: "et-0/0/1", role: "external", records_in: 2400, records_out: 0 },
            ...{ pps_in: 0, mbps_in: 0, pps_out: 0, mbps_out: 0 },
          },
        ],
      },
    ],
  });
  expect(await get("telemetry?address=edge1")).toEqual({ error: expect.stringContaining("edge1") });
  expect(await get("telemetry")).toEqual({
    enabled: true,
    read_at: "2026-01-02T03:04:05.000Z",
    listeners: [
      {
        ...{ listen: "[::]:2055", threads: 1, datagrams: 110, bytes: 150_000, lost_datagrams: 3 },
        ...{ receive_buffer_bytes: 67_108_864, receive_buffer_used_bytes: 4096 },
        ...{ refused_datagrams: 7, refused_addresses: ["203.0.113.9"], no_room_datagrams: 0 },
        ...{ clamped_records: 0, unspread_records: 0 },
      },
    ],
    exporters: [
      {
        ...{ name: "edge1", address: "192.0.2.1", state: "ok", faults: [], listen: "[::]:2055" },
        ...{ protocols: ["netflow9"], last_seen: "2026-01-02T03:04:04.960Z", age_seconds: 2 },
        rates: { datagrams_per_sec: 0, records_per_sec: 100, counted_per_sec: 100, pps: 0, mbps: 0 },
        ...{ loss: 0, datagrams: 100, bytes: 140_000, records: 4400, counted_records: 4400, left_out_records: {} },
        ...{ event_records: 0, other_records: 4, estimated_records: 0, unknown_rate_records: 0, late_records: 0 },
        ...{ counted_late_records: 0, impossible_rates: 0, untracked_flows: 0, not_for_us: {} },
        ...{ lost_records: 3, lost_datagrams: 0, reordered_datagrams: 0, duplicate_datagrams: 0, dropped_samples: 0 },
        ...{ restarts: 0, templates: 2, templates_refused: 0, templates_displaced: 0, template_changes: 0 },
        ...{ kept_sets: 0, recovered_sets: 0, waiting_bytes: 0 },
        undecoded_by_kind: { field_length: 1 },
        undecoded: [{ kind: "field_length", reason: "field 315", count: 1 }],
        beliefs: expect.arrayContaining([{ about: "rate", text: "1:1000 by its options" }]),
        sampling: [{ domain: 0, sampler: 1, rate: 1000, origin: "options" }],
      },
      {
        ...{ name: "edge2", address: "192.0.2.2", state: "silent" },
        faults: [
          {
            ...{ kind: "silent", since: "2026-01-02T03:03:25.000Z", text: "no datagram yet, for 102 s" },
            remedy: expect.stringContaining("see whether the router runs"),
          },
        ],
      },
    ],
  });
});

test("telemetry is not there without the section, and the status says nothing of it #telemetry", async () => {
  expect(await get("telemetry")).toEqual({ enabled: false, listeners: [], exporters: [] });
  expect(await get("status")).not.toHaveProperty("telemetry");
});

test("status telemetry has how many exporters are in each state #status-telemetry", async () => {
  server.backend.statusView = status({ telemetry: countStates(views().exporters) });
  expect(await get("status")).toMatchObject({
    telemetry: { exporters: 2, faulty: 1, states: { ok: 1, silent: 1 } },
  });
});

test("exporters are listed in the configuration's order, all or those at one address #get-api-v1-telemetry", async () => {
  server.backend.telemetry = views;
  const names = async (path: string) => {
    const { exporters } = await get(path);
    return (exporters as { name: string }[]).map(({ name }) => name);
  };
  expect(await names("telemetry")).toEqual(["edge1", "edge2"]);
  expect(await names("telemetry?address=192.0.2.2")).toEqual(["edge2"]);
  expect(await names("telemetry?address=192.0.2.3")).toEqual([]);
});
