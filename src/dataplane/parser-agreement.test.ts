/** Compares the counter with another decoder over many generated packets. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Ethernet, IPV4, IPV6, TCP } from "cap/lib/Decoders.js";
import { evenly, pcapBytes } from "../../test/fixtures/captures/pcap-writer.ts";
import { folder } from "../../test/fixtures/folders.ts";
import { networksOf } from "../../test/fixtures/networks.ts";
import {
  ethernet,
  FRAME_BYTES_MIN,
  gre,
  type IpFields,
  icmp,
  icmpv6,
  ip,
  protocol,
  TCP_FLAGS,
  type Transport,
  tcp,
  udp,
} from "../../test/fixtures/packets/frames.ts";
import { LINK_TAGS, tagged } from "../../test/fixtures/packets/link-tags.ts";
import { encapsulated } from "../../test/fixtures/packets/tunnels.ts";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import { ENCAPSULATIONS } from "../native/constants.ts";
import { addressToBytes, parseAddress } from "../net/address.ts";
import { allocateHostRows } from "../traffic/host-rows.ts";
import { decodeHeader } from "../traffic/packet-header.ts";
import { METRICS } from "../traffic/rates.ts";
import { loadAddon } from "./addon.ts";

const PACKETS = 2000;
const SEED = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const V4 = { src: "198.51.100.7", dst: "203.0.113.9" };
const FOREIGN = { src: "198.51.100.7", dst: "192.0.2.9" };
const V6 = { src: "2001:db8::7", dst: "2001:db8:1::9" };

const directory = folder("agreement");

interface Sent {
  readonly frame: Uint8Array;
  /** The packet that counts, in a frame of its own, and with how many bytes. */
  readonly counted: Uint8Array;
  readonly bytes: number;
}

/** Many in a tunnel, behind labels or in PPPoE, and some behind tags of mirrors. */
function randomFrame(random: () => number): Sent {
  const below = (bound: number) => Math.floor(random() * bound);
  const payload = new Uint8Array(below(600));
  const isV6 = random() < 0.5;
  const flags = below(2) * TCP_FLAGS.syn + below(2) * TCP_FLAGS.ack;
  const ports = { sourcePort: below(65_536), destinationPort: below(65_536), payload };
  const transports: readonly Transport[] = [
    tcp({ ...ports, flags }),
    udp(ports),
    isV6 ? icmpv6(payload) : icmp(payload),
    // What is inside goes to no network, so the packet around it counts.
    gre(ip(FOREIGN, udp())),
    protocol(89, payload),
  ];
  const extensions = Array.from({ length: below(3) }, () => ({ type: 60, bytes: new Uint8Array(8 * (1 + below(3))) }));
  const fields: IpFields = isV6 ? { ...V6, extensions } : { ...V4, options: new Uint8Array(4 * below(6)).fill(1) };
  const vlans = random() < 0.3 ? [below(4095)] : [];
  const packet = ip(fields, transports[below(transports.length)] as Transport);
  const plain = ethernet(packet, { vlans, padTo: FRAME_BYTES_MIN });
  if (random() < 0.2) {
    const tags = Array.from({ length: 1 + below(3) }, () => LINK_TAGS[below(LINK_TAGS.length)]).flatMap(
      (named) => named?.[1] ?? [],
    );
    const frame = tagged(packet, tags);
    expect(decodeHeader(frame)).toEqual(decodeHeader(ethernet(packet)));
    return { frame, counted: ethernet(packet), bytes: frame.length };
  }
  if (random() < 0.5) return { frame: plain, counted: plain, bytes: plain.length };
  const carriers = encapsulated(packet);
  const [kind, frame] = carriers[below(carriers.length)] ?? carriers[0] ?? ["gre", plain];
  const counted = ethernet(packet);
  return { frame, counted, bytes: kind === "mpls" || kind === "pppoe" ? frame.length : counted.length };
}

/** Packets by destination and metric (without its unit), as the other decoder has them. */
function decode(sent: readonly Sent[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { counted, bytes } of sent) {
    const buffer = Buffer.from(counted);
    const link = Ethernet(buffer);
    const isV6 = link.info.type === 0x86dd;
    const { info, offset } = isV6 ? IPV6(buffer, link.offset) : IPV4(buffer, link.offset);
    const host = isV6 ? V6.dst : V4.dst;
    expect(info.dstaddr).toBe(isV6 ? "20:01:0d:b8:00:01:00:00:00:00:00:00:00:00:00:09" : V4.dst);
    for (const name of classesOf(info.protocol, buffer, offset)) {
      counts.set(`${host} ${name}pps`, (counts.get(`${host} ${name}pps`) ?? 0) + 1);
      counts.set(`${host} ${name}mbps`, (counts.get(`${host} ${name}mbps`) ?? 0) + bytes);
    }
  }
  return counts;
}

function classesOf(number: number, buffer: Buffer, offset: number): string[] {
  if (number === 17) return ["", "udp_"];
  if (number === 1 || number === 58) return ["", "icmp_"];
  if (number !== 6) return [""];
  const isSyn = (TCP(buffer, offset).info.flags & (TCP_FLAGS.syn | TCP_FLAGS.ack)) === TCP_FLAGS.syn;
  return isSyn ? ["", "tcp_", "tcp_syn_"] : ["", "tcp_"];
}

/** The same of the counter: a window that holds the whole capture, so that its rates are counts. */
async function count(frames: readonly Uint8Array[]): Promise<Map<string, number>> {
  const path = join(directory, "packets.pcap");
  await Bun.write(path, pcapBytes(evenly(frames, { stepMs: 0 })));
  const windows = { windowMs: 1000, tickMs: 100, idleMs: 60_000 };
  const engine = loadAddon().openEngine({ maxHosts: 64, countOutgoing: false, clock: "capture", ...windows });
  engine.setNetworks(networksOf(["203.0.113.0/24", "2001:db8:1::/48"]));
  engine.openReplay(path, { decapsulate: ENCAPSULATIONS }).advance();
  const counts = new Map<string, number>();
  for (const host of [V4.dst, V6.dst]) {
    const rows = allocateHostRows(1);
    const address = parseAddress(host);
    if (address === null || !engine.readHost(addressToBytes(address), rows)) continue;
    for (const [i, metric] of METRICS.entries()) {
      const value = (rows.incoming[i] ?? 0) * (metric.endsWith("mbps") ? 1e6 / 8 : 1);
      if (value > 0 && metric !== "flows_per_sec") counts.set(`${host} ${metric}`, Math.round(value));
    }
  }
  engine.close();
  return counts;
}

describe("the counter and an independent decoder", () => {
  test(`agree on ${PACKETS} generated packets (SEED=${SEED})`, async () => {
    const random = seededRandom(SEED);
    const sent = Array.from({ length: PACKETS }, () => randomFrame(random));
    const frames = sent.map(({ frame }) => frame);
    expect(Object.fromEntries(await count(frames))).toEqual(Object.fromEntries(decode(sent)));
  });
});
