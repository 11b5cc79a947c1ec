import { expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { summaryText } from "./attack-summary.ts";

const share = (key: string, packets: number) => ({ key, packets, bytes: 0 });
const attack = (changes: object = {}) =>
  ({
    group: "initech",
    tenant: "initech",
    direction: "incoming",
    classification: { type: "dns_amplification", confidence: 1, src_port: 53 },
    sample: { total_packets: 100, top_src_ports: [share("53", 99)], top_dst_ports: [share("80", 80), share("81", 20)] },
    ...changes,
  }) as AttackWire;
const sources = { total_packets: 512, top_sources: [share("198.51.100.9", 61)], distinct_sources: 204 };

test("an attack is one line: kind, ports, sources and customer", () => {
  expect(summaryText(attack(), sources)).toBe(
    "DNS amplification · from port 53 to port 80 · 204 sources in 512 sampled packets, the largest 12 % · initech",
  );
});

test("says what is not known, or leaves it out", () => {
  expect(summaryText(attack({ classification: undefined, sample: undefined }), null)).toBe(
    "Kind not known yet · initech",
  );
  const spread = { total_packets: 100, top_src_ports: [], top_dst_ports: [share("1", 30), share("2", 30)] };
  const many = attack({ sample: spread, classification: { type: "udp_flood", confidence: 1 } });
  expect(summaryText(many, { ...sources, distinct_sources: 1 })).toBe(
    "UDP flood · to many ports · one source, 198.51.100.9 · initech",
  );
  const whole = attack({ direction: "outgoing", prefix: "192.0.2.0/24", hosts: 40, sample: undefined });
  expect(summaryText(whole, null)).toBe("DNS amplification, outgoing, over 40 hosts · from port 53 · initech");
});

test("the sources of what a host sends are those who send it, as the list below says", () => {
  const outgoing = attack({ direction: "outgoing", prefix: "192.0.2.0/24", hosts: 40, sample: undefined });
  const senders = { total_packets: 512, top_sources: [share("192.0.2.7", 256)] };
  expect(summaryText(outgoing, { ...senders, distinct_sources: 40 })).toContain(
    " · 40 sources in 512 sampled packets, the largest 50 % · ",
  );
  expect(summaryText(outgoing, senders)).toContain(" · largest of the sources 192.0.2.7, 50 % · ");
});
