import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { eventually } from "../../test/fixtures/service.ts";
import { auditEvent, NO_AUDIT_FILTERS, snapshot } from "../../test/fixtures/storage/history.ts";
import { type HistoryPlace, sqlitePlace } from "../../test/fixtures/storage/history-drivers.ts";
import { attack, NOON } from "../../test/fixtures/views.ts";
import { HISTORY_QUERIES_MAX, HISTORY_QUERY_MS, HISTORY_QUEUES_MAX } from "../limits.ts";
import { openLog } from "../observability/log.ts";
import { nextTurn } from "../system/timers.ts";
import type { GivenUp, HistoryBatch, HistoryDriver } from "./history-driver.ts";
import { AUDIT_WAIT_MS, HISTORY_FLUSH_MS, type HistoryMetrics, HistoryStore } from "./history-store.ts";
import { StorageFault } from "./storage-fault.ts";

const RANGE = { fromMs: NOON - 1000, toMs: NOON + 1000 };
const NO_FILTERS = NO_AUDIT_FILTERS;

/** Counts by name. */
class CountedMetrics implements HistoryMetrics {
  readonly counts: Record<string, number> = {};
  isUp: boolean | null = null;

  setUp(isUp: boolean): void {
    this.isUp = isUp;
  }
  openFailed = () => this.#add("open failed");
  setQueued = () => {};
  written = (kind: string, records: number) => this.#add(`${kind} written`, records);
  writeFailed = (kind: string) => this.#add(`${kind} failed`);
  dropped = (kind: string, records: number) => this.#add(`${kind} dropped`, records);
  auditLate = () => this.#add("audit late");
  queried = (question: string) => this.#add(`${question} queried`);
  askFailed = (question: string) => this.#add(`${question} failed`);
  maintenanceFailed = () => this.#add("maintenance failed");
  givenUp = (cause: string, records: number) => this.#add(`${cause} given up`, records);
  setPaused = () => {};

  #add(name: string, by = 1): void {
    this.counts[name] = (this.counts[name] ?? 0) + by;
  }
}

/** A store that does nothing until the test allows it. */
class StalledDriver implements HistoryDriver {
  readonly isForAllBrains = false;
  readonly writes: HistoryBatch[] = [];
  openFault: Error | null = null;
  writeFault: Error | null = null;
  isStalled = true;
  isClosed = false;
  maintainedMs: number[] = [];
  givenUp: GivenUp = {};
  isLastWanted = () => true;
  #release: (() => void)[] = [];

  async open(): Promise<void> {
    if (this.openFault !== null) throw this.openFault;
  }

  async write(batch: HistoryBatch): Promise<void> {
    await this.#stall();
    if (this.writeFault !== null) throw this.writeFault;
    this.writes.push(batch);
  }

  async ask(_name: unknown, _question: unknown, _asker: unknown, isWanted: () => boolean = () => true): Promise<never> {
    this.isLastWanted = isWanted;
    await this.#stall();
    return [] as never;
  }

  async maintain(nowMs: number): Promise<GivenUp> {
    this.maintainedMs.push(nowMs);
    return this.givenUp;
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  release(): void {
    this.isStalled = false;
    for (const go of this.#release.splice(0)) go();
  }

  async #stall(): Promise<void> {
    if (this.isStalled) await new Promise<void>((resolve) => this.#release.push(resolve));
  }
}

let clock: ManualClock;
let metrics: CountedMetrics;
let lines: string[];

function storeOver(driver: HistoryDriver): HistoryStore {
  const log = openLog({ level: "info", clock, destination: { write: (line) => lines.push(line) } });
  return new HistoryStore({ driver, clock, timers: new ManualTimers(clock), log, metrics });
}

async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await nextTurn();
}

beforeEach(() => {
  clock = new ManualClock();
  metrics = new CountedMetrics();
  lines = [];
});

describe("with a store that stalls", () => {
  let driver: StalledDriver;
  let store: HistoryStore;
  beforeEach(async () => {
    driver = new StalledDriver();
    store = storeOver(driver);
    await store.start();
  });

  test("a command waits a second for its audit row, which is kept when the store comes back", async () => {
    let isAnswered = false;
    const recorded = store.recordAudit(auditEvent({ target: "192.0.2.7" })).then(() => (isAnswered = true));
    await settle();
    clock.advance(AUDIT_WAIT_MS - 1);
    await settle();
    expect(isAnswered).toBe(false);
    clock.advance(1);
    await recorded;
    expect(metrics.counts).toEqual({ "audit late": 1 });
    expect(lines.filter((line) => line.includes("an audit row is not stored yet"))).toHaveLength(1);
    expect(lines.join()).toContain('"target":"192.0.2.7"');
    driver.release();
    await settle();
    expect(metrics.counts["audit written"]).toBe(1);
    expect(driver.writes.map(({ kind }) => kind)).toEqual(["audit"]);
  });

  test("a command does not wait for a store whose writes fail, until they are well again", async () => {
    driver.release();
    driver.writeFault = new StorageFault("write", "unavailable", "away");
    await store.recordAudit(auditEvent());
    await store.recordAudit(auditEvent());
    expect(metrics.counts).toEqual({ "audit failed": 1, "audit late": 2 });
    driver.writeFault = null;
    clock.advance(1000);
    await settle();
    await store.recordAudit(auditEvent());
    expect(metrics.counts).toEqual({ "audit failed": 1, "audit late": 2, "audit written": 3 });
    await store.stop();
    expect(clock.pending).toBe(0);
  });

  test("the loss is logged once a minute, and counted each time", async () => {
    for (let i = 0; i < HISTORY_QUEUES_MAX.audit + 3; i++) void store.recordAudit(auditEvent());
    await settle();
    expect(metrics.counts).toEqual({ "audit dropped": 3 });
    expect(lines.filter((line) => line.includes("an audit row is lost"))).toHaveLength(1);
  });

  test("snapshots of traffic beyond the bound are dropped, those before it are written", async () => {
    for (let i = 0; i < HISTORY_QUEUES_MAX.traffic + 2; i++) void store.recordTraffic(snapshot(NOON / 1000 + i, 10));
    await settle();
    expect(metrics.counts).toEqual({ "traffic dropped": 2 });
    driver.release();
    await settle();
    expect(metrics.counts["traffic written"]).toBe(HISTORY_QUEUES_MAX.traffic);
  });

  test("a question is refused after its time, and not wanted any more", async () => {
    const fault = store.ask("endedAttacks", { limit: 1 }).catch((cause: unknown) => cause);
    expect(driver.isLastWanted()).toBe(true);
    clock.advance(HISTORY_QUERY_MS);
    expect(await fault).toBeInstanceOf(StorageFault);
    expect(driver.isLastWanted()).toBe(false);
    expect(String(await fault)).toContain("does not answer in time");
    expect(metrics.counts).toEqual({ "endedAttacks failed": 1, "endedAttacks queried": 1 });
  });

  test("further questions than its bound wait, and those of the administrator and of others come before the caller with the most", async () => {
    const order: string[] = [];
    const ask = async (tenant: string | null, label: string) => {
      await store.ask("endedAttacks", { limit: 1 }, tenant);
      order.push(label);
    };
    const many = Array.from({ length: HISTORY_QUERIES_MAX + 20 }, () => ask("acme", "acme"));
    const all = [...many, ask("other", "other"), ask(null, "own")];
    await settle();
    expect(order).toEqual([]);
    driver.release();
    await Promise.all(all);
    expect(order.indexOf("own")).toBeLessThan(HISTORY_QUERIES_MAX + 2);
    expect(order.indexOf("other")).toBeLessThan(HISTORY_QUERIES_MAX + 4);
  });

  test("stopping takes a bounded time and logs what is lost", async () => {
    void store.recordTraffic(snapshot(NOON / 1000, 10));
    const stopped = store.stop();
    await settle();
    clock.advance(HISTORY_FLUSH_MS);
    await stopped;
    expect(driver.isClosed).toBe(true);
    expect(metrics.counts).toEqual({ "traffic dropped": 1 });
    expect(lines.join()).toContain("history that could not be written in time is lost");
    expect(clock.pending).toBe(0);
  });
});

test("a store that cannot be opened is logged, and opening is tried again", async () => {
  const driver = new StalledDriver();
  driver.release();
  driver.openFault = driver.writeFault = new StorageFault("open", "unavailable", "/srv/history.sqlite: read-only");
  const store = storeOver(driver);
  await store.start();
  store.saveAttack(attack(), "acme");
  await settle();
  expect(metrics.counts).toMatchObject({ "open failed": 1, "attacks failed": 1 });
  expect(metrics.isUp).toBe(false);
  expect(lines.join()).toContain("/srv/history.sqlite: read-only");
  driver.openFault = driver.writeFault = null;
  clock.advance(10_000);
  await settle();
  expect(metrics.isUp).toBe(true);
  expect(driver.writes).toMatchObject([{ kind: "attacks", records: [{ tenant: "acme" }] }]);
  clock.advance(60_000);
  expect(driver.maintainedMs).toHaveLength(1);
  await store.stop();
});

test("what waits for a part that was opened again is written then, however long its pause", async () => {
  const driver = new StalledDriver();
  driver.release();
  driver.writeFault = new StorageFault("write", "unavailable", "/srv/history.sqlite: removed");
  const store = storeOver(driver);
  await store.start();
  store.saveAttack(attack(), null);
  await settle();
  for (const pauseMs of [1000, 2000, 4000]) {
    clock.advance(pauseMs);
    await settle();
  }
  driver.writeFault = null;
  // The maintenance runs at 10 s; the pause would last until 15 s.
  clock.advance(3000);
  await settle();
  expect(driver.writes).toHaveLength(1);
  await store.stop();
});

describe("the audit trail", () => {
  let place: HistoryPlace;
  let store: HistoryStore;
  beforeEach(async () => {
    place = await sqlitePlace();
    store = storeOver(place.driver);
    await store.start();
  });
  afterEach(async () => {
    await store.stop();
    await place.remove();
  });

  test("finds an address whatever its spelling was", async () => {
    await store.recordAudit(auditEvent({ target: "2001:DB8:0:0::1" }));
    await store.recordAudit(auditEvent({ target: "2001:db8::0:2->2001:0db8::1", targetType: "source" }));
    await store.recordAudit(auditEvent({ target: "not an address" }));
    const target = "2001:db8::1" as never;
    const events = await store.ask("auditEvents", { range: RANGE, filters: { ...NO_FILTERS, target }, tenant: null });
    expect(events).toMatchObject([{ target: "2001:db8::2->2001:db8::1" }, { target: "2001:db8::1" }]);
  });

  test("keeps the order of events of one millisecond", async () => {
    for (const reason of ["first", "second", "third"]) await store.recordAudit(auditEvent({ reason }));
    const events = await store.ask("auditEvents", { range: RANGE, filters: NO_FILTERS, tenant: null });
    expect(events.map(({ reason }) => reason)).toEqual(["third", "second", "first"]);
  });

  test("does not wait for traffic that is written meanwhile", async () => {
    for (let i = 0; i < HISTORY_QUEUES_MAX.traffic; i++) {
      void store.recordTraffic(snapshot(NOON / 1000 + i, 1, { host: "192.0.2.1", pps: i }));
    }
    await store.recordAudit(auditEvent());
    await eventually(() => metrics.counts["traffic written"] === HISTORY_QUEUES_MAX.traffic, "traffic was not written");
  });
});
