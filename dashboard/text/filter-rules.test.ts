import { expect, test } from "bun:test";
import {
  actionText,
  droppedText,
  EMPTY_RULE,
  type FilterRuleWire,
  filterRulePath,
  moreFault,
  ruleOrder,
  ruleText,
} from "./filter-rules.ts";

const rule: FilterRuleWire = {
  ...{ name: "opens", action: "limit", when: "attacked", dry_run: true, match: "proto tcp" },
  ...{ packets_per_second: 20, per: "source", origin: "order", reason: "ticket 7" },
};

test("what a rule does, and what it is found by", () => {
  expect(actionText(rule)).toMatch(/^limit to 20 p\S* of each source$/);
  expect(actionText({ ...rule, mbps: 8, per: "all" })).toMatch(/^limit to 20 .* and 8.* Mb\S*$/);
  expect(actionText({ ...rule, action: "pass" })).toBe("pass");
  for (const word of ["opens", "tcp", "limit", "while attacked", "order", "ticket 7", "dry run"])
    expect(ruleText(rule)).toContain(word);
  expect(filterRulePath("a.b")).toBe("/api/v1/filter-rules/a.b");
});

test("an order has what was filled in, and no other key", () => {
  const form = { ...EMPTY_RULE, name: " a ", packets: "7" };
  expect(ruleOrder(form)).toEqual({ name: "a", action: "drop", ttl_seconds: 3600, reason: "" });
  expect(
    ruleOrder({
      ...form,
      ...{ action: "limit", packets: "20", mbps: "x", when: "attacked", effect: "counts", sets: "a, b" },
      ...{ destinations: "192.0.2.1 192.0.2.9/32", source: "198.51.100.0/24", protocol: "udp", ports: "53,100-200" },
      ...{ sourcePorts: "19", handshake: "quic", payload: "4: ffff 54", seconds: "60", reason: "r" },
    }),
  ).toEqual({
    ...{ name: "a", action: "limit", packets_per_second: 20, mbps: "x", per: "source", when: "attacked" },
    ...{ dry_run: true, destinations: ["192.0.2.1", "192.0.2.9/32"], source: "198.51.100.0/24" },
    ...{ source_sets: ["a", "b"], protocol: "udp", ports: ["53", "100-200"], source_ports: ["19"] },
    ...{ handshake: "quic", payload: [{ offset: 4, bytes: "ffff 54" }], ttl_seconds: 60, reason: "r" },
  });
  expect(ruleOrder({ ...form, payload: "ffff" })).toMatchObject({ payload: [{ bytes: "ffff" }] });
});

test("other keys are taken from JSON, over those of the form", () => {
  const form = { ...EMPTY_RULE, name: "a", protocol: "udp" as const };
  expect(ruleOrder({ ...form, more: '{"ttl": "1-5", "protocol": "tcp"}' })).toMatchObject({
    ...{ ttl: "1-5", protocol: "tcp" },
  });
  expect([moreFault({ more: " " }), moreFault({ more: "{}" })]).toEqual([null, null]);
  for (const more of ["ttl", "[1]", "null", '{"a":']) expect(moreFault({ more })).toContain("no JSON object");
});

test("a rule that only counts has dropped nothing, and says what it would have", () => {
  const rule = { dry_run: true, dropped_packets: 115_000 } as FilterRuleWire;
  expect(droppedText(rule)).toBe("would have dropped 115 k");
  expect(droppedText({ ...rule, dry_run: false })).toBe("115 k");
  expect(droppedText({ dry_run: false } as FilterRuleWire)).toBeNull();
});
