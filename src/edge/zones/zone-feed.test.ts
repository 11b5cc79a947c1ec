import { beforeEach, describe, expect, test } from "bun:test";
import { edgeConfig, TestEdge } from "../../../test/fixtures/edge/edge.ts";
import { ManualClock, ManualTimers } from "../../../test/fixtures/manual-clock.ts";
import { nextTurn } from "../../system/timers.ts";
import type { ClearanceKey } from "./clearance-keys.ts";
import { ZoneFeed } from "./zone-feed.ts";

const CONFIG = edgeConfig({ nodes: [{ name: "e1" }], zones: [{ name: "a.example.net" }, { name: "b.example.net" }] });

let clock: ManualClock;
let edge: TestEdge;
let calls: string[];

beforeEach(() => {
  clock = new ManualClock("2026-03-01T23:58:00.000Z");
  edge = new TestEdge(clock, new ManualTimers(clock), CONFIG);
  calls = [];
  edge.feed.watch({ changed: () => calls.push("changed"), reloaded: () => calls.push("reloaded") });
});

const etag = () => edge.feed.documentFor("all").etag;

describe("a document", () => {
  test("is the same one as long as nothing changes, whatever time passes", () => {
    edge.feed.start();
    const document = edge.feed.documentFor("all");
    clock.advance(119_999);
    expect(edge.feed.documentFor("all")).toBe(document);
    expect(calls).toEqual([]);
  });

  test("is of now also for who asks before the clock was looked at", () => {
    const before = etag();
    clock.advance(120_000);
    expect([etag() === before, calls]).toEqual([false, ["changed"]]);
    clock.setWall("2026-03-01T12:00:00.000Z");
    expect([etag() === before, calls]).toEqual([true, ["changed", "changed"]]);
  });

  test("of a reload has its new zones, and the watcher is notified of the reload", () => {
    edge.reconfigure(edgeConfig({ nodes: [{ name: "e1" }], zones: [] }));
    expect(calls).toEqual(["reloaded"]);
  });
});

describe("the clock", () => {
  test("is looked at when something is due, and every second otherwise", () => {
    edge.feed.start();
    clock.setWall("2026-03-02T00:00:00.000Z");
    clock.advance(999);
    expect(calls).toEqual([]);
    clock.advance(1);
    expect(calls).toEqual(["changed"]);
    edge.feed.stop();
    expect(clock.pending).toBe(0);
  });

  test("turns the keys exactly at midnight, once", () => {
    clock.advance(300);
    edge.feed.start();
    clock.advance(119_699);
    expect(calls).toEqual([]);
    clock.advance(1);
    expect(calls).toEqual(["changed"]);
    clock.advance(3_600_000);
    expect(calls).toEqual(["changed"]);
  });
});

test("the keys of the next day are derived in the minute before it, once for each zone", async () => {
  const derived: string[] = [];
  const keys: readonly ClearanceKey[] = [];
  const feed = new ZoneFeed({
    nodes: edge.nodes,
    levers: edge.levers,
    acme: edge.acme,
    keys: { at: () => () => keys, ahead: () => (zone) => [keys, derived.push(zone.name)][0] as typeof keys },
    nowMs: () => clock.wallMs(),
    after: (ms, fn) => clock.wakeAt(clock.monotonicMs() + ms, fn),
    nextTurn,
  });
  feed.start();
  clock.advance(59_000);
  expect(derived).toEqual([]);
  clock.advance(60_000);
  await nextTurn();
  expect(derived).toEqual(["a.example.net", "b.example.net"]);
  clock.advance(86_400_000);
  await nextTurn();
  expect(derived).toHaveLength(4);
  feed.stop();
});
