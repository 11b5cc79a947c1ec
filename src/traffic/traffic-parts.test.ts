import { expect, test } from "bun:test";
import { ethernet, icmp, ip, udp } from "../../test/fixtures/packets/frames.ts";
import { FakeHeaderSamples } from "../../test/fixtures/packets/header-samples.ts";
import { TrafficParts } from "./traffic-parts.ts";

const VICTIM = "192.0.2.1";
const TOTAL = [{ series: "total", outgoing: false, values: [1000, 80, 5, Number.NaN, 2000, 90, 9, 0, 0, 0] as const }];

function harness() {
  const headers = new FakeHeaderSamples();
  const parts = new TrafficParts({
    headers,
    isProtected: (host) => host === VICTIM,
    keysOf: (source, { ingress, sourceAs }) => ({
      asn: source.startsWith("198.51.100.") ? "AS64500" : sourceAs === undefined ? null : `AS${sourceAs}`,
      country: "DE",
      prefix: source,
      interface: ingress === undefined ? null : `edge${ingress.exporter} ${ingress.input}`,
      exporter: ingress === undefined ? null : `edge${ingress.exporter}`,
    }),
  });
  parts.read(0);
  const taken = () =>
    Object.fromEntries(
      parts.take(TOTAL).map(({ series, values: [pps, mbps] }) => [series, [Math.round(pps), Math.round(mbps)]]),
    );
  return { headers, parts, taken };
}

const sampled = (src: string, more = {}) => ({
  frame: ethernet(ip({ src, dst: VICTIM }, udp())),
  wireBytes: 100,
  ...more,
});

test("the parts are the shares of the sampled packets and bytes, of what was counted", () => {
  const { headers, parts, taken } = harness();
  headers.frames = [
    sampled("198.51.100.1", { standsFor: 30 }),
    sampled("203.0.113.1", {
      standsFor: 10,
      wireBytes: 700,
      ingress: { exporter: 1, input: 17 },
      sourceAs: 4_200_000_001,
    }),
    { frame: ethernet(ip({ src: "198.51.100.9", dst: "192.0.2.2" }, udp())), wireBytes: 1e6 },
  ];
  parts.read(1000);
  expect(taken()).toEqual({
    "by asn: AS64500": [750, 24],
    "by asn: AS4200000001": [250, 56],
    "by country: DE": [1000, 80],
    "by prefix: 203.0.113.1": [250, 56],
    "by prefix: 198.51.100.1": [750, 24],
    "by interface: edge1 17": [250, 56],
    "by exporter: edge1": [250, 56],
    "by src_port: 40000": [1000, 80],
    "by dst_port: 53": [1000, 80],
  });
  expect(taken()).toEqual({});
});

test("a header counts once, in the reading after it", () => {
  const { headers, parts, taken } = harness();
  headers.frames = [sampled("203.0.113.1", { ageMs: 1000 }), sampled("203.0.113.2", { ageMs: 900 })];
  parts.read(1000);
  parts.read(1000);
  expect(Object.keys(taken())).toEqual([
    "by country: DE",
    "by prefix: 203.0.113.2",
    "by src_port: 40000",
    "by dst_port: 53",
  ]);
});

test("a packet of a protocol without ports is in no part by port", () => {
  const { headers, parts, taken } = harness();
  headers.frames = [{ frame: ethernet(ip({ src: "203.0.113.1", dst: VICTIM }, icmp())), wireBytes: 100 }];
  parts.read(1000);
  expect(Object.keys(taken())).toEqual(["by country: DE", "by prefix: 203.0.113.1"]);
});

test("of an interval without a sample there are no parts", () => {
  const { parts, taken } = harness();
  parts.read(1000);
  expect(taken()).toEqual({});
});
