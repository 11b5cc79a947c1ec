import { describe, expect, test } from "bun:test";
import { Ethernet, IPV4, IPV6, TCP, UDP } from "cap/lib/Decoders.js";
import {
  ethernet,
  fragments,
  gre,
  type IpFields,
  type IpPacket,
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
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import { addressFromBytes, parseAddress } from "../net/address.ts";
import { decodeHeader, type PacketHeader } from "./packet-header.ts";

const V4 = { src: "198.51.100.7", dst: "203.0.113.9" };
const V6 = { src: "2001:db8::7", dst: "2001:db8:1::9" };
const HOP_BY_HOP = { type: 0, bytes: Uint8Array.from([0, 0, 1, 4, 0, 0, 0, 0]) };
const ETHERNET = 14;

const decode = (packet: IpPacket) => decodeHeader(ethernet(packet));

function changed(frame: Uint8Array, changes: Readonly<Record<number, number>>): Uint8Array {
  const copy = Uint8Array.from(frame);
  for (const [at, value] of Object.entries(changes)) copy[Number(at)] = value;
  return copy;
}

describe("a header", () => {
  test.each([
    ["IPv4", V4],
    ["IPv4 with options", { ...V4, options: new Uint8Array(8).fill(1) }],
    ["IPv6", V6],
    ["IPv6 with extension headers", { ...V6, extensions: [HOP_BY_HOP, { type: 60, bytes: new Uint8Array(16) }] }],
  ])("of a TCP segment in %s has addresses, ports and flags", (_, fields: IpFields) => {
    const flags = TCP_FLAGS.syn | TCP_FLAGS.ack;
    const packet = ip(fields, tcp({ sourcePort: 4321, destinationPort: 443, flags }));
    expect(decode(packet) as unknown).toEqual({
      source: fields.src,
      destination: fields.dst,
      protocol: 6,
      ports: { source: 4321, destination: 443 },
      tcpFlags: 18,
      fragment: null,
      packetBytes: packet.bytes.length,
    });
  });

  test.each(LINK_TAGS)("is found behind %s, also after a VLAN tag and before one", (_, tag) => {
    for (const packet of [ip(V4, udp({ destinationPort: 123 })), ip(V6, udp({ destinationPort: 123 }))]) {
      const vlan = { etherType: 0x8100, bytes: Uint8Array.from([0, 7]) };
      for (const tags of [[tag], [vlan, tag], [tag, vlan], [tag, tag]]) {
        expect(decodeHeader(tagged(packet, tags))?.ports?.destination).toBe(123);
      }
      expect(decodeHeader(tagged(packet, new Array(8).fill(tag)))).not.toBeNull();
      expect(decodeHeader(tagged(packet, new Array(9).fill(tag)))).toBeNull();
    }
  });

  test("is found behind LLC's own number for IPv4", () => {
    const bytes = Uint8Array.from([0x06, 0x06, 0x03, ...ip(V4, udp({ destinationPort: 123 })).bytes]);
    expect(decode({ etherType: 60, bytes })?.ports?.destination).toBe(123);
  });

  test.each([
    ["one tag", [7]],
    ["two tags", [7, 9]],
    ["eight tags", [1, 2, 3, 4, 5, 6, 7, 8]],
  ])("is found behind %s", (_, vlans) => {
    const header = decodeHeader(ethernet(ip(V4, udp({ destinationPort: 123 })), { vlans }));
    expect(header).toMatchObject({ destination: V4.dst, protocol: 17, ports: { destination: 123 }, tcpFlags: null });
  });

  test("behind nine tags is not looked for, as the packet counter does not", () => {
    expect(decodeHeader(ethernet(ip(V4, udp()), { vlans: [1, 2, 3, 4, 5, 6, 7, 8, 9] }))).toBeNull();
  });

  test.each([
    ["ICMP", V4, icmp(), 1],
    ["ICMPv6", V6, icmpv6(), 58],
    ["GRE", V4, gre(ip(V4, tcp())), 47],
    ["a protocol without a name", V6, protocol(253), 253],
  ])("of %s has no ports", (_, fields, transport: Transport, number) => {
    expect(decode(ip(fields, transport))).toMatchObject({ protocol: number, ports: null, tcpFlags: null });
  });

  test.each([33, 132, 136])("of protocol %d, which begins with ports, has them", (number) => {
    const bytes = Uint8Array.from([0x10, 0x00, 0x20, 0x00, 0, 0, 0, 0]);
    expect(decode(ip(V4, protocol(number, bytes)))?.ports).toEqual({ source: 4096, destination: 8192 });
  });

  test.each([
    ["IPv4", V4],
    ["IPv6", V6],
  ])("of a fragment in %s has ports in the first part only", (_, fields) => {
    const [first, ...later] = fragments(fields, udp({ payload: new Uint8Array(64).fill(9) }), 24).map(decode);
    expect(first).toMatchObject({ protocol: 17, ports: { source: 40_000, destination: 53 }, fragment: "first" });
    expect(later).not.toBeEmpty();
    for (const part of later) {
      expect(part).toMatchObject({ destination: fields.dst, protocol: 17, ports: null, fragment: "later" });
    }
  });

  test("sent as a fragment though it is whole is a first one, as the packet counter has it", () => {
    const whole = { type: 44, bytes: new Uint8Array(8) };
    expect(decode(ip({ ...V6, extensions: [whole] }, udp()))).toMatchObject({ ports: {}, fragment: "first" });
  });

  test("of an IPv6 packet with a mapped source is not that of the IPv4 host", () => {
    const frame = ethernet(ip(V6, udp()));
    const mapped = Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1]);
    frame.set(mapped, ETHERNET + 8);
    expect(decodeHeader(frame)?.source).toBe("::" as PacketHeader["source"]);
    frame.set(mapped, ETHERNET + 24);
    expect(decodeHeader(frame)).toBeNull();
  });
});

describe("a header cut short", () => {
  test.each([
    ["IPv4", ethernet(ip(V4, tcp({ flags: 2 }))), 20],
    ["IPv6", ethernet(ip(V6, tcp({ flags: 2 }))), 40],
  ])("in %s shows what is whole", (_, frame, headerBytes) => {
    const transportAt = ETHERNET + headerBytes;
    for (let length = 0; length <= frame.length; length++) {
      const header = decodeHeader(frame.subarray(0, length));
      expect(header !== null).toBe(length >= transportAt);
      expect((header?.ports ?? null) !== null).toBe(length >= transportAt + 4);
      if (header !== null) expect(header.tcpFlags).toBe(length >= transportAt + 14 ? 2 : null);
    }
  });

  test.each([
    ["IPv4", V4],
    ["IPv6", V6],
  ])("in %s does not reach into Ethernet's padding", (_, fields) => {
    const cut = { protocol: 6, bytes: Uint8Array.from([1, 2]), checksumAt: null };
    expect(decodeHeader(ethernet(ip(fields, cut), { padTo: 80 }))).toMatchObject({ protocol: 6, ports: null });
  });
});

describe("a length that lies", () => {
  const frame = ethernet(ip(V4, udp()));

  test.each([
    ["a version that is not the type's", { [ETHERNET]: 0x65 }],
    ["an IPv4 header shorter than can be", { [ETHERNET]: 0x44 }],
    ["a total length shorter than the header", { [ETHERNET + 3]: 19 }],
    ["a type that is not IP", { 12: 0x08, 13: 0x06 }],
  ])("%s is no header", (_, changes: Record<number, number>) => {
    expect(decodeHeader(changed(frame, changes))).toBeNull();
  });

  test.each([
    [
      "a total length of 0 is the frame's",
      { [ETHERNET + 2]: 0, [ETHERNET + 3]: 0 },
      { source: 40_000, destination: 53 },
    ],
    ["a total length beyond the frame is the frame's", { [ETHERNET + 2]: 0xff }, { source: 40_000, destination: 53 }],
    ["IPv4 options beyond the frame leave no ports", { [ETHERNET]: 0x4f, [ETHERNET + 3]: 0xff }, null],
  ])("%s", (_, changes: Record<number, number>, ports) => {
    const header = decodeHeader(changed(frame, changes));
    expect(header?.destination).toBe(V4.dst as PacketHeader["destination"]);
    expect(header?.ports ?? null).toEqual(ports);
  });

  test("a length of 0 stays open", () => {
    const v4 = decodeHeader(changed(ethernet(ip(V4, udp())), { [ETHERNET + 2]: 0, [ETHERNET + 3]: 0 }));
    const v6 = decodeHeader(changed(ethernet(ip(V6, udp())), { [ETHERNET + 4]: 0, [ETHERNET + 5]: 0 }));
    expect([v4?.packetBytes, v6?.packetBytes]).toEqual([0, 0]);
  });

  test("an IPv6 payload length of 0 is the frame's", () => {
    const header = decodeHeader(changed(ethernet(ip(V6, udp())), { [ETHERNET + 4]: 0, [ETHERNET + 5]: 0 }));
    expect(header?.ports).toEqual({ source: 40_000, destination: 53 });
  });

  test("an authentication header is measured in its own unit", () => {
    const frame = ethernet(ip({ ...V6, extensions: [{ type: 51, bytes: new Uint8Array(24) }] }, udp()));
    expect(decodeHeader(changed(frame, { [ETHERNET + 41]: 24 / 4 - 2 }))?.ports?.destination).toBe(53);
  });

  test("an extension header beyond the frame ends the chain", () => {
    const extended = ethernet(ip({ ...V6, extensions: [HOP_BY_HOP] }, udp()));
    expect(decodeHeader(changed(extended, { [ETHERNET + 41]: 200 }))).toMatchObject({ protocol: 0, ports: null });
  });

  test("nine extension headers are one more than is read", () => {
    const chain = (length: number) => decode(ip({ ...V6, extensions: new Array(length).fill(HOP_BY_HOP) }, udp()));
    expect(chain(8)).toMatchObject({ protocol: 17, ports: { destination: 53 } });
    expect(chain(9)).toMatchObject({ protocol: 0, ports: null });
  });
});

const SEED = Number(process.env["SEED"] ?? Date.now() % 1_000_000);

describe(`over generated frames (SEED=${SEED})`, () => {
  const random = seededRandom(SEED);
  const below = (bound: number) => Math.floor(random() * bound);
  const bytes = (length: number) => Uint8Array.from({ length }, () => below(256));

  /** Limits of the other decoder: at most one tag, no fragments. */
  function randomFrame(): Uint8Array {
    const isV6 = random() < 0.5;
    const ports = { sourcePort: below(65_536), destinationPort: below(65_536), payload: bytes(below(40)) };
    const transports = [tcp({ ...ports, flags: below(256) }), udp(ports), isV6 ? icmpv6() : icmp(), protocol(89)];
    const addresses = isV6
      ? { src: addressFromBytes(Uint8Array.from([0x20, ...bytes(15)])), dst: V6.dst }
      : { src: `${1 + below(223)}.${below(256)}.${below(256)}.${below(256)}`, dst: V4.dst };
    const extensions = Array.from({ length: below(3) }, () => ({ type: 60, bytes: new Uint8Array(8 + 8 * below(3)) }));
    const fields = isV6 ? { ...addresses, extensions } : { ...addresses, options: new Uint8Array(4 * below(6)) };
    return ethernet(ip(fields, transports[below(4)] as Transport), { vlans: random() < 0.3 ? [below(4095)] : [] });
  }

  test("agrees with another decoder", () => {
    for (let i = 0; i < 2000; i++) {
      const frame = randomFrame();
      const header = decodeHeader(frame);
      expect(header).toMatchObject(otherDecoder(Buffer.from(frame)));
    }
  });

  test("reads mangled frames and noise to an end, and never beyond the frame", () => {
    let read = 0;
    for (let i = 0; i < 5000; i++) {
      const frame = random() < 0.2 ? bytes(below(128)) : randomFrame();
      for (let spoiled = below(6); spoiled > 0 && frame.length > 0; spoiled--) frame[below(frame.length)] = below(256);
      const length = random() < 0.3 ? below(frame.length + 1) : frame.length;
      // The same frame followed by other bytes, which must not matter.
      const between = (fill: number) => {
        const room = new Uint8Array(length + 64).fill(fill);
        room.set(frame.subarray(0, length));
        return decodeHeader(room.subarray(0, length));
      };
      const header = between(0);
      expect(between(0xff)).toEqual(header);
      if (header !== null) {
        read++;
        expect(parseAddress(header.source)).toBe(header.source);
        expect(parseAddress(header.destination)).toBe(header.destination);
        expect(Object.values({ ...header.ports }).every((port) => port >= 0 && port <= 0xffff)).toBe(true);
      }
    }
    expect(read).toBeGreaterThan(1000);
  });
});

function otherDecoder(frame: Buffer): Omit<PacketHeader, "fragment" | "packetBytes"> {
  const link = Ethernet(frame);
  const isV6 = link.info.type === 0x86dd;
  const { info, offset } = isV6 ? IPV6(frame, link.offset) : IPV4(frame, link.offset);
  const address = (text: string) =>
    isV6 ? addressFromBytes(Uint8Array.from(text.split(":"), (byte) => Number.parseInt(byte, 16))) : parseAddress(text);
  const header = {
    source: address(info.srcaddr) as PacketHeader["source"],
    destination: address(info.dstaddr) as PacketHeader["destination"],
    protocol: info.protocol,
  };
  if (info.protocol === 6) {
    const { srcport, dstport, flags } = TCP(frame, offset).info;
    return { ...header, ports: { source: srcport, destination: dstport }, tcpFlags: flags };
  }
  if (info.protocol !== 17) return { ...header, ports: null, tcpFlags: null };
  const { srcport, dstport } = UDP(frame, offset).info;
  return { ...header, ports: { source: srcport, destination: dstport }, tcpFlags: null };
}
