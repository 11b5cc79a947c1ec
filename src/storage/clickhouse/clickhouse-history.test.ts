import { afterEach, expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { eventually, freePort } from "../../../test/fixtures/service.ts";
import { ClickhouseServer, clickhouseServer } from "../../../test/fixtures/storage/clickhouse.ts";
import {
  auditEvent,
  edgeWindow,
  identified,
  NO_AUDIT_FILTERS,
  snapshot,
} from "../../../test/fixtures/storage/history.ts";
import { clickhouseHistory, RETENTION_DAYS } from "../../../test/fixtures/storage/history-drivers.ts";
import { NOON } from "../../../test/fixtures/views.ts";
import { CLICKHOUSE_BYTES_DEFAULT } from "../../config/sections/storage.ts";
import { openLog } from "../../observability/log.ts";
import { Metrics } from "../../observability/metrics.ts";
import { systemClock } from "../../system/clock.ts";
import { systemTimers } from "../../system/timers.ts";
import type { HistoryDriver } from "../history-driver.ts";
import { HistoryStore } from "../history-store.ts";
import { StorageFault } from "../storage-fault.ts";
import { ClickhouseHistory } from "./clickhouse-history.ts";
import { createTable, TABLES } from "./schema.ts";

const skipped = clickhouseServer === null ? " (skipped: clickhouse-server is not installed)" : "";
const withServer = (title: string, run: () => Promise<void>) =>
  test.skipIf(clickhouseServer === null)(`${title}${skipped}`, run);

const undo: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function server(...options: Parameters<typeof ClickhouseServer.start>): Promise<ClickhouseServer> {
  const started = await ClickhouseServer.start(...options);
  undo.push(() => started.remove());
  return started;
}

const ALL = { fromMs: NOON - 1e9, toMs: NOON + 1e9 };
const EVERYTHING = { range: ALL, filters: NO_AUDIT_FILTERS, tenant: null };
const operators = async (driver: Pick<HistoryDriver, "ask">) =>
  (await driver.ask("auditEvents", EVERYTHING)).map(({ operator }) => operator);
const writeAudit = (driver: HistoryDriver, operator: string) =>
  driver.write({ kind: "audit", records: [identified(auditEvent({ operator }))] });

withServer("creates the database if it is missing, and again if it was dropped", async () => {
  const { url, query } = await server().then((started) => ({ url: started.url, query: started.query.bind(started) }));
  const driver = clickhouseHistory(url, "made");
  undo.push(() => driver.close());
  await driver.open();
  await writeAudit(driver, "first");
  await query("DROP DATABASE made");
  const fault = await writeAudit(driver, "second").catch((cause: unknown) => cause);
  expect(fault).toBeInstanceOf(StorageFault);
  expect(fault).toMatchObject({ kind: "unavailable" });
  await driver.open();
  await writeAudit(driver, "third");
  expect(await operators(driver)).toEqual(["third"]);
});

withServer("reads its credentials from the environment for each request", async () => {
  const { url } = await server({ password: "hunter2" });
  const variables: Record<string, string> = { CH_PASSWORD: "wrong" };
  const driver = new ClickhouseHistory({
    url,
    database: "secured",
    usernameEnv: null,
    passwordEnv: "CH_PASSWORD",
    retentionDays: RETENTION_DAYS,
    maxBytes: CLICKHOUSE_BYTES_DEFAULT,
    environment: { read: (name) => variables[name] ?? null },
    clock: systemClock,
  });
  undo.push(() => driver.close());
  const fault = await driver.open().catch((cause: unknown) => cause);
  expect(fault).toMatchObject({ kind: "unavailable" });
  expect(String(fault)).not.toContain("hunter2");
  expect(String(fault)).not.toContain("wrong");
  variables["CH_PASSWORD"] = "hunter2";
  await driver.open();
  await writeAudit(driver, "noc");
  expect(await operators(driver)).toEqual(["noc"]);
});

interface Running {
  readonly store: HistoryStore;
  readonly lines: string[];
  /** The sum of a counter over its labels. */
  readonly counted: (name: string) => Promise<number>;
}

async function runningStore(driver: HistoryDriver): Promise<Running> {
  const lines: string[] = [];
  const log = openLog({ level: "info", clock: systemClock, destination: { write: (line) => lines.push(line) } });
  const metrics = new Metrics("test");
  const store = new HistoryStore({ driver, clock: systemClock, timers: systemTimers, log, metrics: metrics.storage });
  undo.push(() => store.stop());
  await store.start();
  const counted = async (name: string) =>
    (await metrics.text())
      .split("\n")
      .filter((line) => line.startsWith(name))
      .reduce((sum, line) => sum + Number(line.split(" ")[1]), 0);
  return { store, lines, counted };
}

withServer("goes on without a server that is killed in mid-run, and loses nothing that waited", async () => {
  const started = await server();
  const { store, lines, counted } = await runningStore(clickhouseHistory(started.url, "history"));
  await store.recordAudit(auditEvent({ operator: "before" }));
  await started.kill();
  await store.recordAudit(auditEvent({ operator: "during", wallMs: NOON + 1 }));
  void store.recordTraffic(snapshot(NOON / 1000, 10, { host: "192.0.2.1", pps: 5 }));
  expect(await counted("svc_storage_audit_late_total")).toBe(1);
  expect(lines.join()).toContain("an audit row is not stored yet");
  const fault = await operators(store).catch((cause: unknown) => cause);
  expect(fault).toBeInstanceOf(StorageFault);
  await started.resume();
  await eventually(async () => (await operators(store)).length === 2, "the row that waited was not written", 40_000);
  expect(await operators(store)).toEqual(["during", "before"]);
  const question = { ...ALL, key: address("192.0.2.1"), direction: "incoming", stepSeconds: 60 } as const;
  await eventually(
    async () => (await store.ask("trafficPoints", question))[0]?.pps === 5,
    "the snapshot that waited was not written",
    40_000,
  );
  expect(await counted("svc_storage_dropped_records_total")).toBe(0);
});

withServer("delays no caller for long when the server is up and does not answer", async () => {
  const started = await server();
  const { store, counted } = await runningStore(clickhouseHistory(started.url, "history"));
  await store.recordAudit(auditEvent({ operator: "before" }));
  started.signal("SIGSTOP");
  await store.recordAudit(auditEvent({ operator: "during", wallMs: NOON + 1 }));
  const fault = await operators(store).catch((cause: unknown) => cause);
  expect(fault).toMatchObject({ name: "StorageFault", message: "the history does not answer in time" });
  expect(await counted("svc_storage_audit_late_total")).toBe(1);
  started.signal("SIGCONT");
  await eventually(
    async () => (await operators(store)).includes("during"),
    "the row that waited was not written",
    40_000,
  );
  // The first write may have succeeded although it was repeated: the record is counted once.
  expect(await operators(store)).toEqual(["during", "before"]);
});

/** As the first version made it. */
const FIRST_TRAFFIC = `CREATE TABLE old.traffic (host String, outgoing UInt8, ts UInt32, seconds Float64, pps Float64,
  mbps Float64, flows Float64, in_attack UInt8, learned UInt8, baseline Float64) ENGINE = ReplacingMergeTree()
  PARTITION BY intDiv(ts, 86400) ORDER BY (host, outgoing, ts)`;
const OLD_ROWS = [0, 1].map(
  (i) => `('${i === 0 ? "" : "192.0.2.1"}', 0, ${NOON / 1000}, 10, ${i * 100}, 2, 3, 0, 0, 0)`,
);
const HOST_QUERY = { ...ALL, key: "192.0.2.1", direction: "incoming", stepSeconds: 10 } as const;
const newSnapshot = snapshot(NOON / 1000 + 10, 10, {
  host: "192.0.2.1",
  pps: 50,
  max: [900, 9, 9],
  deviations: [80, 1, 1],
});

withServer("reads a table of the first version: its means are its maxima", async () => {
  const started = await server();
  await started.query("CREATE DATABASE old");
  await started.query(FIRST_TRAFFIC);
  await started.query(`INSERT INTO old.traffic VALUES ${OLD_ROWS.join(", ")}`);
  const driver = clickhouseHistory(started.url, "old");
  undo.push(() => driver.close());
  await driver.open();
  await driver.write({ kind: "traffic", records: [newSnapshot] });
  const points = await driver.ask("trafficPoints", HOST_QUERY);
  expect(points.map(({ pps, maxPps, maxMbps }) => [pps, maxPps, maxMbps])).toEqual([
    [100, 100, 2],
    [50, 900, 9],
  ]);
});

withServer("a table with the maxima gets the columns of their deviations", async () => {
  const started = await server();
  await started.query("CREATE DATABASE old");
  const maxima =
    ", max_pps Float64 DEFAULT pps, max_mbps Float64 DEFAULT mbps, max_flows Float64 DEFAULT flows) ENGINE";
  await started.query(FIRST_TRAFFIC.replace(") ENGINE", maxima));
  const driver = clickhouseHistory(started.url, "old");
  undo.push(() => driver.close());
  await driver.open();
  await driver.write({ kind: "traffic", records: [newSnapshot] });
  const points = await driver.ask("trafficPoints", HOST_QUERY);
  expect(points.map(({ maxPps, deviationPps }) => [maxPps, deviationPps])).toEqual([[900, 80]]);
});

withServer("uses an operator's table of the first version as it is", async () => {
  const started = await server();
  await started.query("CREATE DATABASE old");
  await started.query(FIRST_TRAFFIC.replace("old.traffic", "old.local"));
  await started.query("CREATE TABLE old.traffic AS old.local ENGINE = Buffer(old, local, 1, 0, 0, 1, 1, 1, 1)");
  const driver = clickhouseHistory(started.url, "old");
  undo.push(() => driver.close());
  await driver.open();
  await driver.write({ kind: "traffic", records: [newSnapshot] });
  expect((await driver.ask("trafficPoints", HOST_QUERY)).map(({ pps, maxPps }) => [pps, maxPps])).toEqual([[50, 50]]);
});

withServer("counts each record once over Distributed tables on two servers", async () => {
  const ports = [await freePort(), await freePort()] as const;
  const servers = await Promise.all(ports.map((tcpPort) => server({ tcpPort, shards: ports })));
  const [first, second] = servers as [ClickhouseServer, ClickhouseServer];
  for (const each of servers) {
    await each.query("CREATE DATABASE fleet");
    await each.query("CREATE DATABASE shard");
    for (const table of TABLES) {
      await each.query(createTable("shard", table));
      await each.query(
        `CREATE TABLE fleet.${table} AS shard.${table} ENGINE = Distributed(shards, shard, ${table}, rand())`,
      );
    }
  }
  const driver = clickhouseHistory(first.url, "fleet");
  undo.push(() => driver.close());
  await driver.open();
  const source = { source: address("198.51.100.1"), state: "denied", requests: 2 } as const;
  const sent = {
    audit: Array.from({ length: 40 }, (_, i) => identified(auditEvent({ wallMs: NOON + i, operator: String(i) }))),
    windows: Array.from({ length: 40 }, (_, i) =>
      edgeWindow({ atMs: NOON + i * 1000, counts: { requests: 1 }, sources: [source] }),
    ),
    traffic: Array.from({ length: 40 }, (_, i) => snapshot(NOON / 1000 + i, 1, { host: "192.0.2.1", pps: 6 })),
  };
  for (let time = 0; time < 2; time++) {
    await driver.write({ kind: "audit", records: sent.audit });
    await driver.write({ kind: "edge_windows", records: sent.windows });
    for (const one of sent.traffic) await driver.write({ kind: "traffic", records: [one] });
  }
  // Distributed tables forward rows in the background.
  const local = async (each: ClickhouseServer) => Number(await each.query("SELECT count() FROM shard.audit"));
  await eventually(
    async () => (await local(first)) + (await local(second)) >= 80,
    "rows did not reach the shards",
    20_000,
  );
  expect(await local(second)).toBeGreaterThan(0);
  expect((await driver.ask("auditEvents", EVERYTHING)).map(({ operator }) => operator)).toEqual(
    sent.audit.map(({ record }) => record.operator).toReversed(),
  );
  const zone = "www.example.com";
  await eventually(async () => {
    const points = await driver.ask("edgePoints", { ...ALL, zone, node: null, stepSeconds: 60 });
    return points[0]?.counts.requests === 40 && points[0].seconds === 400;
  }, "windows were not counted once");
  expect(await driver.ask("edgeSources", { ...ALL, zone, node: null, state: null })).toMatchObject([
    { requests: 80, windows: 40, nodes: 1 },
  ]);
  const question = { ...ALL, key: address("192.0.2.1"), direction: "incoming", stepSeconds: 60 } as const;
  expect((await driver.ask("trafficPoints", question)).map(({ pps }) => pps)).toEqual([6]);
  // The operator is responsible for their partitions.
  await driver.maintain(NOON + 100 * 86_400_000);
  expect(await operators(driver)).toHaveLength(40);
});
