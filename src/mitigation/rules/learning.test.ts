import { expect, test } from "bun:test";
import { parseConfig } from "../../config/load/load.ts";
import { learningRules } from "./learning.ts";

function learned(text: string): string[] {
  const common = "networks: [192.0.2.0/24, 2001:db8::/48]\nthresholds: {pps: 1000, mbps: 100, flows_per_sec: 500}\n";
  const dataplane = "dataplane: {interfaces: [eth0]}\n";
  const loaded = parseConfig(new TextEncoder().encode(common + dataplane + text));
  if (loaded.kind === "invalid") throw new Error(JSON.stringify(loaded.problems));
  const rules = learningRules(loaded.config, 0);
  for (const { rule, validation } of rules) expect([rule.protocol, validation]).toEqual([6, { kind: "learn" }]);
  return rules.map(({ id }) => id);
}

const GROUP = "hostgroups: [{name: web, networks: [192.0.2.0/28]";

test("sources are learned for all networks where bans scrub, on any rung or as the fallback", () => {
  const all = ["learn/192.0.2.0/24", "learn/2001:db8::/48"];
  expect(learned("")).toEqual([]);
  expect(learned("mitigation: scrub\n")).toEqual(all);
  const ladder = "[{after_seconds: 0, action: scrub}, {after_seconds: 60, action: blackhole}]";
  expect(learned(`escalation: ${ladder}\n`)).toEqual(all);
  expect(learned("mitigation: flowspec\nban: {fallback: scrub}\n")).toEqual(all);
});

test("a hostgroup's own method and ways count for its networks", () => {
  expect(learned(`${GROUP}, mitigation: scrub}]\n`)).toEqual(["learn/192.0.2.0/28"]);
  expect(learned(`${GROUP}, mitigation: scrub, scrub: {tcp: "off"}}]\n`)).toEqual([]);
  expect(learned(`mitigation: scrub\nscrub: {tcp: "off"}\n`)).toEqual([]);
});
