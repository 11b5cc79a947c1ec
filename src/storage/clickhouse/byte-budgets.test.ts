import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { eventually } from "../../../test/fixtures/service.ts";
import { ClickhouseServer, clickhouseServer } from "../../../test/fixtures/storage/clickhouse.ts";
import { auditEvent, snapshot } from "../../../test/fixtures/storage/history.ts";
import { clickhouseHistory } from "../../../test/fixtures/storage/history-drivers.ts";
import { attack } from "../../../test/fixtures/views.ts";
import type { AuditEvent } from "../../audit/audit-event.ts";
import { RECORD_CAUSES, type RecordCause } from "../record-causes.ts";
import { ByteBudgets } from "./byte-budgets.ts";
import type { ClickhouseHistory } from "./clickhouse-history.ts";

const skipped = clickhouseServer === null ? " (skipped: clickhouse-server is not installed)" : "";
const withServer = (title: string, run: () => Promise<void>) =>
  test.skipIf(clickhouseServer === null)(`${title}${skipped}`, run);

const DAY_MS = 86_400_000;
/** Today, so that the retention removes nothing. */
const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const ROW = 1000;
const BUDGETS = Object.fromEntries(RECORD_CAUSES.map((cause) => [cause, 100 * ROW])) as Record<RecordCause, number>;

let server: ClickhouseServer;
let driver: ClickhouseHistory;
let databases = 0;
let written = 0;

beforeAll(async () => {
  if (clickhouseServer !== null) server = await ClickhouseServer.start();
});
afterAll(() => server?.remove());
afterEach(() => driver?.close());

async function open(options: { readonly maxBytes?: number } = {}): Promise<void> {
  driver = clickhouseHistory(server.url, `budgets${++databases}`, { budgets: BUDGETS, ...options });
  await driver.open();
}

/** Rows of ROW bytes, a minute apart. @param daysAgo of the first. */
async function write(count: number, daysAgo: number, changes: Partial<AuditEvent>): Promise<void> {
  const texts = { operator: "", target: "", ...changes };
  const reason = "r".repeat(ROW - 400 - texts.operator.length - texts.target.length);
  const records = Array.from({ length: count }, (_, i) => {
    const wallMs = TODAY - daysAgo * DAY_MS + i * 60_000;
    return { id: String(written++).padStart(8, "0"), record: auditEvent({ ...texts, reason, wallMs }) };
  });
  await driver.write({ kind: "audit", records });
}

const countOf = async (condition: string) =>
  Number(await server.query(`SELECT count() FROM budgets${databases}.audit WHERE ${condition}`));
const settled = () =>
  eventually(
    async () => (await server.query("SELECT count() FROM system.mutations WHERE NOT is_done")) === "0",
    "removals are not over",
  );
const maintain = async () => {
  const givenUp = await driver.maintain(Date.now());
  await settled();
  return givenUp;
};

withServer("orders of a tenant over their budget make room of its own oldest, and of no other tenant's", async () => {
  await open();
  await write(60, 2, { operator: "noc" });
  await write(20, 5, { operator: "other", tenant: "other" });
  await write(10, 3, { operator: "quiet", tenant: "acme" });
  await write(60, 2, { operator: "loud", tenant: "acme" });
  await write(40, 1, { operator: "loud", tenant: "acme" });
  const removed = 130 - 75;
  expect(await maintain()).toEqual({ tenant_orders: removed });
  expect(await countOf("operator = 'noc'")).toBe(60);
  expect(await countOf("tenant = 'other'")).toBe(20);
  expect(await countOf("operator = 'quiet'")).toBe(10);
  expect(await countOf("operator = 'loud'")).toBe(100 - removed);
  expect(await countOf(`operator = 'loud' AND at >= ${TODAY - DAY_MS}`)).toBe(40);
  expect(await maintain()).toEqual({});
});

withServer("refusals, downloads and automatic rows take no room of orders", async () => {
  await open();
  await write(90, 1, { operator: "noc" });
  await write(300, 3, { operator: "viewer", tenant: "acme", result: "rejected" });
  await write(110, 3, { operator: "reader", action: "packet_download", result: "ok" });
  await write(300, 3, { source: "auto" });
  expect(await maintain()).toEqual({ refused: 225, downloads: 35, automatic: 225 });
  expect(await countOf("operator = 'noc'")).toBe(90);
  expect(await countOf("result = 'rejected'")).toBe(75);
});

withServer("attacks of one tenant make room for its own", async () => {
  await open();
  const of = (tenant: string, count: number, daysAgo: number) =>
    Array.from({ length: count }, (_, i) => {
      const startedAt = TODAY - daysAgo * DAY_MS + i * 60_000;
      return { attack: attack({ id: `${tenant}${i}`, startedAt, endedAt: startedAt + 1 }), tenant };
    });
  await driver.write({ kind: "attacks", records: of("other", 5, 9) });
  await driver.write({ kind: "attacks", records: of("acme", 300, 3) });
  const { attacks = 0 } = await maintain();
  expect(attacks).toBeGreaterThan(100);
  expect(await driver.ask("endedAttack", { id: "other0" })).not.toBeNull();
  expect(await driver.ask("endedAttack", { id: "acme0" })).toBeNull();
  expect(await driver.ask("endedAttack", { id: "acme299" })).not.toBeNull();
});

test("a day that the server does not drop keeps no other in place, and removed rows are counted later", async () => {
  const day = (daysAgo: number) => Math.floor((TODAY - daysAgo * DAY_MS) / DAY_MS);
  const partitions = [3, 2, 1].map((daysAgo) => ({
    ...{ table: "traffic", partition: String(day(daysAgo)), bytes: "100", records: "5" },
  }));
  let isRefusing = true;
  const dropped: string[] = [];
  const budgets = new ByteBudgets(
    {
      database: "d",
      quoted: "`d`",
      select: async (query: string) => (query.includes("system.parts") ? partitions : []),
      command: async (command: string) => {
        if (isRefusing && command.includes(String(day(3)))) throw new Error("too large to drop (359)");
        dropped.push(command);
      },
    },
    { maxBytes: 250, records: BUDGETS },
  );
  const fault = await budgets.settle(["traffic"]).catch((cause: unknown) => cause);
  expect(String(fault)).toContain("359");
  expect(dropped).toEqual([`ALTER TABLE \`d\`.traffic DROP PARTITION ${day(2)}`]);
  isRefusing = false;
  expect(await budgets.settle(["traffic"])).toEqual({ traffic: 10 });
});

withServer("traffic over max_bytes loses its oldest days", async () => {
  await open({ maxBytes: 16 * 1024 * 1024 });
  for (const daysAgo of [3, 2, 1]) {
    const atSeconds = (TODAY - daysAgo * DAY_MS) / 1000;
    await driver.write({ kind: "traffic", records: [snapshot(atSeconds, 10, { host: "192.0.2.1", pps: daysAgo })] });
  }
  expect(await driver.maintain(Date.now())).toEqual({});
  const bytes = Number(
    await server.query(
      `SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'budgets${databases}' AND table = 'traffic'`,
    ),
  );
  await driver.close();
  driver = clickhouseHistory(server.url, `budgets${databases}`, { maxBytes: Math.floor(bytes * 0.7) });
  await driver.open();
  // The row of the snapshot itself, and the host's.
  expect(await driver.maintain(Date.now())).toEqual({ traffic: 2 });
  const range = { fromMs: TODAY - 5 * DAY_MS, toMs: TODAY };
  const points = await driver.ask("trafficPoints", {
    ...range,
    key: "192.0.2.1",
    direction: "incoming",
    stepSeconds: 60,
  });
  expect(points.map(({ pps }) => pps)).toEqual([2, 1]);
});
