/** What every history driver does with the windows, sources and events of edge nodes. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { EdgeEvent } from "../../src/edge/reports/edge-history.ts";
import { address } from "../fixtures/host-rows.ts";
import { edgeWindow, identified } from "../fixtures/storage/history.ts";
import { type HistoryPlace, historyDrivers } from "../fixtures/storage/history-drivers.ts";
import { NOON } from "../fixtures/views.ts";

const zone = "www.example.com";
const MINUTE = { fromMs: NOON, toMs: NOON + 60_000 };

describe.each(historyDrivers())("$title", ({ skipped, place: newPlace }) => {
  let place: HistoryPlace;
  beforeEach(async () => {
    place = await newPlace();
    await place.driver.open();
  });
  afterEach(() => place.remove());
  const contract = test.skipIf(skipped !== null);
  const write = (...records: ReturnType<typeof edgeWindow>[]) => place.driver.write({ kind: "edge_windows", records });

  contract("windows are of a zone and, if one is named, of a node, in a range whose end is not in it", async () => {
    const ask = async (node: string | null = null) => {
      const points = await place.driver.ask("edgePoints", { zone, node, ...MINUTE, stepSeconds: 60 });
      return points.map(({ atSeconds, nodes, counts }) => [atSeconds - NOON / 1000, nodes, counts.requests]);
    };
    const windows = [-1, 0, 59_999, 60_000].map((ms) => edgeWindow({ atMs: NOON + ms, counts: { requests: 1 } }));
    await write(
      ...windows,
      edgeWindow({ node: "fra1", counts: { requests: 7 } }),
      edgeWindow({ zone: "other.example" }),
    );
    expect(await ask()).toEqual([[0, 2, 9]]);
    expect(await ask("fra1")).toEqual([[0, 1, 7]]);
  });

  contract("windows that are sent again count once #edge-history-counts-windows-once", async () => {
    const sent = (requests: number) => edgeWindow({ counts: { requests } });
    await write(sent(100));
    await write(sent(60), sent(40));
    const points = await place.driver.ask("edgePoints", { zone, node: null, ...MINUTE, stepSeconds: 60 });
    expect(points.map(({ seconds, counts }) => [seconds, counts.requests])).toEqual([[10, 40]]);
  });

  describe("sources", () => {
    type State = "denied" | "challenged" | "would-deny" | "would-challenge";
    const seen = (ms: number, node: string, source: string, state: State, requests: number) =>
      edgeWindow({ atMs: NOON + ms, node, sources: [{ source: address(source), state, requests }] });
    const ask = (changes = {}) =>
      place.driver.ask("edgeSources", { zone, node: null as string | null, state: null, ...MINUTE, ...changes });

    contract("come back with their strongest state, busiest first, by state and by node", async () => {
      const [first, second] = ["2001:db8::1", "198.51.100.1"] as const;
      await write(
        seen(0, "ams1", second, "would-challenge", 5),
        seen(10_000, "ams1", second, "challenged", 5),
        seen(10_000, "fra1", second, "would-deny", 5),
        seen(20_000, "ams1", first, "denied", 100),
        seen(60_001, "ams1", "198.51.100.9", "denied", 1),
      );
      const found = async (changes = {}) =>
        (await ask(changes)).map(({ source, state, requests }) => [source as string, state, requests]);
      const strongest = [second, "challenged", 15];
      expect(await found()).toEqual([[first, "denied", 100], strongest]);
      expect(await found({ state: "challenged" })).toEqual([strongest]);
      expect(await found({ state: "would-deny" })).toEqual([]);
      expect(await found({ node: "fra1" })).toEqual([[second, "would-deny", 5]]);
    });

    contract("come back up to 1001 rows, the busiest #limit-history-sources-rows", async () => {
      const sources = Array.from({ length: 1010 }, (_, i) => ({
        ...{ source: address(`198.18.${i >> 8}.${i & 255}`), state: "denied" as const },
        requests: i + 1,
      }));
      await write(edgeWindow({ sources }));
      const found = await ask();
      expect([found.length, found[0]?.requests, found.at(-1)?.requests]).toEqual([1001, 1010, 10]);
    });
  });

  describe("events", () => {
    const event = (changes: Partial<EdgeEvent> = {}): EdgeEvent => ({
      ...{ atMs: NOON, node: "ams1", zone: null, kind: "node_alive", detail: "" },
      ...changes,
    });
    const ask = (changes = {}) =>
      place.driver.ask("edgeEvents", { ...MINUTE, node: null, zone: null, kind: null, ...changes });

    contract("come back newest first, by node, zone and kind", async () => {
      const events = [
        event({ atMs: NOON - 1, detail: "too early" }),
        event(),
        event({ atMs: NOON + 1, zone, kind: "cert_renewed", detail: "until '2027'\n" }),
        event({ atMs: NOON + 1, node: "fra1", kind: "version", detail: "1.2 → 1.3" }),
        event({ atMs: NOON + 60_000, zone: "other.example.com", kind: "cert_gone" }),
      ];
      const [, first, renewed, version, gone] = events;
      await place.driver.write({ kind: "edge_events", records: events.map(identified) });
      expect<unknown>(await ask()).toEqual([gone, version, renewed, first]);
      expect<unknown>(await ask({ node: "fra1" })).toEqual([version]);
      expect<unknown>(await ask({ zone })).toEqual([renewed]);
      expect<unknown>(await ask({ kind: "cert_gone" })).toEqual([gone]);
      for (const none of [{ zone: "" }, { kind: "cert_gone", node: "fra1" }]) expect(await ask(none)).toEqual([]);
    });

    contract("come back up to 1001 rows, once each #limit-events-rows", async () => {
      const records = Array.from({ length: 1003 }, (_, i) => identified(event({ atMs: NOON + i })));
      for (let i = 0; i < 2; i++) await place.driver.write({ kind: "edge_events", records });
      const found = await ask();
      expect([found.length, found[0]?.atMs, found.at(-1)?.atMs]).toEqual([1001, NOON + 1002, NOON + 2]);
    });
  });
});
