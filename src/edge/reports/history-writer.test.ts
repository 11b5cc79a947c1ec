import { beforeEach, describe, expect, test } from "bun:test";
import { edgeReport, zoneWire } from "../../../test/fixtures/edge/edge-reports.ts";
import { NOON } from "../../../test/fixtures/views.ts";
import { HISTORY_QUEUES_MAX } from "../../limits.ts";
import { nextTurn } from "../../system/timers.ts";
import type { EdgeEvent, EdgeWindow } from "./edge-history.ts";
import {
  EDGE_REPORTS_AT_ONCE,
  EDGE_REPORTS_WAITING_MAX,
  EDGE_REPORTS_WAITING_PER_NODE,
  HistoryWriter,
} from "./history-writer.ts";

/** Stores records, and resolves when the test allows it. */
class SlowStore {
  readonly windows: EdgeWindow[] = [];
  readonly events: EdgeEvent[] = [];
  isSlow = false;
  #settle: (() => void)[] = [];

  recordEdgeWindow(window: EdgeWindow): Promise<unknown> {
    this.windows.push(window);
    return this.#settled();
  }

  recordEdgeEvent(event: EdgeEvent): Promise<unknown> {
    this.events.push(event);
    return this.#settled();
  }

  settleAll(): void {
    for (const settle of this.#settle.splice(0)) settle();
  }

  #settled(): Promise<unknown> {
    return this.isSlow ? new Promise<void>((resolve) => this.#settle.push(resolve)) : Promise.resolve();
  }
}

let store: SlowStore;
let log: unknown[][];
let writer: HistoryWriter;

beforeEach(() => {
  store = new SlowStore();
  log = [];
  writer = new HistoryWriter({
    store,
    serves: (node, zone) => zone.startsWith(node),
    nextTurn,
    observer: {
      clockSkewed: (node) => log.push(["skewed", node]),
      leftOut: (node, why) => log.push(["left out", node, why]),
      failed: (cause) => log.push(["failed", cause]),
    },
  });
});

function report(node: string, wire: Parameters<typeof edgeReport>[0] = {}, reportedAt = NOON): void {
  writer.reported(node, { report: edgeReport(wire), reportedAt });
}

/** Resolves when everything that does not need the store is done. */
async function settled(): Promise<void> {
  for (let i = 0; i < 5000; i++) await nextTurn();
}

test("an answer waits for no write #edge-event-rules-nothing-of-the-answer", async () => {
  report("e1", { zones: [zoneWire("e1.a")] });
  expect(store.windows).toEqual([]);
  await settled();
  expect(store.windows).toMatchObject([{ node: "e1", zone: "e1.a", atMs: NOON }]);
});

test("reports of a node follow each other, and the first one is silent", async () => {
  report("e1", { version: "1" });
  report("e2", { version: "1" });
  report("e1", { version: "2" }, NOON + 1000.5);
  report("e1", { version: "3" }, NOON + 2000);
  await settled();
  expect(store.events).toEqual([
    { atMs: NOON + 1000, node: "e1", zone: null, kind: "version", detail: "from 1 to 2" },
    { atMs: NOON + 2000, node: "e1", zone: null, kind: "version", detail: "from 2 to 3" },
  ]);
});

test("zones that the node does not serve are neither written nor cause events", async () => {
  report("e1", {});
  const not_after = "2026-06-01T00:00:00Z";
  report("e1", { zones: [zoneWire("e2.a"), zoneWire("e1.a")], certs: [{ zone: "e2.a", not_after }] });
  await settled();
  expect(store.windows.map(({ zone }) => zone)).toEqual(["e1.a"]);
  expect(store.events).toEqual([]);
});

test("a wrong clock is reported", async () => {
  const [hourLater, next] = [NOON + 3_600_000, new Date(NOON + 10_000).toISOString()];
  report("e1", { zones: [zoneWire("e1.a")] });
  report("e1", { zones: [zoneWire("e1.a", { at: next })] }, hourLater);
  await settled();
  expect(log).toEqual([["skewed", "e1"]]);
  expect(store.events.map(({ kind, atMs }) => [kind, atMs])).toEqual([["clock_skew", hourLater]]);
  expect(store.windows.map(({ atMs }) => atMs)).toEqual([NOON, hourLater]);
});

test("a window that no other has followed for an hour is no clock that is off", async () => {
  for (const ms of [0, 3_600_000]) report("e1", { zones: [zoneWire("e1.a")] }, NOON + ms);
  await settled();
  expect([log, store.events]).toEqual([[], []]);
  expect(store.windows.map(({ atMs }) => atMs)).toEqual([NOON]);
});

test("the first report of a node that was gone is silent again", async () => {
  report("e1", { version: "1" });
  await settled();
  writer.forget(() => false);
  report("e1", { version: "2" });
  await settled();
  expect(store.events).toEqual([]);
});

test("comings and goings are events of the node", () => {
  writer.nodeChanged({ atMs: NOON, node: "e1", kind: "node_lost", detail: "" });
  expect(store.events).toEqual([{ atMs: NOON, node: "e1", zone: null, kind: "node_lost", detail: "" }]);
});

describe("a store that is slow", () => {
  const zones = Array.from({ length: HISTORY_QUEUES_MAX.edge_windows / 4 }, (_, i) => zoneWire(`e1.${i}`));

  beforeEach(() => {
    store.isSlow = true;
  });

  test("is given no more than half of its queue at a time", async () => {
    for (let i = 0; i < 4; i++) report("e1", { zones }, NOON + i);
    await settled();
    expect(store.windows).toHaveLength(2 * zones.length);
    store.settleAll();
    await settled();
    expect(store.windows).toHaveLength(4 * zones.length);
  });

  test("gets all that waits when the service stops", async () => {
    for (let i = 0; i < 4; i++) report("e1", { zones }, NOON + i);
    await settled();
    writer.stop();
    expect(store.windows).toHaveLength(4 * zones.length);
    store.settleAll();
    await settled();
    expect(store.windows).toHaveLength(4 * zones.length);
  });

  test("makes reports wait up to a bound, beyond which they are left out and log", async () => {
    for (let i = 0; i < 2; i++) report("e1", { zones }, NOON + i);
    await settled();
    for (let i = 0; i < EDGE_REPORTS_WAITING_MAX; i++) report(`node${i}`);
    expect(log).toEqual([]);
    report("e2");
    expect(log).toEqual([["left out", "e2", "behind"]]);
    store.settleAll();
    await settled();
    report("e2");
    await settled();
    expect(log).toHaveLength(1);
  });

  test("lets no node wait with more than its share", async () => {
    for (let i = 0; i < 2; i++) report("e1", { zones }, NOON + i);
    await settled();
    for (let i = 0; i < EDGE_REPORTS_WAITING_PER_NODE; i++) report("e1");
    expect(log).toEqual([]);
    report("e1");
    report("e2");
    expect(log).toEqual([["left out", "e1", "behind"]]);
    store.settleAll();
    await settled();
    report("e1");
    expect(log).toHaveLength(1);
  });
});

describe("a node that reports too often", () => {
  /** One after the other, each a window of its own. */
  async function reportAt(ms: number, node = "e1"): Promise<void> {
    const at = new Date(NOON + ms).toISOString();
    report(node, { zones: [zoneWire(`${node}.a`, { at })] }, NOON + ms);
    for (let i = 0; i < 4; i++) await nextTurn();
  }
  const leftOut = () => log.filter(([what]) => what === "left out").length;

  test("has some at once, one a second after, and the rest left out and log", async () => {
    for (let i = 0; i < 1000; i++) await reportAt(i * 100);
    // One was earned in each full second of the 99.9 s.
    expect(store.windows.length).toBe(EDGE_REPORTS_AT_ONCE + 99);
    expect(leftOut()).toBe(1000 - store.windows.length);
    expect(new Set(log.map(String))).toEqual(new Set(["left out,e1,too_often"]));
  });

  test("leaves others theirs, and has its own again once it was silent", async () => {
    for (let i = 0; i <= EDGE_REPORTS_AT_ONCE; i++) await reportAt(i);
    expect([store.windows.length, leftOut()]).toEqual([EDGE_REPORTS_AT_ONCE, 1]);
    await reportAt(61, "e2");
    await reportAt(1100);
    expect([store.windows.length, leftOut()]).toEqual([EDGE_REPORTS_AT_ONCE + 2, 1]);
  });

  test("is judged again where the clock was set back", async () => {
    for (let i = 0; i < EDGE_REPORTS_AT_ONCE; i++) await reportAt(i);
    await reportAt(-3_600_000);
    await reportAt(-3_599_000);
    expect([store.windows.length, leftOut()]).toEqual([EDGE_REPORTS_AT_ONCE + 1, 1]);
  });
});

test("a fault is reported, and the next report is written", async () => {
  const recordEdgeWindow = store.recordEdgeWindow.bind(store);
  store.recordEdgeWindow = () => {
    throw new Error("broken");
  };
  report("e1", { zones: [zoneWire("e1.a")] });
  await settled();
  store.recordEdgeWindow = recordEdgeWindow;
  report("e1", { zones: [zoneWire("e1.a")] });
  await settled();
  expect([log.map(([what]) => what), store.windows.length]).toEqual([["failed"], 1]);
});
