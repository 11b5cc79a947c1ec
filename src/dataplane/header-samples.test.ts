/** The sampled headers as TypeScript reads them: every packet that is counted for a host is sampled here. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { evenly, LINKTYPE, pcapBytes } from "../../test/fixtures/captures/pcap-writer.ts";
import { folder } from "../../test/fixtures/folders.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { networksOf } from "../../test/fixtures/networks.ts";
import { MIXED_FRAMES, mixedHosts, NETWORKS } from "../../test/fixtures/packets/mixed-traffic.ts";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import { addressToBytes } from "../net/address.ts";
import { HeaderRecords } from "../traffic/header-record.ts";
import { decodeHeader, type PacketHeader } from "../traffic/packet-header.ts";
import { loadAddon } from "./addon.ts";

const SEED = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const HOSTS = Object.keys(mixedHosts());

const directory = folder("headers");

interface Header {
  readonly frame: Uint8Array;
  readonly wireBytes: number;
  readonly standsFor: number;
  /** As the record says, without the frame. */
  readonly reported: PacketHeader;
}

function plain(header: PacketHeader): PacketHeader {
  const { source, destination, protocol, ports, tcpFlags, fragment, packetBytes } = header;
  return { source, destination, protocol, ports, tcpFlags, fragment, packetBytes };
}

/** The samples of each host: with so few packets, all of them. */
function sampled(frames: readonly Uint8Array[], linktype = LINKTYPE.ethernet): ReadonlyMap<string, Header[]> {
  const path = join(directory, "frames.pcap");
  writeFileSync(path, pcapBytes(evenly(frames, { stepMs: 0.01 }), { linktype }));
  const windows = { windowMs: 1000, tickMs: 100, idleMs: 60_000 };
  const engine = loadAddon().openEngine({ maxHosts: 64, countOutgoing: false, clock: "capture", ...windows });
  try {
    engine.setNetworks(networksOf(NETWORKS));
    const replay = engine.openReplay(path);
    while (replay.advance() !== null);
    const records = HOSTS.map((host) => {
      const read = new HeaderRecords(frames.length);
      const count = engine.readSamples(addressToBytes(address(host)), read.bytes);
      const headerAt = (i: number) => ({
        frame: read.frame(i),
        wireBytes: read.wireBytes(i),
        standsFor: read.standsFor(i),
        reported: plain(read.header(i)),
      });
      return [host, Array.from({ length: count }, (_, i) => headerAt(i))] as const;
    });
    return new Map(records);
  } finally {
    engine.close();
  }
}

describe("sampled headers", () => {
  test("are of the requested host, with the lengths and classes that were counted", () => {
    const records = sampled(MIXED_FRAMES);
    for (const [host, totals] of Object.entries(mixedHosts())) {
      const packets = (records.get(host) ?? []).map(({ frame, wireBytes }) => ({
        wireBytes,
        header: decodeHeader(frame),
      }));
      const of = (...protocols: number[]) => packets.filter(({ header }) => protocols.includes(header?.protocol ?? -1));
      expect(packets.every(({ header }) => header?.destination === address(host))).toBe(true);
      expect(packets).toHaveLength(totals.pps ?? 0);
      // All of them were kept.
      for (const { standsFor } of records.get(host) ?? []) expect(standsFor).toBe(1);
      expect(packets.reduce((sum, { wireBytes }) => sum + wireBytes, 0)).toBe(totals.mbps ?? 0);
      expect(of(6)).toHaveLength(totals.tcp_pps ?? 0);
      expect(of(17)).toHaveLength(totals.udp_pps ?? 0);
      expect(of(1, 58)).toHaveLength(totals.icmp_pps ?? 0);
      const syns = of(6).filter(({ header }) => ((header?.tcpFlags ?? 0) & 0x12) === 2);
      expect(syns).toHaveLength(totals.tcp_syn_pps ?? 0);
    }
  });

  test("of a capture without Ethernet have a header in its place", () => {
    const packet = (MIXED_FRAMES[0] as Uint8Array).subarray(14);
    const records = sampled([packet], LINKTYPE.raw);
    const [record] = [...records.values()].flat();
    expect(decodeHeader((record as Header).frame)).toMatchObject({ protocol: 6, tcpFlags: 2 });
  });

  test(`of mangled packets are read wherever they were counted (SEED=${SEED})`, () => {
    const random = seededRandom(SEED);
    const below = (bound: number) => Math.floor(random() * bound);
    const frames = Array.from({ length: 3000 }, () => {
      const frame = Uint8Array.from(MIXED_FRAMES[below(MIXED_FRAMES.length)] as Uint8Array);
      for (let spoiled = below(4); spoiled > 0; spoiled--) frame[below(70) % frame.length] = below(256);
      return random() < 0.2 ? frame.subarray(0, 14 + below(frame.length - 13)) : frame;
    });
    const records = sampled(frames);
    let ours = 0;
    for (const frame of frames) if (HOSTS.includes(decodeHeader(frame)?.destination ?? "")) ours++;
    let theirs = 0;
    for (const [host, list] of records) {
      const incoming = list.filter(({ frame }) => decodeHeader(frame)?.destination === address(host));
      theirs += incoming.length;
      for (const { frame } of list) {
        const header = decodeHeader(frame);
        expect([header?.source, header?.destination]).toContain(address(host));
      }
      // A record has 16 bits for a length.
      for (const { frame, reported } of list) {
        const header = decodeHeader(frame) as PacketHeader;
        expect(reported).toEqual({ ...header, packetBytes: Math.min(header.packetBytes, 65_535) });
      }
    }
    expect(ours).toBeGreaterThan(1000);
    expect(theirs).toBe(ours);
  });
});
