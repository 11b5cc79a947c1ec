/** Volume, series and timeline of an attack (docs/interface.md#volume, #attack-course), over a real listener. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SERIES_POINTS_PER_ATTACK } from "../../src/detection/attack/attack-meters.ts";
import { AttackSeries } from "../../src/detection/attack/attack-series.ts";
import { explain } from "../../src/detection/attack/reason.ts";
import { TIMELINE_KINDS, type TimelineEntry } from "../../src/detection/attack/timeline.ts";
import { pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { address, thresholds } from "../fixtures/host-rows.ts";
import { ACME_HOST, admitCallers, as, type Caller, OTHER_HOST } from "../fixtures/http/callers.ts";
import { expectError, TestServer } from "../fixtures/http/http.ts";
import { ethernet, ip, udp } from "../fixtures/packets/frames.ts";
import { attack, NOON } from "../fixtures/views.ts";

let server: TestServer;
beforeAll(() => {
  server = TestServer.started();
  admitCallers(server);
});
afterAll(() => server.http.stop());

async function read<T>(path: string): Promise<T> {
  const answer = await fetch(`${server.base}/api/v1/attacks/${path}`, { headers: as("viewer") });
  expect(answer.status).toBe(200);
  return (await answer.json()) as T;
}

function show(changes: Parameters<typeof attack>[0], series: AttackSeries | null = null): void {
  server.backend.attacksView = { active: [{ attack: attack(changes), ban: null }], recent: [] };
  server.backend.seriesOfAttacks.clear();
  if (series !== null) server.backend.seriesOfAttacks.set("a1", series);
}

function seriesOf(packets: readonly number[]): AttackSeries {
  const series = new AttackSeries();
  packets.forEach((count, i) => {
    const endMs = NOON - 1000 + 100 * (i + 1);
    series.add(
      { endMs, spanMs: 100, packets: count, bits: 1e4 * count, ofMetric: 2 * count },
      SERIES_POINTS_PER_ATTACK,
    );
  });
  return series;
}

test("drops by cause are in the volume, without causes that have none #volume-dropped-by", async () => {
  const none = { packets: 0, bits: 0 };
  const by = { rules: { packets: 250.4, bits: 2e6 }, filter_rules: none, source_blocks: { packets: 149.6, bits: 1e6 } };
  const volume = {
    ...{ beganAt: NOON - 200, durationMs: 400, packets: 1000, bits: 8e6, peakPps: 5000, peakBps: 4e7, peakOverMs: 100 },
    dropped: { packets: 400, bits: 3e6, by: { ...by, limits: none, unproved: none, answered: none } },
  };
  show({ volume });
  const answer = await read<{ volume: { dropped_by?: object; dropped_packets: number } }>("a1");
  expect(answer.volume).toMatchObject({ dropped_packets: 400, dropped_by: { rules: 250, source_blocks: 150 } });
  expect(Object.keys(answer.volume.dropped_by ?? {})).toEqual(["rules", "source_blocks"]);
});

test("volume is in the row, with the means over its duration and what passed of what was dropped", async () => {
  const volume = {
    ...{ beganAt: NOON - 200, durationMs: 400, packets: 1000, bits: 8e6, peakPps: 5000, peakBps: 4e7, peakOverMs: 100 },
    dropped: { packets: 400, bits: 3e6, challenged: 300, validated: 4 },
  };
  show({ volume });
  expect((await read<{ volume: object }>("a1")).volume).toEqual({
    ...{ began_at: "2026-03-01T11:59:59.800Z", duration_seconds: 0.4, packets: 1000, bits: 8_000_000 },
    ...{ peak_pps: 5000, peak_mbps: 40, peak_over_ms: 100, mean_pps: 2500, mean_mbps: 20 },
    ...{ dropped_packets: 400, dropped_bits: 3_000_000, passed_packets: 600, passed_bits: 5_000_000 },
    ...{ challenged_packets: 300, validated_sources: 4 },
  });
});

interface Series {
  readonly available: boolean;
  readonly points: readonly Record<string, number>[];
}

describe("series", () => {
  test("points are ticks, with the rates in them, beside the threshold and the normal rate #series-points", async () => {
    const baseline = { normal: 300.00049, factor: 3, floor: 10, ceiling: 2000 };
    const origin = { baseline, thresholdSource: "baseline", normalOf: "recent" } as const;
    show({ reason: { ...explain(thresholds({ pps: 5000 })), ...origin } }, seriesOf([10, 200]));
    expect(await read<Series>("a1/series")).toEqual({
      ...{ available: true, id: "a1", metric: "pps", threshold: 1000, baseline: 300 },
      started_at: "2026-03-01T12:00:00.000Z",
      points: [
        {
          ...{ at: "2026-03-01T11:59:59.000Z", seconds: 0.1, rate: 200, rate_max: 200 },
          ...{ pps: 100, pps_max: 100, mbps: 1, mbps_max: 1 },
        },
        {
          ...{ at: "2026-03-01T11:59:59.100Z", seconds: 0.1, rate: 4000, rate_max: 4000 },
          ...{ pps: 2000, pps_max: 2000, mbps: 20, mbps_max: 20 },
        },
      ],
    } as never);
  });

  test("the highest rates of sampled traffic have an error, a merged point that of the highest of its ticks #series-max-sampling-error", async () => {
    const series = new AttackSeries();
    const tick = { endMs: NOON, spanMs: 100, packets: 100, bits: 8e5, ofMetric: 100 };
    for (const deviation of [0, 0.1, 0.05]) series.add(tick, 8, { ...tick, packets: 500 * deviation, deviation });
    show({}, series);
    const errors = (await read<Series>("a1/series")).points.map(({ max_sampling_error: error }) => error);
    expect(errors).toEqual([undefined, 0.196, 0.098]);
    series.add({ ...tick, spanMs: 200, ofMetric: 900 }, 3, { ...tick, deviation: 0.2, ofMetric: 900 });
    const { points } = await read<Series>("a1/series");
    // Of the second and the third, whose rates are equal, the second's; two looks.
    expect(points.map(({ max_sampling_error: error }) => error)).toEqual([undefined, 0.224, 0.448]);
  });

  test("dropped and passed are of the points of which that is known #series-dropped", async () => {
    const series = seriesOf([100]);
    series.drop({ packets: 40, bits: 4e5 });
    series.add({ endMs: NOON, spanMs: 100, packets: 1, bits: 1, ofMetric: 1 }, 8);
    show({}, series);
    const [known, unknown] = (await read<Series>("a1/series")).points;
    expect(known).toMatchObject({ dropped_pps: 400, dropped_mbps: 4, passed_pps: 600, passed_mbps: 6 });
    expect(Object.keys(unknown ?? {}).filter((name) => /dropped|passed/.test(name))).toEqual([]);
  });

  test("available is false, without points, where the service has none of the attack #series-available", async () => {
    show({});
    expect(await read<Series>("a1/series")).toMatchObject({ available: false, id: "a1", points: [] });
  });
});

interface Timeline {
  readonly entries: readonly object[];
}

describe("timeline", () => {
  test("entries say when, what and why, or which neighbor #timeline-entries", async () => {
    const timeline = TIMELINE_KINDS.map((kind, i): TimelineEntry => {
      if (kind === "announced") return { atMs: NOON + i, kind, text: "a route", neighbor: "192.0.2.251" };
      return { atMs: NOON + i, kind, text: kind === "ended" ? "" : `why ${i}` };
    });
    show({ timeline });
    const { entries } = await read<Timeline>("a1/timeline");
    expect(entries.map((entry) => (entry as { kind: string }).kind)).toEqual([...TIMELINE_KINDS]);
    expect(entries[0]).toEqual({ at: "2026-03-01T12:00:00.000Z", kind: "detected", text: "why 0" });
    expect(entries).toContainEqual({
      ...{ at: "2026-03-01T12:00:00.005Z", kind: "announced", text: "a route", neighbor: "192.0.2.251" },
    });
    expect(entries.at(-1)).toEqual({ at: "2026-03-01T12:00:00.012Z", kind: "ended" });
  });

  test("is kept with the attack: one of the history has its own #timeline-is-kept", async () => {
    const timeline = [{ atMs: NOON, kind: "detected", text: "" }] as const;
    show({});
    server.backend.storedAttacks.set("old", { attack: attack({ id: "old", timeline }), ban: null });
    expect(await read<Timeline>("old/timeline")).toEqual({
      id: "old",
      entries: [{ at: "2026-03-01T12:00:00.000Z", kind: "detected" }],
    } as never);
  });
});

describe("attack sources", () => {
  test("are those of the newest packets, with the counts that show whether they may be forged #attack-sources-are", async () => {
    show({});
    const sources = ["8.8.8.1", "8.8.8.2", "8.8.8.2", "10.0.0.1"];
    const packets = sources.map((src) => ({
      atMs: NOON,
      outcome: null,
      wireBytes: 100,
      frame: ethernet(ip({ src, dst: OTHER_HOST }, udp())),
    }));
    server.backend.packetsOfAttacks.clear("a1");
    server.backend.packetsOfAttacks.add("a1", packets);
    expect(await read<object>("a1/sources")).toEqual({
      ...{ available: true, id: "a1", total_packets: 4, distinct_sources: 3, single_sources: 2 },
      ...{ ipv4_packets: 4, ipv4_blocks: 2, special_packets: 1 },
      top_sources: [
        { key: "8.8.8.2", packets: 2, bytes: 200 },
        { key: "8.8.8.1", packets: 1, bytes: 100 },
        { key: "10.0.0.1", packets: 1, bytes: 100 },
      ],
      top_prefixes: [
        { key: "8.8.8.0/24", packets: 3, bytes: 300 },
        { key: "10.0.0.0/24", packets: 1, bytes: 100 },
      ],
      kept_packets: { total: 4, passed: 0, dropped: 0, answered: 0 },
    });
  });

  test("name those that would not be blocked for the victim, and why #attack-sources-not-blockable", async () => {
    show({});
    const packets = ["8.8.8.1", "10.0.0.1"].map((src) => ({
      atMs: NOON,
      outcome: null,
      wireBytes: 100,
      frame: ethernet(ip({ src, dst: OTHER_HOST }, udp())),
    }));
    server.backend.packetsOfAttacks.clear("a1");
    server.backend.packetsOfAttacks.add("a1", packets);
    server.backend.blockRefusal = ({ source }) => (source === "10.0.0.1" ? "source_in_networks" : null);
    expect(await read<object>("a1/sources")).toMatchObject({
      not_blockable: [{ source: "10.0.0.1", reason: "source is inside the protected networks" }],
    });
    server.backend.blockRefusal = () => null;
  });

  test("kept packets are those of the capture file, by outcome #attack-sources-kept-packets", async () => {
    show({});
    const [frame, outcomes] = [ethernet(ip({ src: "8.8.8.1", dst: OTHER_HOST }, udp())), ["dropped", "passed", null]];
    server.backend.packetsOfAttacks.clear("a1");
    const packets = outcomes.map((outcome) => ({ atMs: NOON, wireBytes: 60, frame, outcome: outcome as null }));
    server.backend.packetsOfAttacks.add("a1", packets);
    const kept = { total: 3, passed: 1, dropped: 1, answered: 0 };
    expect(await read<object>("a1/sources")).toMatchObject({ kept_packets: kept });
  });

  test("available is false where no packets are kept #attack-sources-available", async () => {
    show({});
    server.backend.packetsOfAttacks.clear("a1");
    expect(await read<object>("a1/sources")).toMatchObject({ available: false, total_packets: 0, top_sources: [] });
  });
});

describe("pcap", () => {
  const frame = ethernet(ip({ src: "198.51.100.9", dst: ACME_HOST }, udp()));
  const ask = (caller: Caller, query = "") =>
    fetch(`${server.base}/api/v1/attacks/a1/pcap${query}`, { headers: as(caller) });
  const keep = (count: number) => {
    show({ target: address(ACME_HOST) });
    const packets = Array.from({ length: count }, (_, i) => ({
      atMs: NOON + i,
      wireBytes: 1400,
      frame,
      outcome: null,
    }));
    server.backend.packetsOfAttacks.clear("a1");
    server.backend.packetsOfAttacks.add("a1", packets);
  };

  test("file has the headers oldest first, with their times and lengths on the wire, for whom the attack is #pcap-file", async () => {
    keep(2);
    for (const caller of ["viewer", "operator", "tenantViewer"] as const) {
      const answer = await ask(caller);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("application/vnd.tcpdump.pcap");
      expect(answer.headers.get("content-disposition")).toBe('attachment; filename="attack-a1.pcap"');
      const atNs = BigInt(NOON) * 1_000_000n;
      const expected = [atNs, atNs + 1_000_000n].map((at) => ({ frame, atNs: at, wireBytes: 1400 }));
      const bytes = new Uint8Array(await answer.arrayBuffer());
      expect(bytes).toEqual(pcapBytes(expected, { snapLength: 128 }) as Uint8Array<ArrayBuffer>);
    }
  });

  test("outcome: a file of one has its packets alone, under its own name #pcap-outcome", async () => {
    show({ target: address(ACME_HOST) });
    const outcomes = ["dropped", "passed", "dropped", null] as const;
    const packets = outcomes.map((outcome, i) => ({ atMs: NOON + i, wireBytes: 60 + i, frame, outcome }));
    server.backend.packetsOfAttacks.clear("a1");
    server.backend.packetsOfAttacks.add("a1", packets);
    const [first, , third] = packets;
    const answer = await ask("viewer", "?outcome=dropped");
    expect(answer.headers.get("content-disposition")).toBe('attachment; filename="attack-a1-dropped.pcap"');
    const expected = [first, third].map((packet) => ({
      ...{ frame, wireBytes: packet?.wireBytes ?? 0 },
      atNs: BigInt(packet?.atMs ?? 0) * 1_000_000n,
    }));
    const bytes = new Uint8Array(await answer.arrayBuffer());
    expect(bytes).toEqual(pcapBytes(expected, { snapLength: 128 }) as Uint8Array<ArrayBuffer>);
    const absent =
      "no packets of this attack with this outcome are kept: its interface does not filter, none was sampled, or it is too old";
    await expectError(ask("viewer", "?outcome=answered"), 404, absent);
    for (const outcome of ["", "Dropped", "lost"])
      await expectError(ask("viewer", `?outcome=${outcome}`), 400, `unknown outcome: ${outcome}`);
  });

  test("absent is 404 and says why #pcap-absent", async () => {
    keep(0);
    await expectError(
      ask("viewer"),
      404,
      "no packets of this attack are kept: samples are off, none was sampled, or it is too old",
    );
    show({ target: address(OTHER_HOST) });
    await expectError(ask("tenantViewer"), 404, "unknown attack");
  });
});

test.each(["series", "timeline", "sources", "pcap"])(
  "GET /api/v1/attacks/{id}/%s is for whom the attack is; any other is unknown, to the byte #get-api-v1-attacks-id-pcap #get-api-v1-attacks-id-timeline #get-api-v1-attacks-id-sources #get-api-v1-attacks-id-series",
  async (what) => {
    const ask = async (id: string, caller: Caller) => {
      const answer = await fetch(`${server.base}/api/v1/attacks/${id}/${what}`, { headers: as(caller) });
      return { status: answer.status, text: await answer.text() };
    };
    show({ target: address(OTHER_HOST) });
    server.backend.packetsOfAttacks.clear("a1");
    server.backend.packetsOfAttacks.add("a1", [
      {
        atMs: NOON,
        wireBytes: 100,
        frame: ethernet(ip({ src: "198.51.100.9", dst: OTHER_HOST }, udp())),
        outcome: null,
      },
    ]);
    expect((await ask("a1", "viewer")).status).toBe(200);
    const unknown = { status: 404, text: '{"error":"unknown attack"}' };
    expect(await ask("a1", "tenantViewer")).toEqual(unknown);
    expect(await ask("none", "viewer")).toEqual(unknown);
  },
);

test("timeline entries name no neighbor to a tenant, and the announcement once #timeline-entries", async () => {
  const text = "192.0.2.1/32 discard";
  const entries: TimelineEntry[] = ["192.0.2.251", "192.0.2.252"].map((neighbor) => ({
    ...{ atMs: NOON, kind: "announced", text, neighbor },
  }));
  const timeline: TimelineEntry[] = [{ atMs: NOON, kind: "detected", text: "pps above 1000" }, ...entries];
  show({ target: address(ACME_HOST), timeline });
  const kindsFor = async (caller: Caller) => {
    const answer = await fetch(`${server.base}/api/v1/attacks/a1/timeline`, { headers: as(caller) });
    const { entries: shown } = (await answer.json()) as { entries: { kind: string; neighbor?: string }[] };
    return shown.map(({ kind, neighbor = "" }) => `${kind} ${neighbor}`.trim());
  };
  expect(await kindsFor("viewer")).toEqual(["detected", "announced 192.0.2.251", "announced 192.0.2.252"]);
  expect(await kindsFor("tenantViewer")).toEqual(["detected", "announced"]);
});
