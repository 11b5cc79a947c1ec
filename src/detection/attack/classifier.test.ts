import { describe, expect, test } from "bun:test";
import {
  fragments,
  gre,
  type IpPacket,
  icmp,
  icmpv6,
  ip,
  protocol,
  TCP_FLAGS,
  type Transport,
  tcp,
  udp,
} from "../../../test/fixtures/packets/frames.ts";
import { sampledPacket } from "../../../test/fixtures/packets/sampled-packets.ts";
import { type ClassifierOptions, classify } from "./classifier.ts";
import type { SampledPacket } from "./sample.ts";
import { AMPLIFIERS, reflectedPort, VECTORS, type Vector } from "./vector.ts";

const V4 = { src: "198.51.100.1", dst: "203.0.113.7" };
const V6 = { src: "2001:db8::1", dst: "2001:db8:1::7" };
const OPTIONS: ClassifierOptions = { gate: 0.5, unit: "packets", timesThreshold: 10, held: null };
const { syn, ack, rst, psh, fin, urg } = TCP_FLAGS;

const packetOf = (transport: Transport) => sampledPacket(ip(V4, transport));
const flags = (value: number) => packetOf(tcp({ flags: value }));
const from = (sourcePort: number, destinationPort = 40_000) => packetOf(udp({ sourcePort, destinationPort }));
const DATAGRAM = from(40_000, 40_001);
const OTHER = packetOf(protocol(50));

const times = (count: number, packet: SampledPacket) => new Array<SampledPacket>(count).fill(packet);

function kind(packets: readonly SampledPacket[], options: Partial<ClassifierOptions> = {}): string {
  const found = classify(packets, { ...OPTIONS, ...options });
  return found === null ? "nothing" : `${found.type} ${found.confidence}`;
}

/** `count` datagrams with three fragments each. */
function cut(count: number, sourcePort: number, fields = V4): SampledPacket[] {
  const datagram = udp({ sourcePort, payload: new Uint8Array(64) });
  const parts = fragments(fields, datagram, 24).map((part: IpPacket) => sampledPacket(part));
  return Array.from({ length: count }, () => parts).flat();
}

describe("one vector", () => {
  test.each([
    ["syn_flood", flags(syn)],
    ["syn_flood", flags(syn | psh)],
    ["syn_ack_flood", flags(syn | ack)],
    ["ack_flood", flags(ack)],
    ["ack_flood", flags(ack | urg)],
    ["rst_flood", flags(rst)],
    ["rst_flood", flags(rst | ack)],
    ["tcp_flood", flags(psh | ack)],
    ["tcp_flood", flags(fin | ack)],
    ["tcp_flood", flags(0)],
    ["udp_flood", DATAGRAM],
    ["udp_flood", from(40_000, 53)],
    ["quic_flood", from(40_000, 443)],
    ["quic_flood", from(443, 40_000)],
    ["icmp_flood", packetOf(icmp())],
    ["icmp_flood", sampledPacket(ip(V6, icmpv6()))],
    ["gre_flood", packetOf(gre(ip(V4, tcp())))],
    ["mixed", OTHER],
  ] satisfies [Vector, SampledPacket][])("%s", (vector, packet) => {
    const found = classify(times(20, packet), OPTIONS);
    expect(found).toMatchObject({ type: vector, confidence: vector === "mixed" ? 0 : 1, sourcePort: null });
  });

  test.each(Object.entries(AMPLIFIERS))("%s_amplification from port %d", (service, port) => {
    const found = classify(times(20, from(port)), OPTIONS);
    const type = `${service}_amplification` as Vector;
    expect(found).toEqual({ type, confidence: 1, sourcePort: port, parts: [{ type, share: 1, sourcePort: port }] });
    expect(classify(times(20, sampledPacket(ip(V6, udp({ sourcePort: port })))), OPTIONS)?.type).toBe(type);
  });

  test("TCP from such a port amplifies nothing", () => {
    expect(kind(times(20, packetOf(tcp({ sourcePort: 53, flags: ack }))))).toBe("ack_flood 1");
  });

  test("every vector is named by some packets", () => {
    expect(VECTORS).toHaveLength(Object.keys(AMPLIFIERS).length + 11);
    expect(VECTORS.filter((vector) => reflectedPort(vector) !== null)).toHaveLength(Object.keys(AMPLIFIERS).length);
  });

  test("no packets are of no kind", () => {
    expect(kind([])).toBe("nothing");
  });
});

describe("fragments", () => {
  test.each([
    ["IPv4", V4],
    ["IPv6", V6],
  ])("of datagrams from a service belong to its amplification, also those without ports (%s)", (_, fields) => {
    expect(kind(cut(10, 53, fields))).toBe("dns_amplification 1");
  });

  test("of other datagrams, and of other protocols, are a fragment flood", () => {
    expect(kind(cut(10, 40_000))).toBe("fragment_flood 1");
    const pings = fragments(V4, icmp(new Uint8Array(64)), 24).map((part) => sampledPacket(part));
    expect(kind(pings)).toBe("fragment_flood 1");
  });

  test("without any first one are a fragment flood", () => {
    const later = cut(10, 53).filter(({ header }) => header.fragment === "later");
    expect(kind(later)).toBe("fragment_flood 1");
  });

  test("are shared out as the first ones are", () => {
    const found = classify([...cut(30, 53), ...cut(10, 40_000)], OPTIONS);
    expect(found).toMatchObject({
      type: "dns_amplification",
      parts: [
        { type: "dns_amplification", share: 0.75 },
        { type: "fragment_flood", share: 0.25 },
      ],
    });
  });

  test("are no more to an amplification than its datagrams could have", () => {
    const later = cut(1, 40_000).filter(({ header }) => header.fragment === "later");
    const flood = Array.from({ length: 100 }, () => later).flat();
    const [first] = cut(1, 53) as [SampledPacket];
    expect(kind([...flood, first])).toStartWith("fragment_flood 0.7");
  });

  test("with SYN are a SYN flood", () => {
    const [first] = fragments(V4, tcp({ flags: syn, payload: new Uint8Array(64) }), 24) as [IpPacket];
    expect(kind(times(20, sampledPacket(first)))).toBe("syn_flood 1");
  });
});

describe("the dominant share", () => {
  test.each([
    [50, "syn_flood 0.5"],
    [49, "mixed 0.49"],
  ])("%d of 100", (count, wanted) => {
    expect(kind([...times(count, flags(syn)), ...times(26, DATAGRAM), ...times(74 - count, OTHER)])).toBe(wanted);
  });

  test("of two that have it, the order decides", () => {
    const order = [from(53), flags(syn), cut(1, 9)[0] as SampledPacket, packetOf(icmp()), flags(ack), DATAGRAM];
    const names = ["dns_amplification", "syn_flood", "fragment_flood", "icmp_flood", "ack_flood", "udp_flood"];
    order.forEach((packet, i) => {
      for (const other of order.slice(i + 1)) {
        expect(kind([...times(10, other), ...times(10, packet)])).toBe(`${names[i]} 0.5`);
      }
    });
  });

  test("of a protocol names what none of its vectors does", () => {
    const shapes = [syn, syn | ack, ack, rst].flatMap((value) => times(5, flags(value)));
    expect(kind([...shapes, ...times(5, OTHER)])).toBe("tcp_flood 0.8");
    const services = [53, 123, 389, 1900].flatMap((port) => times(5, from(port)));
    const found = classify([...services, ...times(5, OTHER)], OPTIONS);
    expect(found).toMatchObject({ type: "udp_flood", confidence: 0.8, sourcePort: null });
    expect(found?.parts.map(({ type, share }) => `${type} ${share}`)).toEqual([
      "dns_amplification 0.2",
      "ntp_amplification 0.2",
      "cldap_amplification 0.2",
      "ssdp_amplification 0.2",
    ]);
  });

  test("of a protocol is that of its larger vectors: people's own traffic beside one of them names nothing", () => {
    const packets = [...times(42, flags(syn)), ...times(43, from(53)), ...times(15, flags(psh | ack))];
    const found = classify(packets, { ...OPTIONS, timesThreshold: 4 });
    expect(found).toMatchObject({ type: "mixed", confidence: 0.43 });
    expect(found?.parts.map(({ type }) => type)).toEqual(["dns_amplification", "syn_flood"]);
  });

  test("of a protocol does not need a vector of that name", () => {
    const found = classify([...times(45, from(123)), ...times(45, from(389)), ...times(10, flags(ack))], OPTIONS);
    expect(found).toMatchObject({ type: "udp_flood", confidence: 0.9, sourcePort: null });
    expect(found?.parts.map(({ sourcePort }) => sourcePort)).toEqual([123, 389, null]);
  });

  test("once named, a vector keeps its name a little below it", () => {
    const share = (percent: number) => [...times(percent, flags(syn)), ...times(100 - percent, OTHER)];
    const held = classify(share(60), OPTIONS);
    expect(kind(share(41), { held })).toBe("syn_flood 0.41");
    expect(kind(share(39), { held })).toBe("mixed 0.39");
    expect(kind(share(41))).toBe("mixed 0.41");
  });
});

describe("what a packet weighs", () => {
  const small = { ...flags(syn), wireBytes: 60 };
  const large = { ...from(53), wireBytes: 1500 };

  test("by packets, bytes or flows, as the attack has too many of them", () => {
    const packets = [...times(60, small), ...times(40, large)];
    expect(kind(packets, { unit: "packets" })).toBe("syn_flood 0.6");
    expect(kind(packets, { unit: "bytes" })).toBe("dns_amplification 0.9434");
    const spoofed = Array.from({ length: 30 }, (_, i) => packetOf(tcp({ flags: syn, sourcePort: 1000 + i })));
    expect(kind([...spoofed, ...times(70, DATAGRAM)], { unit: "flows" })).toBe("syn_flood 0.9677");
  });

  test("is as much as the packets that it stands for", () => {
    expect(kind([...times(10, { ...DATAGRAM, standsFor: 9 }), ...times(40, flags(syn))])).toBe("udp_flood 0.6923");
  });
});

describe("parts", () => {
  const packets = [...times(60, flags(syn)), ...times(30, from(53)), ...times(10, DATAGRAM)];
  const parts = (options: Partial<ClassifierOptions>) =>
    classify(packets, { ...OPTIONS, ...options })?.parts.map(({ type }) => type);

  test("are the vectors that alone would be over the threshold, since normal traffic was below it", () => {
    expect(parts({ timesThreshold: 10 })).toEqual(["syn_flood", "dns_amplification", "udp_flood"]);
    expect(parts({ timesThreshold: 5 })).toEqual(["syn_flood", "dns_amplification"]);
    expect(parts({ timesThreshold: 3 })).toEqual(["syn_flood"]);
    expect(parts({ timesThreshold: 1.1 })).toEqual(["syn_flood"]);
  });

  test("stay when they fall a little below that", () => {
    const held = classify(packets, { ...OPTIONS, timesThreshold: 4 });
    expect(parts({ timesThreshold: 3, held })).toEqual(["syn_flood", "dns_amplification"]);
    expect(parts({ timesThreshold: 2, held })).toEqual(["syn_flood"]);
  });

  test("of a mixed attack are those also that come near the largest", () => {
    const mixed = [
      ...times(40, flags(syn)),
      ...times(31, DATAGRAM),
      ...times(20, packetOf(icmp())),
      ...times(9, OTHER),
    ];
    const classified = (timesThreshold: number) => classify(mixed, { ...OPTIONS, timesThreshold });
    expect(classified(1.1)).toMatchObject({ type: "mixed", confidence: 0.4 });
    expect(classified(1.1)?.parts.map(({ type }) => type)).toEqual(["syn_flood", "udp_flood"]);
    expect(classified(5)?.parts.map(({ type }) => type)).toEqual(["syn_flood", "udp_flood", "icmp_flood"]);
  });
});
