/**
 * A rule of the operator's that the API orders, by the whole service (docs/interface.md#filter-rule-command). The orders by
 * themselves are in src/mitigation/operator, the requests in src/http/routes.
 */
import { expect, test } from "bun:test";
import type { FilterRulesWire } from "../../src/http/wire/filter-rule.ts";
import { FreshService } from "../fixtures/fresh-service.ts";
import { agent } from "../fixtures/http/node-channel.ts";

type Rules = (typeof FilterRulesWire)["static"];

const CONFIG = `dry_run: false
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
dataplane: { interfaces: [fw-absent0] }
prefix_sets: [{ name: bogons }]
filter_rules:
  - { name: own, action: limit, protocol: tcp, ports: ["443"], packets_per_second: 5, mbps: 1, per: source }
  - { name: last, action: pass, when: attacked }
`;

const PATH = "/api/v1/filter-rules";
const ORDER = { name: "chargen", action: "drop", protocol: "udp", source_ports: ["19"], ttl_seconds: 60, reason: "r" };

const fresh = new FreshService(CONFIG, [{ ...agent("noc"), role: "operator" }]);
const post = (body: object) => fresh.running.post(PATH, body, "noc");
const list = async () => (await fresh.running.get<Rules>(PATH, "noc")).rules;
const names = async () => (await list()).map(({ name }) => name);

/** Numbers of the operator's rules in the kernel, by destination. */
function kernelRules(): (readonly [string, number])[] {
  fresh.clock.advance(1000);
  return fresh.running.filters.operators.map(({ prefix, rules }) => [prefix.text, rules.length]);
}

test("an order reaches the kernel, is counted, and outlives a reload and a restart #filter-rule-command-survives #filter-rule-command-that-the-configuration #filter-rule-command-in-dry-run", async () => {
  await post({ ...ORDER, destinations: ["203.0.113.200"] });
  await post({ ...ORDER, name: "own" });
  // The rules of the network are tried there, too.
  expect(kernelRules()).toEqual([
    ["203.0.113.200/32", 3],
    ["203.0.113.0/24", 2],
  ]);
  const id =
    fresh.running.filters.operators.find(({ prefix }) => prefix.text === "203.0.113.200/32")?.rules[0]?.id ?? "";
  fresh.running.filters.dropped.set(id, 7);
  fresh.clock.advance(1000);
  expect((await list())[0]).toMatchObject({ name: "chargen", packets: 7, dropped_packets: 7 });
  for (const [line, value] of [
    ['svc_filter_rule_dropped_packets_total{rule="chargen"}', 7],
    ['svc_filter_rules{origin="order"}', 1],
    ['svc_filter_rules{origin="configuration"}', 2],
    ['svc_filter_rule_orders_refused_total{reason="name_configured"}', 1],
  ] as const)
    expect([line, await fresh.metric(line)]).toEqual([line, value]);
  // In dry run it is kept, and not in the kernel.
  await fresh.reload(CONFIG.replace("dry_run: false", "dry_run: true"));
  expect((await list())[0]).not.toContainKey("packets");
  // A destination that the configuration does not have any more.
  await fresh.reload(CONFIG.replace("203.0.113.0/24", "203.0.113.0/25"));
  expect(await names()).toEqual(["own", "last"]);
  expect(fresh.running.logged.some(({ msg }) => msg.startsWith("an ordered filter rule is not in force"))).toBe(true);
  await fresh.reload(CONFIG);
  expect(await names()).toEqual(["chargen", "own", "last"]);
  await fresh.restart();
  expect(await names()).toEqual(["chargen", "own", "last"]);
  // It ends at its time though the clock is set.
  fresh.clock.setWall("2030-01-01T00:00:00Z");
  fresh.clock.advance(50_000);
  expect(await names()).toContain("chargen");
  fresh.clock.advance(10_000);
  expect(await names()).not.toContain("chargen");
});
