import { expect, test } from "bun:test";
import { parseConfig } from "../../config/load/load.ts";
import { matchText } from "../rules/rule.ts";
import { standingPlaces, standingRules } from "./standing-rules.ts";

function learned(text: string): string[] {
  const common = "networks: [192.0.2.0/24, 2001:db8::/48]\nthresholds: {pps: 1000, mbps: 100, flows_per_sec: 500}\n";
  const dataplane = "dataplane: {interfaces: [eth0]}\n";
  const loaded = parseConfig(new TextEncoder().encode(common + dataplane + text));
  if (loaded.kind === "invalid") throw new Error(JSON.stringify(loaded.problems));
  return standingRules(standingPlaces(loaded.config, []), [], 0).map(
    ({ rule, inline }) => `${inline?.kind ?? "discard"} ${matchText(rule)}`,
  );
}

const GROUP = "hostgroups: [{name: web, networks: [192.0.2.0/28]";

test("sources are learned for all networks where bans scrub, on any rung or as the fallback", () => {
  const all = ["learn dst 192.0.2.0/24 proto tcp", "learn dst 2001:db8::/48 proto tcp"];
  expect(learned("")).toEqual([]);
  expect(learned("mitigation: scrub\n")).toEqual(all);
  const ladder = "[{after_seconds: 0, action: scrub}, {after_seconds: 60, action: blackhole}]";
  expect(learned(`escalation: ${ladder}\n`)).toEqual(all);
  expect(learned("mitigation: flowspec\nban: {fallback: scrub}\n")).toEqual(all);
});

test("a hostgroup's own method and ways count for its networks", () => {
  expect(learned(`${GROUP}, mitigation: scrub}]\n`)).toEqual(["learn dst 192.0.2.0/28 proto tcp"]);
  expect(learned(`${GROUP}, mitigation: scrub, scrub: {tcp: "off"}}]\n`)).toEqual([]);
  expect(learned(`mitigation: scrub\nscrub: {tcp: "off"}\n`)).toEqual([]);
});

test("where a hostgroup is always scrubbed, its rules are there without an attack", () => {
  const own = learned(`${GROUP}, scrub: {always: true, tcp: reset, services: [{protocol: tcp, ports: ["443"]}]}}]\n`);
  expect(own).toEqual([
    "validate_reset dst 192.0.2.0/28 proto tcp",
    "pass dst 192.0.2.0/28 proto tcp dst-port 443",
    "discard dst 192.0.2.0/28",
  ]);
});
