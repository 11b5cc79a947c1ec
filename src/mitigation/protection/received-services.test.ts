import { expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import { icmp, ip, type Transport, tcp, udp } from "../../../test/fixtures/packets/frames.ts";
import { sampledPacket } from "../../../test/fixtures/packets/sampled-packets.ts";
import type { MinuteHeader } from "../../detection/attack/minute-sample.ts";
import { receivedServices } from "./received-services.ts";

const headers = (count: number, dst: string, transport: (i: number) => Transport, isAttacked = false): MinuteHeader[] =>
  Array.from({ length: count }, (_, i) => {
    const { header } = sampledPacket(ip({ src: "198.51.100.1", dst: address(dst) }, transport(i)));
    return { header, wireBytes: 1250, packets: 60, isAttacked, verdict: null };
  });
const web = () => tcp({ sourcePort: 40_000, destinationPort: 443 });
const dns = () => udp({ sourcePort: 40_000, destinationPort: 53 });

test("services are the shares of the sampled packets to the prefix, the largest first", () => {
  const all = [
    ...headers(60, "203.0.113.7", web),
    ...headers(20, "203.0.113.8", dns, true),
    ...headers(4, "203.0.113.7", () => icmp()),
    ...headers(50, "203.0.114.7", dns),
  ];
  expect(receivedServices({ headers: all, seconds: 60 }, prefix("203.0.113.0/28"))).toEqual({
    ...{ headers: 84, seconds: 60, total: { pps: 84, mbps: 0.84 }, attackedShare: 20 / 84 },
    services: [
      { service: "tcp/443", pps: 60, mbps: 0.6 },
      { service: "udp/53", pps: 20, mbps: 0.2 },
      { service: "icmp", pps: 4, mbps: 0.04 },
    ],
  });
});

test("answers to the hosts' own connections are no services, and ten are listed at most", () => {
  const answers = headers(30, "203.0.113.7", (i) => tcp({ sourcePort: 443, destinationPort: 50_000 + i }));
  const served = headers(60, "203.0.113.7", (i) => udp({ sourcePort: 40_000, destinationPort: 1000 + (i % 12) }));
  const { services = [] } =
    receivedServices({ headers: [...answers, ...served], seconds: 60 }, prefix("203.0.113.7/32")) ?? {};
  expect(services.length).toBe(10);
  expect(services.every(({ service }) => service.startsWith("udp/10"))).toBe(true);
});

test.each([
  [39, 60],
  [0, 60],
  [80, 0],
])("%p headers of %p s say nothing", (count, seconds) => {
  expect(
    receivedServices({ headers: headers(count, "203.0.113.7", web), seconds }, prefix("203.0.113.7/32")),
  ).toBeNull();
});
