import { describe, expect, test } from "bun:test";
import { thresholds } from "../../../test/fixtures/host-rows.ts";
import { attackOn, classified, victim } from "../../../test/fixtures/mitigation/ban-engine.ts";
import { ethernet, ip, udp } from "../../../test/fixtures/packets/frames.ts";
import type { SampledPacket } from "../../detection/attack/sample.ts";
import { hostPrefix } from "../../net/prefix.ts";
import { decodeHeader, type PacketHeader } from "../../traffic/packet-header.ts";
import { attackRules } from "./attack-rules.ts";
import { matchText } from "./match.ts";
import { ruleText } from "./rule.ts";

const flowspec = { action: { kind: "discard" }, sourceAnchored: false, minSourceConcentration: 0.8 } as const;
const prefix = hostPrefix(victim);

function packets(ends: { readonly src: string; readonly dst: string }): SampledPacket[] {
  const transport = udp({ sourcePort: 53, destinationPort: 4444, payload: new Uint8Array(1000) });
  const header = decodeHeader(ethernet(ip(ends, transport))) as PacketHeader;
  return Array.from({ length: 50 }, () => ({ header, wireBytes: 1042, standsFor: 1 }));
}

const incoming = {
  attack: classified(attackOn(), "dns_amplification"),
  packets: packets({ src: "203.0.113.9", dst: victim }),
  profile: null,
};
const outgoing = {
  attack: { ...classified(attackOn(victim, "out"), "udp_flood"), direction: "outgoing" } as const,
  packets: packets({ src: victim, dst: "203.0.113.9" }),
  profile: null,
};
const texts = (attacks: Parameters<typeof attackRules>[1]) =>
  attackRules(prefix, attacks, flowspec, []).rules.map(ruleText);

test("rules are those of the attack", () => {
  const { rules, matchesAll } = attackRules(prefix, [incoming], flowspec, []);
  expect(matchesAll).toBe(false);
  expect(rules.map(ruleText).join()).toContain("dst 192.0.2.1/32 proto udp src-port 53");
});

test("attacks of both directions have rules of each", () => {
  const rules = texts([incoming, outgoing]);
  expect(rules.some((rule) => rule.startsWith("dst 192.0.2.1/32 "))).toBe(true);
  expect(rules.some((rule) => rule.startsWith("src 192.0.2.1/32 "))).toBe(true);
});

test("where nothing is known they match all traffic, of the directions that there are", () => {
  const unknown = (seen: typeof incoming | typeof outgoing) => ({
    attack: { ...seen.attack, classification: null },
    packets: [],
    profile: null,
  });
  expect(texts([])).toEqual(["dst 192.0.2.1/32 discard"]);
  expect(texts([unknown(incoming)])).toEqual(["dst 192.0.2.1/32 discard"]);
  expect(texts([unknown(outgoing)])).toEqual(["src 192.0.2.1/32 discard"]);
  expect(attackRules(prefix, [unknown(incoming)], flowspec, []).matchesAll).toBe(true);
});

describe("before a packet is looked at, the counters say", () => {
  const counted = (rates: Parameters<typeof thresholds>[0]) => {
    const attack = { ...attackOn(), rates: thresholds(rates), thresholds: thresholds({ pps: 1000 }), threshold: 1000 };
    return attackRules(prefix, [{ attack, packets: [], profile: null }], flowspec, []);
  };

  test.each([
    ["UDP", { pps: 5000, udp_pps: 4800, tcp_pps: 200 }, "proto udp"],
    ["SYNs", { pps: 5000, tcp_pps: 4900, tcp_syn_pps: 4700 }, "proto tcp tcp-flags syn,!ack"],
    ["fragments", { pps: 5000, udp_pps: 4900, frag_pps: 4600 }, "fragment yes"],
    ["ICMP", { pps: 5000, icmp_pps: 4900 }, "proto icmp"],
  ] as const)("that it is %s", (_, rates, match) => {
    const { rules, matchesAll, separability } = counted({ ...rates, mbps: 20 });
    expect(rules.map(matchText)).toEqual([`dst 192.0.2.1/32 ${match}`]);
    expect(rules[0]?.action.kind).toBe("rate_limit");
    expect(matchesAll).toBe(false);
    expect(separability).toEqual({ verdict: "unknown", usersAtRisk: null, estimatedBy: null });
  });

  test("what passes of a protocol beside users of others is what the threshold leaves", () => {
    const { rules } = counted({ pps: 5000, udp_pps: 4500, tcp_pps: 500, mbps: 20 });
    // 500 bytes a packet, and 400 packets of 900.
    expect(rules[0]?.action).toEqual({ kind: "rate_limit", bytesPerSecond: 200_000 });
  });
});
