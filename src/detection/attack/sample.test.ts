import { describe, expect, test } from "bun:test";
import {
  fragments,
  type IpPacket,
  icmp,
  ip,
  protocol,
  TCP_FLAGS,
  tcp,
  udp,
} from "../../../test/fixtures/packets/frames.ts";
import { sampledPacket } from "../../../test/fixtures/packets/sampled-packets.ts";
import { sampleOf } from "./sample.ts";
import type { Origin } from "./sample-origins.ts";

const VICTIM = "203.0.113.7";
const BOUNDS = { top: 10, flows: 20 };

const sampled = (packet: IpPacket, wireBytes = 100) => sampledPacket(packet, { wireBytes });

const datagram = (src: string, sourcePort: number, destinationPort = 443, wireBytes = 100) =>
  sampled(ip({ src, dst: VICTIM }, udp({ sourcePort, destinationPort })), wireBytes);

describe("a sample", () => {
  test("sums packets and bytes by source, port and protocol, most packets first", () => {
    const packets = [
      datagram("198.51.100.1", 53, 1000),
      datagram("198.51.100.2", 53, 1001, 1500),
      datagram("198.51.100.2", 53, 1001, 1500),
      sampled(ip({ src: "198.51.100.3", dst: VICTIM }, tcp({ sourcePort: 9, destinationPort: 1000 })), 60),
    ];
    expect(sampleOf(packets, BOUNDS)).toMatchObject({
      totalPackets: 4,
      topSources: [
        { key: "198.51.100.2", packets: 2, bytes: 3000 },
        { key: "198.51.100.1", packets: 1, bytes: 100 },
        { key: "198.51.100.3", packets: 1, bytes: 60 },
      ],
      topSourcePorts: [
        { key: "53", packets: 3, bytes: 3100 },
        { key: "9", packets: 1, bytes: 60 },
      ],
      topDestinationPorts: [
        { key: "1001", packets: 2, bytes: 3000 },
        { key: "1000", packets: 2, bytes: 160 },
      ],
      protocols: [
        { key: "udp", packets: 3, bytes: 3100 },
        { key: "tcp", packets: 1, bytes: 60 },
      ],
    });
  });

  test("has packets without ports in no list of ports", () => {
    const fields = { src: "198.51.100.1", dst: VICTIM };
    const [, second] = fragments(fields, udp({ payload: new Uint8Array(32) }), 16);
    const packets = [sampled(ip(fields, icmp())), sampled(ip(fields, protocol(253))), sampled(second as IpPacket)];
    expect(sampleOf(packets, BOUNDS)).toMatchObject({
      totalPackets: 3,
      topSourcePorts: [],
      topDestinationPorts: [],
      protocols: [{ key: "icmp" }, { key: "253" }, { key: "udp" }],
    });
  });

  test("lists single packets newest first, with what their headers show", () => {
    const syn = sampled(
      ip({ src: "2001:db8::5", dst: "2001:db8::7" }, tcp({ sourcePort: 5, flags: TCP_FLAGS.syn })),
      74,
    );
    const ping = sampled(ip({ src: "198.51.100.1", dst: VICTIM }, icmp()), 98);
    expect(sampleOf([ping, syn], BOUNDS).flows as unknown).toEqual([
      {
        source: "2001:db8::5",
        destination: "2001:db8::7",
        protocol: "tcp",
        sourcePort: 5,
        destinationPort: 80,
        tcpFlags: 2,
        bytes: 74,
      },
      {
        source: "198.51.100.1",
        destination: VICTIM,
        protocol: "icmp",
        sourcePort: null,
        destinationPort: null,
        tcpFlags: null,
        bytes: 98,
      },
    ]);
  });

  test("has the known origins of its sources, and sums of all packets by origin", () => {
    const origins: Record<string, Origin> = {
      "198.51.100.1": { asn: 64500, asName: "Example Net", country: "DE" },
      "198.51.100.2": { asn: 64500, asName: "Example Net", country: null },
      "198.51.100.3": { asn: 64501, asName: null, country: "NL" },
    };
    const asked: string[] = [];
    const packets = [1, 1, 1, 2, 3, 3, 4].map((last) => datagram(`198.51.100.${last}`, 53));
    const sample = sampleOf(packets, { top: 2, flows: 0 }, (address) => {
      asked.push(address);
      return origins[address] ?? null;
    });
    expect(sample.origins).toEqual({
      bySource: {
        "198.51.100.1": origins["198.51.100.1"] as Origin,
        "198.51.100.3": origins["198.51.100.3"] as Origin,
      },
      topAsns: [
        { key: "AS64500 Example Net", packets: 4, bytes: 400 },
        { key: "AS64501", packets: 2, bytes: 200 },
      ],
      topCountries: [
        { key: "DE", packets: 3, bytes: 300 },
        { key: "NL", packets: 2, bytes: 200 },
      ],
    });
    expect(asked).toEqual(["198.51.100.1", "198.51.100.2", "198.51.100.3", "198.51.100.4"]);
  });

  test("of nothing is empty", () => {
    expect(sampleOf([], BOUNDS)).toEqual({
      totalPackets: 0,
      topSources: [],
      topSourcePorts: [],
      topDestinationPorts: [],
      protocols: [],
      flows: [],
      origins: null,
    });
  });
});

describe("the bounds of a sample", () => {
  const many = Array.from({ length: 12 }, (_, i) => datagram(`198.51.100.${i}`, 1000 + i, 2000 + i));

  test.each([
    [11, 11],
    [12, 12],
    [13, 12],
  ])("at most %d entries of each list", (top, listed) => {
    const sample = sampleOf(many, { top, flows: 0 });
    expect(sample.topSources).toHaveLength(listed);
    expect(sample.topSourcePorts).toHaveLength(listed);
    expect(sample.topDestinationPorts).toHaveLength(listed);
    expect(sample.totalPackets).toBe(12);
  });

  test("hold for protocols too", () => {
    const packets = [1, 2, 3].map((number) => sampled(ip({ src: "198.51.100.1", dst: VICTIM }, protocol(number))));
    expect(sampleOf(packets, { top: 2, flows: 0 }).protocols).toHaveLength(2);
  });

  test.each([
    [0, []],
    [2, [1011, 1010]],
    [13, Array.from({ length: 12 }, (_, i) => 1011 - i)],
  ])("at most %d single packets, the newest", (flows, ports) => {
    expect(sampleOf(many, { top: 1, flows }).flows.map(({ sourcePort }) => sourcePort as number)).toEqual(ports);
  });
});
