/** Capture files: their content, their pace, and the errors for broken ones. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type CapturedFrame, evenly, LINKTYPE, pcapBytes } from "../../test/fixtures/captures/pcap-writer.ts";
import { pcapngBytes } from "../../test/fixtures/captures/pcapng-writer.ts";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import { networksOf } from "../../test/fixtures/networks.ts";
import { ethernet, FRAME_BYTES_MIN, type IpPacket, ip, udp } from "../../test/fixtures/packets/frames.ts";
import { allocateHostRows } from "../traffic/host-rows.ts";
import { loadAddon } from "./addon.ts";
import type { Engine, Replay, SourceStatus } from "./native.d.ts";

const V4 = ip({ src: "198.51.100.7", dst: "203.0.113.9" }, udp({ payload: new Uint8Array(30) }));
const V6 = ip({ src: "2001:db8::7", dst: "2001:db8:1::9" }, udp({ payload: new Uint8Array(30) }));
const FRAME = ethernet(V4, { padTo: FRAME_BYTES_MIN });
const START_MS = 1_700_000_000_000;

const directory = emptiedFolder("capture");
let engine: Engine;
beforeEach(() => {
  engine = openEngine();
});
afterEach(() => {
  engine.close();
});

function openEngine(): Engine {
  const windows = { windowMs: 1000, tickMs: 100, idleMs: 60_000 };
  const opened = loadAddon().openEngine({ maxHosts: 1024, countOutgoing: false, clock: "capture", ...windows });
  opened.setNetworks(networksOf(["203.0.113.0/24", "2001:db8:1::/48"]));
  return opened;
}

async function write(bytes: Uint8Array): Promise<string> {
  const path = join(directory, "test.pcap");
  await Bun.write(path, bytes);
  return path;
}

async function openReplay(frames: readonly CapturedFrame[], options = {}): Promise<Replay> {
  return engine.openReplay(await write(pcapBytes(frames, options)));
}

/** The times of all ticks. */
function ticksOf(replay: Replay): number[] {
  const times: number[] = [];
  for (let at = replay.advance(); at !== null; at = replay.advance()) times.push(at);
  return times;
}

function countsOf(replay: Replay): { status: SourceStatus; packets: number } {
  ticksOf(replay);
  const status = replay.status();
  return { status, packets: status.queues[0]?.countedPackets ?? Number.NaN };
}

function joined(header: readonly number[], packet: IpPacket): Uint8Array {
  return Uint8Array.from([...header, ...packet.bytes]);
}

const zeros = (count: number) => new Array<number>(count).fill(0);
const sll = (type: number) => [...zeros(14), type >> 8, type & 0xff];
const sll2 = (type: number) => [type >> 8, type & 0xff, ...zeros(18)];

describe("linktypes", () => {
  test.each([
    ["raw, IPv4", LINKTYPE.raw, [], V4],
    ["raw, IPv6", LINKTYPE.raw, [], V6],
    ["IPv4", LINKTYPE.ipv4, [], V4],
    ["IPv6", LINKTYPE.ipv6, [], V6],
    ["Linux cooked, IPv4", LINKTYPE.linuxSll, sll(0x0800), V4],
    ["Linux cooked, IPv6", LINKTYPE.linuxSll, sll(0x86dd), V6],
    ["Linux cooked, VLAN", LINKTYPE.linuxSll, [...sll(0x8100), 0, 7, 0x08, 0x00], V4],
    ["Linux cooked 2, IPv4", LINKTYPE.linuxSll2, sll2(0x0800), V4],
    ["Linux cooked 2, IPv6", LINKTYPE.linuxSll2, sll2(0x86dd), V6],
    ["BSD loopback, little endian", LINKTYPE.null, [2, 0, 0, 0], V4],
    ["BSD loopback, big endian", LINKTYPE.null, [0, 0, 0, 2], V4],
    ["BSD loopback, IPv6 of macOS", LINKTYPE.null, [30, 0, 0, 0], V6],
    ["OpenBSD loopback, IPv6", LINKTYPE.loop, [0, 0, 0, 24], V6],
  ])("%s: strips to IP and counts its length", async (_, linktype, header, packet) => {
    const frame = joined(header, packet);
    const { status, packets } = countsOf(await openReplay(evenly([frame, frame, frame]), { linktype }));
    expect(packets).toBe(3);
    expect(status.queues[0]?.receivedBytes).toBe(3 * packet.bytes.length);
  });

  test.each([
    ["Linux cooked, ARP", LINKTYPE.linuxSll, joined(sll(0x0806), V4)],
    ["Linux cooked, cut in its header", LINKTYPE.linuxSll, Uint8Array.from(zeros(15))],
    ["Linux cooked 2, cut in its header", LINKTYPE.linuxSll2, Uint8Array.from(zeros(19))],
    ["BSD loopback, another family", LINKTYPE.null, joined([7, 0, 0, 0], V4)],
    ["BSD loopback, cut in its header", LINKTYPE.null, Uint8Array.from([2, 0])],
  ])("%s: is not IP", async (_, linktype, frame) => {
    const { status, packets } = countsOf(await openReplay(evenly([frame]), { linktype }));
    expect(packets).toBe(0);
    expect(status.queues[0]?.parseErrors).toMatchObject({ not_ip: 1 });
    expect(status.queues[0]?.etherTypes).toEqual({ other: 1 });
  });

  test("what is not IP is counted by Ethernet type", async () => {
    const bytes = new Uint8Array(46);
    const frames = [0x0806, 0x0806, 0x88cc, 39, 0x8847].map((etherType) => ethernet({ etherType, bytes }));
    const { status } = countsOf(await openReplay(evenly(frames)));
    expect(status.queues[0]?.parseErrors).toMatchObject({ not_ip: 5 });
    expect(status.queues[0]?.etherTypes).toEqual({ "0x0806": 2, "0x88cc": 1, "0x8847": 1, other: 1 });
    expect(status.queues[0]?.notIp).toMatchObject({ arp: 2, lldp: 1, mpls: 1, other: 1, macsec: 0 });
  });

  test("refuses a linktype that carries no packets of a network, by name", async () => {
    const path = await write(pcapBytes([], { linktype: 195 }));
    expect(() => engine.openReplay(path)).toThrow(/test\.pcap has linktype IEEE802_15_4.*: only /);
  });
});

describe("pcapng", () => {
  test("a linktype that is not read is refused at the beginning, and later ends the file", async () => {
    const interfaces = [
      { linktype: 195, snapLength: 0 },
      { linktype: LINKTYPE.ethernet, snapLength: 0 },
    ];
    const [other, ours] = [
      { interface: 0, data: FRAME },
      { interface: 1, data: FRAME },
    ];
    const first = await write(pcapngBytes(interfaces, [other, ours]));
    expect(() => engine.openReplay(first)).toThrow(/test\.pcap has linktype IEEE802_15_4.*: only /);
    const { status, packets } = countsOf(engine.openReplay(await write(pcapngBytes(interfaces, [ours, other, ours]))));
    expect([packets, status.state]).toEqual([1, "failed"]);
    expect(status.error).toMatch(/test\.pcap has linktype IEEE802_15_4.*: only /);
  });

  test("without packets is over at once, and cut counts what came before", async () => {
    expect(engine.openReplay(await write(pcapngBytes([], []))).advance()).toBeNull();
    const interfaces = [{ linktype: LINKTYPE.ethernet, snapLength: 0 }];
    const whole = pcapngBytes(interfaces, new Array(3).fill({ interface: 0, data: FRAME }));
    const { status, packets } = countsOf(engine.openReplay(await write(whole.subarray(0, whole.length - 5))));
    expect([packets, status.state]).toEqual([2, "failed"]);
    expect(status.error).toContain("is damaged after 2 frames (it ends within a block)");
  });
});

describe("replay", () => {
  test("ticks on the capture's own time, aligned, and goes on for one window after it", async () => {
    const replay = await openReplay(evenly([FRAME, FRAME, FRAME], { startMs: START_MS + 30, stepMs: 100 }));
    const times = ticksOf(replay);
    expect(times.slice(0, 3)).toEqual([START_MS + 100, START_MS + 200, START_MS + 300]);
    expect(times.at(-1)).toBe(START_MS + 300 + 1000);
    expect(times).toHaveLength(13);
    expect(replay.advance()).toBeNull();
    expect(replay.status()).toMatchObject({ state: "ended", error: null });
  });

  test("keeps nanoseconds: two frames a tick apart by one nanosecond", async () => {
    const start = BigInt(START_MS) * 1_000_000n;
    const frames = [99_999_999n, 100_000_000n].map((offset) => ({ frame: FRAME, atNs: start + offset }));
    const replay = await openReplay(frames, { precision: "nano" });
    replay.advance();
    expect(replay.status().queues[0]?.receivedPackets).toBe(1);
    replay.advance();
    expect(replay.status().queues[0]?.receivedPackets).toBe(2);
  });

  test("counts frames whose time goes back to the present tick", async () => {
    const at = (ms: number) => ({ frame: FRAME, atNs: BigInt(START_MS + ms) * 1_000_000n });
    const replay = await openReplay([at(950), at(20), at(960), at(1050)]);
    expect(replay.advance()).toBe(START_MS + 1000);
    expect(replay.status().queues[0]?.receivedPackets).toBe(3);
    expect(replay.advance()).toBe(START_MS + 1100);
  });

  test("lives through an hour of silence tick by tick, and leaves out the rest of a longer one", async () => {
    const at = (ms: number) => ({ frame: FRAME, atNs: BigInt(START_MS + ms) * 1_000_000n });
    const times = ticksOf(await openReplay([at(0), at(3 * 3_600_000)]));
    expect(times.length).toBeGreaterThan(36_000);
    expect(times.length).toBeLessThan(36_100);
    expect(times.at(-1)).toBe(START_MS + 3 * 3_600_000 + 100 + 1000);
  });

  test("rates after a long silence are of their own window, not of the silence", async () => {
    const flood = evenly(new Array<Uint8Array>(50).fill(FRAME), { startMs: START_MS + 3 * 3_600_000, stepMs: 2 });
    const replay = await openReplay([{ frame: FRAME, atNs: BigInt(START_MS) * 1_000_000n }, ...flood]);
    const rows = allocateHostRows(4);
    for (let at = replay.advance(); at !== null && at < START_MS + 3 * 3_600_000 + 100; ) at = replay.advance();
    expect(engine.readHosts(0, rows)).toMatchObject({ count: 1 });
    expect(rows.incoming[0]).toBe(50);
  });

  test("counts the bytes of the wire, not those that the capture kept", async () => {
    const frames = [{ frame: FRAME.subarray(0, 54), atNs: 0n, wireBytes: 1500 }];
    const { status, packets } = countsOf(await openReplay(frames));
    expect([packets, status.queues[0]?.receivedBytes]).toEqual([1, 1500]);
  });

  test("gives rates per second over the window", async () => {
    const replay = await openReplay(evenly(new Array<Uint8Array>(500).fill(FRAME), { startMs: START_MS, stepMs: 2 }));
    const rows = allocateHostRows(4);
    for (let i = 0; i < 10; i++) replay.advance();
    expect(engine.readHosts(0, rows)).toMatchObject({ count: 1 });
    expect(rows.incoming[0]).toBe(500);
  });

  test("an empty capture is over at once", async () => {
    const replay = await openReplay([]);
    expect(replay.advance()).toBeNull();
    expect(replay.status()).toMatchObject({ state: "ended", error: null });
  });
});

describe("broken files", () => {
  test.each([
    ["a text file", new TextEncoder().encode("this is not a capture, whatever its name says\n")],
    ["an empty file", new Uint8Array(0)],
    ["a header that is cut", pcapBytes([]).subarray(0, 10)],
  ])("refuses %s", async (_, bytes) => {
    const path = await write(bytes);
    expect(() => engine.openReplay(path)).toThrow(`capture file ${path} is not a capture (`);
  });

  test("refuses a file that is missing, and what is no file", () => {
    const missing = join(directory, "missing.pcap");
    expect(() => engine.openReplay(missing)).toThrow(`cannot open capture file ${missing}: No such file or directory`);
    expect(() => engine.openReplay(directory)).toThrow(`capture file ${directory} is not a regular file`);
    expect(() => engine.openReplay("-")).toThrow("cannot open capture file -: No such file or directory");
  });
});
