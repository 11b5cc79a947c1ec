import { expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import { exactly } from "../../net/range.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { matchText, ruleMatches } from "./match.ts";
import { type Rule, routerActionToWire, ruleText, ruleToWire, wideRule } from "./rule.ts";

const VICTIM = "192.0.2.7/32";
const wide = wideRule(prefix(VICTIM), { kind: "discard" });
const narrowed = (changes: Partial<Rule>): Rule => ({ ...wide, ...changes });

const packet = (changes: Partial<PacketHeader> = {}): PacketHeader => ({
  source: address("198.51.100.9"),
  destination: address("192.0.2.7"),
  protocol: 17,
  ports: { source: 53, destination: 4444 },
  tcpFlags: null,
  fragment: null,
  packetBytes: 512,
  ...changes,
});

const SYN = { set: 0x02, unset: 0x10 };
/** But 0, and the protocols of ICMP, TCP and UDP. */
const ALL_BUT_COMMON = [
  { from: 2, to: 5 },
  { from: 7, to: 16 },
  { from: 18, to: 255 },
];

test.each<[string, Partial<Rule>]>([
  [`dst ${VICTIM} discard`, {}],
  [`dst ${VICTIM} proto udp src-port 53 discard`, { protocols: exactly(17), sourcePorts: [{ from: 53, to: 53 }] }],
  [
    `dst ${VICTIM} src 198.51.100.0/24 proto 253 discard`,
    { source: prefix("198.51.100.0/24"), protocols: exactly(253) },
  ],
  [`dst ${VICTIM} proto 2-5,7-16,18-255 discard`, { protocols: ALL_BUT_COMMON }],
  [`dst ${VICTIM} proto 2-5,udp discard`, { protocols: [{ from: 2, to: 5 }, ...exactly(17)] }],
  [`dst ${VICTIM} proto tcp tcp-flags syn,!ack discard`, { protocols: exactly(6), tcpFlags: SYN }],
  [
    `dst ${VICTIM} dst-port 80,8000-8010 fragment no length 40-60 discard`,
    {
      destinationPorts: [
        { from: 80, to: 80 },
        { from: 8000, to: 8010 },
      ],
      fragment: false,
      packetLengths: [{ from: 40, to: 60 }],
    },
  ],
  [
    `dst ${VICTIM} fragment yes length 1500 rate-limit 1 Mbit/s`,
    {
      fragment: true,
      packetLengths: [{ from: 1500, to: 1500 }],
      action: { kind: "rate_limit", bytesPerSecond: 125_000 },
    },
  ],
  ["any discard", { destination: null }],
])("reads as %j", (text, changes) => {
  expect(ruleText(narrowed(changes))).toBe(text);
});

test("a rule without a field matches anything there", () => {
  expect(ruleMatches(wide, packet())).toBe(true);
  expect(ruleMatches(wide, packet({ ports: null, fragment: "later", protocol: 1 }))).toBe(true);
  expect(ruleMatches(narrowed({ destination: null }), packet({ destination: address("2001:db8::1") }))).toBe(true);
});

test.each<[Partial<Rule>, Partial<PacketHeader>, boolean]>([
  [{}, { destination: address("192.0.2.8") }, false],
  [{}, { destination: address("2001:db8::7") }, false],
  [{ source: prefix("198.51.100.0/24") }, {}, true],
  [{ source: prefix("198.51.100.0/24") }, { source: address("198.51.101.0") }, false],
  [{ protocols: exactly(17) }, {}, true],
  [{ protocols: exactly(17) }, { protocol: 6 }, false],
  [{ protocols: ALL_BUT_COMMON }, { protocol: 16 }, true],
  [{ protocols: ALL_BUT_COMMON }, {}, false],
  [{ protocols: ALL_BUT_COMMON }, { protocol: 18 }, true],
  [{ protocols: ALL_BUT_COMMON }, { protocol: 255 }, true],
  [{ protocols: exactly(0) }, { protocol: 0 }, true],
  [{ protocols: exactly(0) }, { protocol: 1 }, false],
  [{ sourcePorts: [{ from: 53, to: 60 }] }, {}, true],
  [
    {
      sourcePorts: [
        { from: 50, to: 52 },
        { from: 54, to: 60 },
      ],
    },
    {},
    false,
  ],
  [{ sourcePorts: [{ from: 53, to: 53 }] }, { ports: null }, false],
  [{ destinationPorts: [{ from: 0, to: 65535 }] }, { ports: null }, false],
  [{ destinationPorts: [{ from: 4444, to: 4444 }] }, {}, true],
  [{ tcpFlags: SYN }, { tcpFlags: 0x02 }, true],
  [{ tcpFlags: SYN }, { tcpFlags: 0xc2 }, true],
  [{ tcpFlags: SYN }, { tcpFlags: 0x12 }, false],
  [{ tcpFlags: SYN }, { tcpFlags: 0x00 }, false],
  [{ tcpFlags: SYN }, { tcpFlags: null }, false],
  [{ fragment: true }, { fragment: "first" }, true],
  [{ fragment: true }, { fragment: "later" }, true],
  [{ fragment: true }, {}, false],
  [{ fragment: false }, { fragment: "later" }, false],
  [{ packetLengths: [{ from: 512, to: 512 }] }, {}, true],
  [{ packetLengths: [{ from: 513, to: 600 }] }, {}, false],
  [{ packetLengths: [{ from: 500, to: 511 }] }, {}, false],
])("narrowed by %j, and a packet of %j: %p", (changes, seen, expected) => {
  expect(ruleMatches(narrowed(changes), packet(seen))).toBe(expected);
});

test("on the wire what matches anything is absent", () => {
  expect(ruleToWire(wide)).toEqual({ dst: VICTIM, action: "discard" });
});

test("on the wire a rule has numbers, and forms that say more where one number does not", () => {
  const ranges = [
    { from: 1, to: 9 },
    { from: 53, to: 53 },
  ];
  expect(
    ruleToWire(
      narrowed({
        source: prefix("198.51.100.0/24"),
        protocols: exactly(6),
        sourcePorts: ranges,
        destinationPorts: [{ from: 80, to: 80 }],
        tcpFlags: SYN,
        fragment: false,
        packetLengths: [{ from: 40, to: 60 }],
        action: { kind: "rate_limit", bytesPerSecond: 1000 },
      }),
    ),
  ).toEqual({
    dst: VICTIM,
    src: "198.51.100.0/24",
    proto: 6,
    src_ports: ranges,
    dst_port: 80,
    tcp_flags: 2,
    tcp_flags_unset: 16,
    fragment: false,
    packet_length: { min: 40, max: 60 },
    action: "rate_limit",
    rate_bytes: 1000,
  });
});

test.each<[Partial<Rule>, object]>([
  [{ protocols: ALL_BUT_COMMON }, { protos: ALL_BUT_COMMON }],
  [{ protocols: exactly(0) }, { protos: [{ from: 0, to: 0 }] }],
  [{ protocols: exactly(255) }, { proto: 255 }],
])("on the wire protocols of %j are %j", (changes, wire) => {
  expect<object>(ruleToWire(narrowed(changes))).toEqual({ dst: VICTIM, ...wire, action: "discard" });
});

test("on the wire the actions of routers are those of rules where there is one", () => {
  expect(routerActionToWire({ kind: "rate_limit_packets", packetsPerSecond: 9 })).toEqual({
    action: "rate_limit",
    rate_packets: 9,
  });
  expect(routerActionToWire({ kind: "redirect", to: "rt:1:2" })).toEqual({ action: "redirect", redirect_to: "rt:1:2" });
  expect(routerActionToWire({ kind: "mark", dscp: 8 })).toEqual({ action: "mark", dscp: 8 });
});

test("two rules that differ in their action alone have one match", () => {
  expect(matchText(wide)).toBe(matchText(narrowed({ action: { kind: "rate_limit", bytesPerSecond: 1 } })));
});
