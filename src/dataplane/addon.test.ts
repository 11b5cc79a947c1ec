/** The addon's handles: accepted and refused arguments, and closing. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { evenly, pcapBytes } from "../../test/fixtures/captures/pcap-writer.ts";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { networksOf } from "../../test/fixtures/networks.ts";
import { ethernet, ip, udp } from "../../test/fixtures/packets/frames.ts";
import {
  EXTERNAL_SENDERS_MAX,
  HOSTS_MAX,
  IDLE_MS_MAX,
  PARSE_ERRORS,
  SAMPLING_RATE_MAX,
  TICK_MS_MAX,
  TICK_MS_MIN,
  WINDOW_MS_MAX,
  WINDOW_MS_MIN,
} from "../native/constants.ts";
import { addressToBytes } from "../net/address.ts";
import { allocateCountRows } from "../traffic/count-rows.ts";
import { HeaderRecords } from "../traffic/header-record.ts";
import { allocateHostRows } from "../traffic/host-rows.ts";
import { allocateIntervalRows } from "../traffic/interval-rows.ts";
import { loadAddon } from "./addon.ts";
import type { Engine, EngineOptions, SourceOptions, SourceStatus } from "./native.d.ts";

const native = loadAddon();
const OPTIONS: EngineOptions = {
  maxHosts: 1024,
  windowMs: 1000,
  tickMs: 100,
  countOutgoing: false,
  clock: "monotonic",
  idleMs: 60_000,
};
const HOST = new Uint8Array(16);
const FRAME = ethernet(ip({ src: "198.51.100.7", dst: "203.0.113.9" }, udp()));

const directory = emptiedFolder("addon");
let path: string;
let engine: Engine;
beforeEach(async () => {
  path = join(directory, "test.pcap");
  await Bun.write(path, pcapBytes(evenly(new Array<Uint8Array>(10).fill(FRAME))));
  engine = native.openEngine(OPTIONS);
  engine.setNetworks(networksOf(["203.0.113.0/24"]));
});
afterEach(() => {
  engine.close();
});

/** Makes calls that TypeScript would refuse. */
function wrongly(call: (anything: never) => unknown, argument?: unknown): () => unknown {
  return () => call(argument as never);
}

async function untilEnded(source: { status(): SourceStatus }): Promise<SourceStatus> {
  const deadline = performance.now() + 5000;
  while (source.status().state === "running" && performance.now() < deadline) await Bun.sleep(5);
  return source.status();
}

test("reports every parse error by queue", async () => {
  const status = await untilEnded(engine.openSource({ kind: "pcap_file", path, pace: "max" }));
  expect(Object.keys(status.queues[0]?.parseErrors ?? {})).toEqual([...PARSE_ERRORS]);
});

describe("options", () => {
  test.each([
    ["maxHosts", 0],
    ["maxHosts", HOSTS_MAX + 1],
    ["windowMs", WINDOW_MS_MIN - 1],
    ["windowMs", WINDOW_MS_MAX + 1],
    ["tickMs", TICK_MS_MIN - 1],
    ["tickMs", TICK_MS_MAX + 1],
    ["idleMs", IDLE_MS_MAX + 1],
    ["tickMs", 300],
    ["idleMs", 999],
    ["maxHosts", 1.5],
    ["maxHosts", -1],
    ["maxHosts", Number.NaN],
  ])("refuses %s of %p with a RangeError that names it", (key, value) => {
    const open = () => native.openEngine({ ...OPTIONS, [key]: value });
    expect(open).toThrow(RangeError);
    expect(open).toThrow(key);
  });

  test.each<readonly [string, unknown]>([
    ["options must be an object", undefined],
    ["maxHosts must be a whole number", { ...OPTIONS, maxHosts: "many" }],
    ["countOutgoing must be a boolean", { ...OPTIONS, countOutgoing: 1 }],
    ["clock must be one of monotonic capture", { ...OPTIONS, clock: "wall" }],
  ])("refuses options with a TypeError: %s", (message, options) => {
    expect(wrongly((given) => native.openEngine(given), options)).toThrow(TypeError);
    expect(wrongly((given) => native.openEngine(given), options)).toThrow(message);
  });

  const afXdp: SourceOptions = {
    kind: "af_xdp",
    interface: "nosuch",
    queues: null,
    xdpMode: "auto",
    zeroCopy: "auto",
    cpus: [],
  };
  test.each([
    ["kind must be one of af_xdp xdp_inline pcap_live pcap_file", { kind: "dpdk" }],
    ["interface must be a string", { ...afXdp, interface: 7 }],
    ["interface must be a string without zero bytes", { ...afXdp, interface: "lo\0x" }],
    ["xdpMode must be one of auto native generic", { ...afXdp, xdpMode: "fast" }],
    ["zeroCopy must be one of auto on off", { ...afXdp, zeroCopy: true }],
    ["queues must be an array", { ...afXdp, queues: "all" }],
    ["cpus[0] must be a whole number", { ...afXdp, cpus: ["0"] }],
    ["pace must be one of real max", { kind: "pcap_file", path: "x", pace: "slow" }],
  ])("refuses a source with a TypeError: %s", (message, options) => {
    const open = wrongly((given) => engine.openSource(given), options);
    expect(open).toThrow(TypeError);
    expect(open).toThrow(message);
  });

  test.each([
    ["queues must be null or name a queue", { ...afXdp, queues: [] }],
    ["queues[0] must be a whole number", { ...afXdp, queues: [-1] }],
    ["cpus[1] must be a whole number", { ...afXdp, cpus: [0, 0.5] }],
    ["samplingRate must be from 1 to 1000000", { ...afXdp, samplingRate: 0 }],
    ["samplingRate must be from 1 to 1000000", { ...afXdp, samplingRate: SAMPLING_RATE_MAX + 1 }],
  ])("refuses a source with a RangeError: %s", (message, options) => {
    const open = wrongly((given) => engine.openSource(given), options);
    expect(open).toThrow(RangeError);
    expect(open).toThrow(message);
  });
});

describe("arrays", () => {
  test.each([
    ["addresses", new Uint8Array(15)],
    ["groups", new Uint32Array(0)],
    ["incoming", new Float64Array(5)],
    ["outgoing", new Float64Array(5)],
  ])("refuses rows of intervals whose %s are shorter than their capacity", (key, column) => {
    const rows = { ...allocateIntervalRows(1), [key]: column };
    for (const read of [() => engine.takeIntervals(0, rows), () => engine.readInterval(HOST, rows)]) {
      expect(read).toThrow(RangeError);
      expect(read).toThrow(key);
    }
  });

  test.each([
    ["addresses", new Uint8Array(15)],
    ["groups", new Uint32Array(0)],
    ["networks", new Uint32Array(0)],
    ["idleMs", new Float64Array(0)],
    ["incoming", new Float64Array(12)],
    ["outgoing", new Float64Array(12)],
  ])("refuses rows whose %s are shorter than their capacity", (key, column) => {
    const rows = { ...allocateHostRows(1), [key]: column };
    for (const read of [
      () => engine.readScreened(rows),
      () => engine.readRising(rows),
      () => engine.readHosts(0, rows),
      () => engine.readHost(HOST, rows),
      () => engine.readGroups(rows),
    ]) {
      expect(read).toThrow(RangeError);
      expect(read).toThrow(key);
    }
  });

  test.each([
    ["addresses", new Uint8Array(15)],
    ["agesMs", new Float64Array(0)],
    ["spansMs", new Float64Array(0)],
    ["isBefore", new Uint8Array(0)],
    ["incoming", new Float64Array(12)],
    ["outgoing", new Float64Array(12)],
  ])("refuses counts whose %s are shorter than their capacity", (key, column) => {
    const read = () => engine.readCounts(0, { ...allocateCountRows(1), [key]: column });
    expect(read).toThrow(RangeError);
    expect(read).toThrow(key);
  });

  test("refuses arrays of another type", () => {
    const rows = { ...allocateHostRows(1), incoming: new Float32Array(13) };
    expect(wrongly((given) => engine.readScreened(given), rows)).toThrow("incoming must be a Float64Array");
    expect(wrongly((given) => engine.setScreens(given), [1, 2])).toThrow("screens must be a Float64Array");
    expect(wrongly((given) => engine.setWatched(given), "10.0.0.1")).toThrow("addresses must be a Uint8Array");
    expect(wrongly((given) => engine.readCounts(given, allocateCountRows(0)), "0")).toThrow("first must be a number");
    expect(wrongly((given) => engine.readSamples(given, HOST), null)).toThrow("address must be a Uint8Array");
    expect(wrongly((given) => engine.readSamples(HOST, HOST, given), 129)).toThrow("length");
  });

  test("refuses an address that has not 16 bytes", () => {
    expect(() => engine.readHost(new Uint8Array(4), allocateHostRows(1))).toThrow("address must be of 16 bytes");
  });

  test("refuses a table of networks whose columns do not fit together, and keeps the one before", async () => {
    const table = networksOf(["192.0.2.0/24"]);
    expect(() => engine.setNetworks({ ...table, lengths: new Uint8Array(0) })).toThrow(TypeError);
    expect(() => engine.setNetworks({ ...table, networkCount: 0 })).toThrow(TypeError);
    await engine.tick();
    const status = await untilEnded(engine.openSource({ kind: "pcap_file", path, pace: "max" }));
    expect(status.queues[0]).toMatchObject({ countedPackets: 10, foreignPackets: 0 });
  });

  test("refuses more watched hosts than 1024", () => {
    engine.setWatched(new Uint8Array(16 * 1024));
    expect(() => engine.setWatched(new Uint8Array(16 * 1025))).toThrow();
  });

  test("writes no more than fits and says how many there are", async () => {
    await engine.tick();
    expect(engine.readGroups(allocateHostRows(0))).toBe(1);
  });
});

describe("ticks", () => {
  test("fold what sources counted", async () => {
    const source = engine.openSource({ kind: "pcap_file", path, pace: "max" });
    await untilEnded(source);
    const summary = await engine.tick();
    expect(summary).toMatchObject({ trackedHosts: 1 });
  });

  test("count each frame of a sampled mirror as what it stands for, and say how exact that is", async () => {
    await untilEnded(engine.openSource({ kind: "pcap_file", path, pace: "max", samplingRate: 1000 }));
    await engine.tick();
    const [rows, groups] = [allocateHostRows(1), allocateHostRows(1)];
    const host = addressToBytes(address("203.0.113.9"));
    expect(engine.readHost(host, rows)).toBe(true);
    engine.readGroups(groups);
    for (const { incoming, weights } of [rows, groups]) {
      expect(incoming[0]).toBeCloseTo(10_000);
      expect([...weights].map(Math.round)).toEqual([999, 999 * FRAME.length, 0, 0]);
    }
    const headers = new HeaderRecords(20);
    expect(engine.readSamples(host, headers.bytes)).toBe(10);
    expect([headers.standsFor(0), headers.reported(0), headers.isMade(0)]).toEqual([1000, {}, false]);
  });

  test("have no outgoing traffic of a host in whose name a router of another network sends", async () => {
    const spoofed = ethernet(ip({ src: "203.0.113.9", dst: "198.51.100.7" }, udp()));
    await Bun.write(path, pcapBytes(evenly(new Array<Uint8Array>(10).fill(spoofed))));
    const router = spoofed.slice(6, 12);
    const other = Uint8Array.of(2, 0, 0, 0, 0, 0x77);
    for (const [externalMacs, foreign] of [
      [Uint8Array.of(...other, ...router), 10],
      [other, 0],
    ] as const) {
      const both = native.openEngine({ ...OPTIONS, countOutgoing: true });
      both.setNetworks(networksOf(["203.0.113.0/24"]));
      const status = await untilEnded(both.openSource({ kind: "pcap_file", path, pace: "max", externalMacs }));
      expect(status.queues[0]).toMatchObject({ countedPackets: 10 - foreign, foreignPackets: foreign });
      both.close();
    }
    const tooMany = new Uint8Array(6 * (EXTERNAL_SENDERS_MAX + 1));
    for (const externalMacs of [tooMany, new Uint8Array(5)])
      expect(() => engine.openSource({ kind: "pcap_file", path, pace: "max", externalMacs })).toThrow(
        "externalMacs must be",
      );
  });

  test("come one at a time", async () => {
    const first = engine.tick();
    expect(() => engine.tick()).toThrow("the tick before has not ended");
    // Nor are hosts looked at while the fold changes them.
    expect(() => engine.readRising(allocateHostRows(1))).toThrow("the tick before has not ended");
    await first;
    expect(engine.readRising(allocateHostRows(1))).toBe(0);
    await engine.tick();
  });

  test("end well when the engine is closed meanwhile", async () => {
    const tick = engine.tick();
    engine.close();
    expect(await tick).toMatchObject({ trackedHosts: 0 });
  });

  test("are the replay's with the capture clock, and the engine's without", () => {
    const replaying = native.openEngine({ ...OPTIONS, clock: "capture" });
    expect(() => replaying.tick()).toThrow("replay.advance() ticks");
    expect(() => replaying.openSource({ kind: "pcap_file", path, pace: "max" })).toThrow("takes only a replay");
    expect(() => engine.openReplay(path)).toThrow("a replay needs an engine with the capture clock");
    replaying.close();
  });
});

describe("closed handles", () => {
  test("an engine closes twice, and names itself when used after", () => {
    engine.close();
    engine.close();
    const rows = allocateHostRows(1);
    for (const use of [
      () => engine.setNetworks(networksOf([])),
      () => engine.setScreens(new Float64Array(26)),
      () => engine.setWatched(new Uint8Array(0)),
      () => engine.openSource({ kind: "pcap_file", path, pace: "max" }),
      () => engine.openReplay(path),
      () => engine.tick(),
      () => engine.readScreened(rows),
      () => engine.readHosts(0, rows),
      () => engine.readHost(HOST, rows),
      () => engine.readCounts(0, allocateCountRows(1)),
      () => engine.readGroups(rows),
      () => engine.readSamples(HOST, HOST),
      () => engine.stats(),
    ]) {
      expect(use).toThrow(new TypeError("engine is closed"));
    }
  });

  test("a source closes twice, and names itself when used after", () => {
    const source = engine.openSource({ kind: "pcap_file", path, pace: "real" });
    source.close();
    source.close();
    expect(() => source.status()).toThrow(new TypeError("source is closed"));
  });

  test("an engine closes its sources and replays", () => {
    const source = engine.openSource({ kind: "pcap_file", path, pace: "real" });
    engine.close();
    expect(() => source.status()).toThrow(new TypeError("source is closed"));
    source.close();
    const replaying = native.openEngine({ ...OPTIONS, clock: "capture" });
    const replay = replaying.openReplay(path);
    replaying.close();
    expect(() => replay.advance()).toThrow(new TypeError("replay is closed"));
    expect(() => replay.status()).toThrow(new TypeError("replay is closed"));
    replay.close();
  });

  test("handles are made by the addon alone", () => {
    const source = engine.openSource({ kind: "pcap_file", path, pace: "max" });
    const Source = source.constructor as new (...anything: unknown[]) => unknown;
    expect(() => new Source()).toThrow(TypeError);
    expect(() => new Source({})).toThrow(TypeError);
  });

  test("a method on a foreign object, also one of the addon's, is an error and no crash", () => {
    const source = engine.openSource({ kind: "pcap_file", path, pace: "max" });
    const call = (from: object, method: string, on: object) => () =>
      Reflect.apply(Reflect.get(from, method) as () => unknown, on, []);
    expect(call(engine, "stats", source)).toThrow(new TypeError("this is not the addon's engine"));
    expect(call(engine, "close", source)).toThrow(new TypeError("this is not the addon's engine"));
    expect(call(source, "status", engine)).toThrow(new TypeError("this is not the addon's source"));
    expect(call(engine, "stats", {})).toThrow();
  });
});

test("a capture file at its own pace keeps to its times", async () => {
  const frames = evenly([FRAME, FRAME, FRAME], { stepMs: 150 });
  await Bun.write(path, pcapBytes(frames));
  const before = performance.now();
  const status = await untilEnded(engine.openSource({ kind: "pcap_file", path, pace: "real" }));
  expect(performance.now() - before).toBeGreaterThanOrEqual(299);
  expect(status).toMatchObject({ state: "ended", mode: "capture file at its own pace" });
  expect(status.queues[0]?.countedPackets).toBe(3);
});
