/** What every history driver does with the windows, sources and events of edge nodes. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { EdgeEvent } from "../../src/edge/reports/edge-history.ts";
import { NOON } from "../fixtures/browser/views.ts";
import { address } from "../fixtures/host-rows.ts";
import { edgeWindow, identified } from "../fixtures/storage/history.ts";
import { type HistoryPlace, historyDrivers } from "../fixtures/storage/history-drivers.ts";

const SECONDS = NOON / 1000;

describe.each(historyDrivers())("$title", ({ skipped, place: newPlace }) => {
  let place: HistoryPlace;
  beforeEach(async () => {
    place = await newPlace();
    await place.driver.open();
  });
  afterEach(() => place.remove());
  const contract = test.skipIf(skipped !== null);
  const zone = "www.example.com";
  const write = (...records: ReturnType<typeof edgeWindow>[]) => place.driver.write({ kind: "edge_windows", records });

  describe("edge windows", () => {
    const ask = (changes = {}) =>
      place.driver.ask("edgePoints", {
        zone,
        node: null as string | null,
        fromMs: NOON,
        toMs: NOON + 120_000,
        stepSeconds: 60,
        ...changes,
      });

    contract("add up by bucket, with distinct nodes and the longest time of any one", async () => {
      await write(
        edgeWindow({ atMs: NOON + 10_000, counts: { requests: 100, denied: 5, h3_requests: 50, status_2xx: 90 } }),
        edgeWindow({ atMs: NOON + 20_000, seconds: 10.5, counts: { requests: 100 } }),
        edgeWindow({ atMs: NOON + 12_345, node: "fra1", counts: { requests: 7, would_deny: 2, status_5xx: 1 } }),
        edgeWindow({ atMs: NOON + 60_000, node: "fra1", counts: { requests: 1, cleared: 1 } }),
        edgeWindow({ atMs: NOON + 20_000, zone: "other.example.com", counts: { requests: 1000 } }),
      );
      const [first, second, ...rest] = await ask();
      expect(rest).toEqual([]);
      expect(first).toMatchObject({ atSeconds: SECONDS, nodes: 2, seconds: 20.5 });
      expect(first?.counts).toEqual({
        ...edgeWindow().counts,
        requests: 207,
        denied: 5,
        h3_requests: 50,
        status_2xx: 90,
        would_deny: 2,
        status_5xx: 1,
      });
      expect(second).toMatchObject({
        atSeconds: SECONDS + 60,
        nodes: 1,
        seconds: 10,
        counts: { requests: 1, cleared: 1 },
      });
      expect((await ask({ node: "fra1" })).map(({ counts }) => counts.requests)).toEqual([7, 1]);
    });

    contract("count once when they are sent again, as they were sent last", async () => {
      await write(edgeWindow({ atMs: NOON + 10_000, counts: { requests: 100 } }));
      await write(
        edgeWindow({ atMs: NOON + 10_000, counts: { requests: 60 } }),
        edgeWindow({ atMs: NOON + 10_000, counts: { requests: 40 } }),
      );
      expect((await ask()).map(({ seconds, counts }) => [seconds, counts.requests])).toEqual([[10, 40]]);
    });

    contract("are of the range only, whose end is not in it", async () => {
      for (const at of [-1, 0, 59_999, 60_000]) await write(edgeWindow({ atMs: NOON + at, counts: { requests: 1 } }));
      expect((await ask({ toMs: NOON + 60_000 })).map(({ counts }) => counts.requests)).toEqual([2]);
    });
  });

  describe("edge sources", () => {
    const seen = (
      atMs: number,
      node: string,
      source: string,
      state: "denied" | "challenged" | "would-deny" | "would-challenge",
      requests: number,
    ) => edgeWindow({ atMs, node, sources: [{ source: address(source), state, requests }] });
    const ask = (changes = {}) =>
      place.driver.ask("edgeSources", {
        zone,
        node: null as string | null,
        state: null,
        fromMs: NOON,
        toMs: NOON + 60_000,
        ...changes,
      });

    contract("are told with their strongest state, busiest first", async () => {
      await write(
        seen(NOON, "ams1", "198.51.100.1", "would-challenge", 5),
        seen(NOON + 10_000, "ams1", "198.51.100.1", "challenged", 5),
        seen(NOON + 10_000, "fra1", "198.51.100.1", "would-deny", 5),
        seen(NOON + 20_000, "ams1", "2001:db8::1", "denied", 100),
        seen(NOON + 60_001, "ams1", "198.51.100.9", "denied", 1),
      );
      const first = { source: address("2001:db8::1"), state: "denied", requests: 100, windows: 1, nodes: 1 } as const;
      const second = {
        source: address("198.51.100.1"),
        state: "challenged",
        requests: 15,
        windows: 3,
        nodes: 2,
      } as const;
      expect(await ask()).toEqual([
        { ...first, firstMs: NOON + 20_000, lastMs: NOON + 20_000 },
        { ...second, firstMs: NOON, lastMs: NOON + 10_000 },
      ]);
      expect((await ask({ state: "challenged" })).map(({ source, requests }) => [source, requests])).toEqual([
        [second.source, 15],
      ]);
      expect(await ask({ state: "would-deny" })).toEqual([]);
      expect((await ask({ node: "fra1" })).map(({ state }) => state)).toEqual(["would-deny"]);
    });

    contract("of a window that is sent again count once", async () => {
      await write(seen(NOON, "ams1", "198.51.100.1", "denied", 5));
      await write(seen(NOON, "ams1", "198.51.100.1", "denied", 5));
      expect((await ask()).map(({ requests, windows }) => [requests, windows])).toEqual([[5, 1]]);
    });

    contract("are told up to 1001 rows, the busiest", async () => {
      const sources = Array.from({ length: 1010 }, (_, i) => ({
        source: address(`198.18.${i >> 8}.${i & 255}`),
        state: "denied" as const,
        requests: i + 1,
      }));
      await write(edgeWindow({ sources }));
      const told = await ask();
      expect([told.length, told[0]?.requests, told.at(-1)?.requests]).toEqual([1001, 1010, 10]);
    });
  });

  describe("edge events", () => {
    const event = (changes: Partial<EdgeEvent> = {}): EdgeEvent => ({
      atMs: NOON,
      node: "ams1",
      zone: null,
      kind: "node_alive",
      detail: "",
      ...changes,
    });
    const ask = (changes = {}) =>
      place.driver.ask("edgeEvents", {
        fromMs: NOON,
        toMs: NOON + 60_000,
        node: null,
        zone: null,
        kind: null,
        ...changes,
      });

    contract("come back newest first, by node, zone and kind", async () => {
      const events = [
        event({ atMs: NOON - 1, detail: "too early" }),
        event(),
        event({ atMs: NOON + 1, zone, kind: "cert_renewed", detail: "until '2027'\n" }),
        event({ atMs: NOON + 1, node: "fra1", kind: "version", detail: "1.2 → 1.3" }),
        event({ atMs: NOON + 60_000, zone: "other.example.com", kind: "cert_gone" }),
      ];
      await place.driver.write({ kind: "edge_events", records: events.map(identified) });
      const inRange = events.slice(1).toReversed();
      expect(await ask()).toEqual(inRange);
      expect(await ask({ node: "fra1" })).toEqual(inRange.filter(({ node }) => node === "fra1"));
      expect(await ask({ zone })).toEqual(inRange.filter((e) => e.zone === zone));
      expect(await ask({ zone: "" })).toEqual([]);
      expect(await ask({ kind: "cert_gone" })).toEqual(inRange.filter((e) => e.kind === "cert_gone"));
      expect(await ask({ kind: "cert_gone", node: "fra1" })).toEqual([]);
    });

    contract("are told up to 1001 rows, once each", async () => {
      const records = Array.from({ length: 1003 }, (_, i) => identified(event({ atMs: NOON + i })));
      await place.driver.write({ kind: "edge_events", records });
      await place.driver.write({ kind: "edge_events", records });
      const told = await ask();
      expect([told.length, told[0]?.atMs, told.at(-1)?.atMs]).toEqual([1001, NOON + 1002, NOON + 2]);
    });
  });
});
