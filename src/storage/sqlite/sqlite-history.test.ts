import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptiedFolder } from "../../../test/fixtures/folders.ts";
import { runCommand } from "../../../test/fixtures/run-command.ts";
import { auditEvent, identified, NO_AUDIT_FILTERS, snapshot } from "../../../test/fixtures/storage/history.ts";
import { NOON } from "../../../test/fixtures/views.ts";
import { HISTORY_BYTES_DEFAULT } from "../../config/sections/storage.ts";
import { RECORD_CAUSES, type RecordCause } from "../record-causes.ts";
import { StorageFault } from "../storage-fault.ts";
import { EDGE_SCHEMA } from "./edge-tables.ts";
import { HISTORY_RESERVES } from "./history-file.ts";
import { recordsPath, SqliteHistory } from "./sqlite-history.ts";
import { TRAFFIC_SCHEMA } from "./traffic-tables.ts";

const isRoot = process.getuid?.() === 0;
const AUDITING = join(import.meta.dir, "../../../test/fixtures/storage/auditing-process.ts");

const folder = emptiedFolder("sqlite");
let path: string;
let driver: SqliteHistory;
const undo: (() => void)[] = [];

beforeEach(() => {
  path = join(folder, "deep", "history.sqlite");
  driver = new SqliteHistory({ path, retentionDays: 30, maxBytes: HISTORY_BYTES_DEFAULT });
});
afterEach(async () => {
  await driver.close();
  for (const step of undo.splice(0).reverse()) step();
});

function faultIn(cause: unknown): StorageFault {
  if (cause instanceof StorageFault) return cause;
  throw cause;
}

async function faultOf(promise: Promise<unknown>): Promise<StorageFault> {
  const outcome = await promise.catch((cause: unknown) => cause);
  if (outcome instanceof StorageFault) return outcome;
  throw new Error(`no StorageFault but ${String(outcome)}`);
}

function audit(toMs = NOON + 1e9) {
  const filters = NO_AUDIT_FILTERS;
  return driver.ask("auditEvents", { range: { fromMs: 0, toMs }, filters, tenant: null });
}

const writeAudit = (...wallMs: number[]) =>
  driver.write({ kind: "audit", records: wallMs.map((at) => identified(auditEvent({ wallMs: at }))) });
const writeTraffic = () => driver.write({ kind: "traffic", records: [snapshot(NOON / 1000, 10)] });

test("every audit row that was acknowledged is there after kill -9", async () => {
  const child = Bun.spawn([process.execPath, AUDITING, path], { stdout: "pipe", stderr: "inherit" });
  let text = "";
  for await (const chunk of child.stdout) {
    text += new TextDecoder().decode(chunk);
    if (text.split("\n").length > 300) child.kill("SIGKILL");
  }
  const acknowledged = text.slice(0, text.lastIndexOf("\n")).split("\n").length;
  expect(acknowledged).toBeGreaterThanOrEqual(300);
  await driver.open();
  const newest = (await audit())[0]?.wallMs ?? 0;
  expect(newest).toBeGreaterThanOrEqual(NOON + acknowledged - 1);
  const db = new Database(recordsPath(path));
  const { n, last } = db.query("SELECT count(*) AS n, max(at) AS last FROM audit").get() as { n: number; last: number };
  db.close();
  expect(n).toBe(last - NOON + 1);
});

test("a file that reaches its size takes no more, and loses its oldest history at the next maintenance", async () => {
  const maxBytes = 4 * 1024 * 1024;
  driver = new SqliteHistory({ path, retentionDays: 30, maxBytes });
  await driver.open();
  const hosts = Array.from({ length: 2000 }, (_, i) => ({ host: `10.0.${i >> 8}.${i & 255}`, pps: i }));
  const at = (i: number) => NOON / 1000 + i * 10;
  let written = 0;
  const fill = async (): Promise<StorageFault | null> => {
    for (; written < 10_000; written++) {
      const fault = await driver
        .write({ kind: "traffic", records: [snapshot(at(written), 10, ...hosts)] })
        .then(() => null, faultIn);
      if (fault !== null) return fault;
    }
    return null;
  };
  expect(await fill()).toMatchObject({ kind: "unavailable", message: expect.stringContaining("full") });
  expect(written).toBeGreaterThan(20);
  const ticks = () => {
    const db = new Database(path, { readonly: true });
    const { first, last } = db.query("SELECT min(ts) AS first, max(ts) AS last FROM ticks").get() as Record<
      string,
      number
    >;
    db.close();
    return { first, last };
  };
  const before = ticks();
  await driver.maintain(at(written) * 1000);
  expect(ticks().first).toBeGreaterThan(before.first ?? 0);
  expect(ticks().last).toBe(before.last);
  const resumedAt = written;
  await fill();
  expect(written).toBeGreaterThan(resumedAt);
  expect(statSync(path).size).toBeLessThanOrEqual(maxBytes);
});

test.skipIf(!isRoot)(
  `history leaves the last of a disk to the state database, traffic first${isRoot ? "" : ": needs root"}`,
  async () => {
    const disk = join(folder, "disk");
    mkdirSync(disk);
    const size = 64 * 1024 * 1024;
    runCommand(["mount", "-t", "tmpfs", "-o", `size=${size}`, "floodwall-test", disk]);
    undo.push(() => runCommand(["umount", "-l", disk]));
    const ballast = join(disk, "ballast");
    const leave = (share: number) => runCommand(["fallocate", "-l", String(Math.floor(size * (1 - share))), ballast]);
    driver = new SqliteHistory({
      path: join(disk, "history.sqlite"),
      retentionDays: 30,
      maxBytes: HISTORY_BYTES_DEFAULT,
    });
    await driver.open();
    await writeTraffic();
    leave(HISTORY_RESERVES.series.share);
    const fault = await faultOf(writeTraffic());
    expect(fault).toMatchObject({ kind: "unavailable", message: expect.stringContaining("less than 6.7 MB are free") });
    await writeAudit(NOON);
    leave(HISTORY_RESERVES.records.share);
    expect((await faultOf(writeAudit(NOON))).message).toContain("less than 1.7 MB are free");
    rmSync(ballast);
    await writeTraffic();
    await writeAudit(NOON);
  },
);

describe("opening", () => {
  test("makes the folder and both files, for the service and its group only", async () => {
    await driver.open();
    expect([existsSync(path), existsSync(join(folder, "deep", "history-audit.sqlite"))]).toEqual([true, true]);
    expect(statSync(join(folder, "deep")).mode & 0o007).toBe(0);
  });

  test("twice is fine, and so is another reader", async () => {
    await driver.open();
    await driver.open();
    const reader = new Database(recordsPath(path), { readonly: true });
    await writeAudit(NOON);
    expect(reader.query("SELECT at FROM audit").all()).toEqual([{ at: NOON }]);
    reader.close();
  });

  test.each([
    ["removed with its folder", () => rmSync(folder, { recursive: true })],
    ["replaced", () => renameSync(recordsPath(path), `${path}.old`)],
  ])("again, a file that was %s takes rows where they are found, and none before", async (_, spoil) => {
    await driver.open();
    await writeAudit(NOON);
    spoil();
    const fault = await faultOf(writeAudit(NOON + 1));
    expect(fault).toMatchObject({ kind: "unavailable" });
    expect(fault.message).toContain(`${recordsPath(path)}: the open file was removed or replaced`);
    await driver.open();
    await writeAudit(NOON + 2);
    await driver.close();
    await driver.open();
    expect(await audit()).toMatchObject([{ wallMs: NOON + 2 }]);
  });

  test("before it, everything is refused as not available", async () => {
    expect(await faultOf(writeAudit(NOON))).toMatchObject({ kind: "unavailable", message: "the file is not open" });
    expect(await faultOf(audit())).toMatchObject({ kind: "unavailable" });
  });

  test("refuses a file that is no database, leaves it as it was, and keeps the audit at work", async () => {
    mkdirSync(join(folder, "deep"));
    const noise = "these are not the pages you are looking for ".repeat(200);
    writeFileSync(path, noise);
    const fault = await faultOf(driver.open());
    expect(fault.message).toContain(`${path}: file is not a database: the file is corrupt, move it aside`);
    expect(readFileSync(path, "utf8")).toBe(noise);
    expect(await faultOf(writeTraffic())).toMatchObject({ message: "the file is not open" });
    await writeAudit(NOON);
    expect(await audit()).toHaveLength(1);
    rmSync(path);
    await driver.open();
    await writeTraffic();
  });

  test("reads what the first schema has: its means are its maxima", async () => {
    mkdirSync(join(folder, "deep"));
    const db = new Database(path, { create: true });
    db.run(TRAFFIC_SCHEMA + EDGE_SCHEMA);
    db.run("PRAGMA user_version = 1");
    const at = NOON / 1000;
    db.run("INSERT INTO series VALUES (1, '192.0.2.1', 0, 0)");
    for (const [i, table] of ["cold_60", "hot"].entries()) {
      db.run(`INSERT INTO ${table} VALUES (1, ${at + 60 * i}, 100, 2, 3, 0, NULL)`);
      db.run(`INSERT INTO ticks VALUES (${i === 0 ? 60 : 0}, ${at + 60 * i}, 10)`);
    }
    db.run(`UPDATE frontier SET ts = ${at + 60}`);
    db.close();
    await driver.open();
    const row = { host: "192.0.2.1", pps: 50, max: [900, 9, 9], deviations: [80, 1, 1] } as const;
    await driver.write({ kind: "traffic", records: [snapshot(at + 70, 10, row)] });
    const range = { fromMs: NOON, toMs: NOON + 3_600_000 };
    const query = { key: "192.0.2.1", direction: "incoming", ...range, stepSeconds: 60 } as const;
    const rates = async () =>
      (await driver.ask("trafficPoints", query)).map(({ pps, maxPps, deviationPps }) => [pps, maxPps, deviationPps]);
    const both = [
      [100, 100, 0],
      [75, 900, 80],
    ];
    expect(await rates()).toEqual(both);
    await driver.maintain(NOON + 3 * 3_600_000);
    expect(await rates()).toEqual(both);
  });

  test("refuses a newer schema", async () => {
    mkdirSync(join(folder, "deep"));
    const db = new Database(path, { create: true });
    db.run("PRAGMA user_version = 99");
    db.close();
    expect((await faultOf(driver.open())).message).toContain("has schema version 99, this build knows 3");
  });

  test("refuses a folder that is none, until it is one", async () => {
    writeFileSync(join(folder, "deep"), "");
    const fault = await faultOf(driver.open());
    expect(fault).toMatchObject({ kind: "unavailable" });
    expect(fault.message).toContain("check the folder, its owner and the free space");
    rmSync(join(folder, "deep"));
    await driver.open();
    await writeAudit(NOON);
  });
});

test("damaged pages are reported as such, and other tables go on", async () => {
  await driver.open();
  await writeAudit(...Array.from({ length: 2000 }, (_, i) => NOON + i));
  await driver.close();
  const file = recordsPath(path);
  const bytes = readFileSync(file);
  bytes.fill(0xa5, 4096 * 12);
  writeFileSync(file, bytes);
  await driver.open();
  const fault = await faultOf(audit());
  expect(fault.message).toContain("is corrupt, move it aside");
  await writeTraffic();
});

test("a batch that the file refuses leaves nothing of itself", async () => {
  await driver.open();
  const bad = identified(auditEvent({ operator: null as unknown as string }));
  const fault = await faultOf(driver.write({ kind: "audit", records: [identified(auditEvent()), bad] }));
  expect(fault.kind).toBe("refused");
  expect(await audit()).toEqual([]);
});

describe.skipIf(!isRoot)(`on a file system of its own${isRoot ? "" : " (skipped: needs root)"}`, () => {
  const mounted = () => join(folder, "deep");
  const mount = (...options: string[]) => {
    const { success, stderr } = Bun.spawnSync(["mount", ...options, mounted()]);
    if (!success) throw new Error(stderr.toString());
  };
  beforeEach(() => {
    mkdirSync(mounted());
    mount("-t", "tmpfs", "-o", "size=1m", "floodwall-test");
    undo.push(() => Bun.spawnSync(["umount", "-l", mounted()]));
  });

  test("a full disk refuses writes as not available, loses nothing, and takes them when there is room", async () => {
    await driver.open();
    await writeAudit(NOON);
    const ballast = join(mounted(), "ballast");
    expect(() => writeFileSync(ballast, new Uint8Array(2 << 20))).toThrow("ENOSPC");
    let kept = 1;
    const fault = await faultOf(
      (async () => {
        for (; kept < 1000; kept++) await writeAudit(NOON + kept);
      })(),
    );
    expect(fault).toMatchObject({ kind: "unavailable" });
    expect(fault.message).toContain("free space");
    expect(await audit()).toHaveLength(kept);
    rmSync(ballast);
    await writeAudit(NOON + kept);
    expect(await audit()).toHaveLength(kept + 1);
  });

  test("a read-only file system is refused at the opening", async () => {
    await driver.open();
    await writeAudit(NOON);
    await driver.close();
    mount("-o", "remount,ro");
    const fault = await faultOf(driver.open());
    expect(fault).toMatchObject({ kind: "unavailable" });
    mount("-o", "remount,rw");
    await driver.open();
    expect(await audit()).toHaveLength(1);
  });
});

describe("questions that take long", () => {
  const edge = (isWanted?: () => boolean, asker: string | null = null) =>
    driver.ask("edgeEvents", { fromMs: 0, toMs: NOON, node: null, zone: null, kind: null }, asker, isWanted);

  test("do not all come before what is to be written", async () => {
    await driver.open();
    const order: string[] = [];
    const done = (word: string) => () => void order.push(word);
    const finished = [edge().then(done("first")), edge().then(done("second")), writeTraffic().then(done("write"))];
    await Promise.all(finished);
    expect(order.at(-1)).toBe("second");
  });

  test("are not run any more when their callers have given up, and the next ones are", async () => {
    await driver.open();
    const asked = [edge(), edge(() => false), edge()];
    expect(String(await faultOf(asked[1] as Promise<unknown>))).toContain("the caller has given up");
    expect(await Promise.all([asked[0], asked[2]])).toEqual([[], []]);
  });

  test("of one tenant keep the administrator and another tenant waiting for few of them", async () => {
    await driver.open();
    const order: string[] = [];
    const ask = async (asker: string | null, word: string) => {
      await edge(undefined, asker);
      order.push(word);
    };
    const many = Array.from({ length: 20 }, () => ask("acme", "acme"));
    await Promise.all([...many, ask("other", "other"), ask(null, "administrator")]);
    expect(order.indexOf("administrator")).toBe(1);
    expect(order.indexOf("other")).toBeLessThanOrEqual(3);
  });

  test("are answered with a fault when the driver is closed, and nothing is opened again", async () => {
    await driver.open();
    const faults = [edge(), edge(), edge()].map(faultOf);
    await driver.close();
    expect((await Promise.all(faults.slice(1))).map(({ kind }) => kind)).toEqual(["unavailable", "unavailable"]);
  });
});

test("records over the budget of their cause are removed with the write, and the maintenance reports their number", async () => {
  await driver.close();
  const budgets = Object.fromEntries(RECORD_CAUSES.map((cause) => [cause, 10_000])) as Record<RecordCause, number>;
  driver = new SqliteHistory({ path, retentionDays: 30, maxBytes: HISTORY_BYTES_DEFAULT, budgets });
  await driver.open();
  await writeAudit(...Array.from({ length: 200 }, (_, i) => NOON + i));
  const kept = await audit();
  expect(kept.length).toBeLessThanOrEqual(25);
  expect(kept[0]?.wallMs).toBe(NOON + 199);
  expect(await driver.maintain(NOON)).toEqual({ orders: 200 - kept.length });
});
