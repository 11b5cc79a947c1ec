import { expect, test } from "bun:test";
import { configWith } from "../../../test/fixtures/config/parsed-config.ts";
import { filterWords } from "./filter-words.ts";
import type { ScrubFilter } from "./scrub-filter.ts";

function filterOf(scrub: string): ScrubFilter {
  const lines = `dataplane: {interfaces: [eth0]}\nmitigation: scrub\nscrub: ${scrub}\n`;
  return configWith(lines).mitigations[0]?.scrub as ScrubFilter;
}

test("a filter that asks for no proof and has no limit has no words", () => {
  const none = '{tcp: "off", source_packets_per_second: 0}';
  expect(filterWords(filterOf(none))).toEqual({ allowed: null, validators: [], limits: [] });
});

test("each way to prove an address, each limit and each service has its words", () => {
  const limits = "source_packets_per_second: 50, source_mbps: 8, source_connections_per_second: 3, learned_mbps: 1.5";
  const services = 'services: [{protocol: tcp, ports: ["80", "443"]}, {protocol: udp, source_ports: ["53"]}]';
  expect(filterWords(filterOf(`{tcp: reset, dns: truncate, answers: asked, ${limits}, ${services}}`))).toEqual({
    allowed: ["tcp/80,443", "udp/from 53"],
    validators: [
      "TCP: unknown sources prove their address, are reset, and connect again",
      "DNS over UDP: unknown sources must repeat their query over TCP",
      "answers that look like the attack's pass only from hosts to which the victim sent a query",
    ],
    limits: [
      "50 packets/s of each source (IPv4 /32, IPv6 /64)",
      "8 Mbit/s of each source (IPv4 /32, IPv6 /64)",
      "3 new TCP connections/s of each source (IPv4 /32, IPv6 /64)",
      "1.5 Mbit/s of all sources together that were connected before and have not proved it",
    ],
  });
});
