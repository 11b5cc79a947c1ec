import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { icmp, ip, TCP_FLAGS, tcp } from "../../../../test/fixtures/packets/frames.ts";
import { sampledPacket } from "../../../../test/fixtures/packets/sampled-packets.ts";
import { attack } from "../../../../test/fixtures/views.ts";
import { type Sample, sampleOf } from "../../../detection/attack/sample.ts";
import type { IngressOf } from "../../../traffic/ingress.ts";
import { AttackWire, attackToWire } from "../attack.ts";
import { SampleWire, sampleToWire } from "./sample.ts";

const fields = { src: "198.51.100.1", dst: "203.0.113.7" };

function sample(flows = 20): Sample {
  const transports = [icmp(), tcp({ sourcePort: 1024, destinationPort: 0, flags: TCP_FLAGS.syn })];
  const packets = transports.map((transport) => sampledPacket(ip(fields, transport), { wireBytes: 60 }));
  return sampleOf(packets, { top: 10, flows });
}

describe("sample", () => {
  test("has its lists and single packets; what a packet does not show is left out", () => {
    const wire = sampleToWire(sample());
    expect(wire).toEqual({
      top_sources: [{ key: "198.51.100.1", packets: 2, bytes: 120 }],
      top_src_ports: [{ key: "1024", packets: 1, bytes: 60 }],
      top_dst_ports: [{ key: "0", packets: 1, bytes: 60 }],
      protocols: [
        { key: "icmp", packets: 1, bytes: 60 },
        { key: "tcp", packets: 1, bytes: 60 },
      ],
      flows: [
        { ...fields, proto: "tcp", src_port: 1024, dst_port: 0, tcp_flags: 2, bytes: 60 },
        { ...fields, proto: "icmp", bytes: 60 },
      ],
      top_prefixes: [{ key: "198.51.100.0/24", packets: 2, bytes: 120 }],
      total_packets: 2,
    });
    expect(Value.Check(SampleWire, wire)).toBe(true);
  });

  test("has no list of single packets when none are kept", () => {
    const wire = sampleToWire(sample(0));
    expect(wire).not.toHaveProperty("flows");
    expect(Value.Check(SampleWire, wire)).toBe(true);
  });

  test("names the interfaces by which its packets came in, and leaves out a name that is not known", () => {
    const from = (exporter: number, input: number, standsFor: number) => ({
      ...sampledPacket(ip(fields, icmp()), { wireBytes: 60, standsFor }),
      ingress: { exporter, input },
    });
    const packets = [from(1, 17, 100), from(1, 17, 100), from(2, 3, 600), sampledPacket(ip(fields, icmp()))];
    const ingressOf: IngressOf = ({ exporter, input }) => ({
      exporter: `edge${exporter}`,
      interface: input,
      name: exporter === 1 ? "xe-0/0/1" : null,
    });
    const wire = sampleToWire(sampleOf(packets, { top: 10, flows: 0 }, null, ingressOf));
    // By the packets that the sampled ones stand for.
    expect(wire.top_interfaces).toEqual([
      { exporter: "edge2", interface: 3, packets: 1, bytes: 60, share: 0.75 },
      { exporter: "edge1", interface: 17, name: "xe-0/0/1", packets: 2, bytes: 120, share: 0.25 },
    ]);
    expect(Value.Check(SampleWire, wire)).toBe(true);
  });

  test("origins list the known origins of sources, and are absent if none is known #sample-origins", () => {
    const packets = [1, 2].map((last) =>
      sampledPacket(ip({ ...fields, src: `198.51.100.${last}` }, icmp()), { wireBytes: 60 }),
    );
    const originOf = (address: string) =>
      address === "198.51.100.1" ? { asn: 64500, asName: "Example Net", country: null } : null;
    const wire = sampleToWire(sampleOf(packets, { top: 10, flows: 0 }, originOf));
    expect(wire).toMatchObject({
      top_sources: [
        { key: "198.51.100.1", packets: 1, bytes: 60, asn: 64500, as_name: "Example Net" },
        { key: "198.51.100.2", packets: 1, bytes: 60 },
      ],
      top_asns: [{ key: "AS64500 Example Net", packets: 1, bytes: 60 }],
    });
    expect(wire.top_sources[0]).not.toHaveProperty("country");
    expect(wire.top_sources[1]).not.toHaveProperty("asn");
    expect(wire).not.toHaveProperty("top_countries");
    expect(Value.Check(SampleWire, wire)).toBe(true);
  });

  test("comes with its attack", () => {
    const wire = attackToWire({ attack: attack({ sample: sample() }), ban: null });
    expect(wire.sample?.total_packets).toBe(2);
    expect(Value.Check(AttackWire, wire)).toBe(true);
    expect(attackToWire({ attack: attack(), ban: null })).not.toHaveProperty("sample");
  });
});
