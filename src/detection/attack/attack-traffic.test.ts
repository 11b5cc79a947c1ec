import { expect, test } from "bun:test";
import { thresholds } from "../../../test/fixtures/host-rows.ts";
import {
  fragments,
  type IpPacket,
  icmp,
  icmpv6,
  ip,
  TCP_FLAGS,
  tcp,
  udp,
} from "../../../test/fixtures/packets/frames.ts";
import { sampledPacket } from "../../../test/fixtures/packets/sampled-packets.ts";
import type { Metric } from "../../traffic/rates.ts";
import { attackTraffic } from "./attack-traffic.ts";

const V4 = { src: "198.51.100.1", dst: "203.0.113.7" };
const V6 = { src: "2001:db8::1", dst: "2001:db8:1::7" };
const PACKETS: Readonly<Record<string, IpPacket>> = {
  syn: ip(V4, tcp({ flags: TCP_FLAGS.syn })),
  syn_ack: ip(V4, tcp({ flags: TCP_FLAGS.syn | TCP_FLAGS.ack })),
  udp: ip(V6, udp()),
  fragment: fragments(V4, udp({ payload: new Uint8Array(64) }), 24)[1] as IpPacket,
  icmp: ip(V4, icmp()),
  icmpv6: ip(V6, icmpv6()),
};
const THRESHOLDS = thresholds({
  pps: 1000,
  mbps: 100,
  flows_per_sec: 50,
  tcp_pps: 500,
  udp_pps: 500,
  tcp_syn_pps: 100,
});

function traffic(rates: Parameters<typeof thresholds>[0], metric: Metric = "pps", limits = THRESHOLDS) {
  const { isPartOf, ...rest } = attackTraffic({ rates: thresholds(rates), thresholds: limits, metric });
  const parts = Object.entries(PACKETS).filter(([, packet]) => isPartOf(sampledPacket(packet).header));
  return { parts: parts.map(([name]) => name).join(" "), ...rest };
}

const EVERY = "syn syn_ack udp fragment icmp icmpv6";

test("all packets are an attack's that has too many of all", () => {
  expect(traffic({ pps: 2000, tcp_syn_pps: 900 })).toEqual({
    ...{ parts: EVERY, unit: "packets", timesThreshold: 2 },
    perSecond: 2000,
  });
  expect(traffic({ mbps: 150 })).toEqual({
    ...{ parts: EVERY, unit: "bytes", timesThreshold: 1.5 },
    perSecond: 18_750_000,
  });
  expect(traffic({ flows_per_sec: 500 })).toEqual({
    ...{ parts: EVERY, unit: "flows", timesThreshold: 10 },
    perSecond: 500,
  });
});

test.each([
  ["tcp_pps", "syn syn_ack"],
  ["udp_pps", "udp fragment"],
  ["icmp_pps", "icmp icmpv6"],
  ["tcp_syn_pps", "syn"],
  ["frag_pps", "fragment"],
  ["frag_mbps", "fragment"],
] satisfies [Metric, string][])("%s is of these alone: %s", (metric, parts) => {
  const limits = thresholds({ pps: 1e6, [metric]: 10 });
  expect(traffic({ pps: 5000, [metric]: 100 }, metric, limits)).toMatchObject({ parts, timesThreshold: 10 });
});

test("the packets of every metric over its threshold belong to it", () => {
  expect(traffic({ pps: 900, udp_pps: 600, tcp_syn_pps: 200 }, "udp_pps")).toMatchObject({
    parts: "syn udp fragment",
    unit: "packets",
    timesThreshold: 1.2,
  });
});

test("with nothing over its threshold at the moment, the metric that tripped decides", () => {
  expect(traffic({ pps: 10 }, "tcp_syn_pps")).toEqual({
    ...{ parts: "syn", unit: "packets", timesThreshold: 1 },
    perSecond: 0,
  });
});
