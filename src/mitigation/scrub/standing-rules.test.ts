import { describe, expect, test } from "bun:test";
import { parseConfig } from "../../config/load/load.ts";
import type { KernelRule } from "../rules/kernel-rules.ts";
import { matchText } from "../rules/rule.ts";
import { standingRules } from "./standing-rules.ts";

function rulesOf(text: string): readonly KernelRule[] {
  const common = "networks: [192.0.2.0/24, 2001:db8::/48]\nthresholds: {pps: 1000, mbps: 100, flows_per_sec: 500}\n";
  const dataplane = "dataplane: {interfaces: [eth0]}\n";
  const loaded = parseConfig(new TextEncoder().encode(common + dataplane + text));
  if (loaded.kind === "invalid") throw new Error(JSON.stringify(loaded.problems));
  return standingRules(loaded.config, 0);
}

function learned(text: string): string[] {
  return rulesOf(text).map(({ rule, inline }) => `${inline?.kind ?? "discard"} ${matchText(rule)}`);
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

test("a hostgroup that has a whole network has its own rules there alone", () => {
  const own = "hostgroups: [{name: web, networks: [192.0.2.0/24]";
  expect(learned(`mitigation: scrub\n${own}}]\n`)).toHaveLength(2);
  expect(learned(`mitigation: scrub\n${own}, scrub: {tcp: "off"}}]\n`)).toEqual(["learn dst 2001:db8::/48 proto tcp"]);
  expect(learned(`scrub: {always: true, source_packets_per_second: 0}\n${own}, scrub: {tcp: reset}}]\n`)).toEqual([
    "validate_reset dst 192.0.2.0/24 proto tcp",
    "validate_transparent dst 2001:db8::/48 proto tcp",
  ]);
});

describe("a hostgroup within a network that has standing rules", () => {
  const network = [
    "validate_transparent dst 192.0.2.0/24 proto tcp",
    "validate_transparent dst 2001:db8::/48 proto tcp",
  ];
  const ALWAYS = "scrub: {always: true, source_packets_per_second: 0}\n";

  test("is kept from those, whatever it does itself", () => {
    expect(learned(`${ALWAYS}${GROUP}, scrub: {always: false}}]\n`)).toEqual(["pass dst 192.0.2.0/28", ...network]);
    expect(learned(`${ALWAYS}${GROUP}, scrub: {tcp: "off", source_mbps: 8}}]\n`)).toEqual([
      "limit_source dst 192.0.2.0/28",
      "pass dst 192.0.2.0/28",
      ...network,
    ]);
    const services = "services: [{protocol: icmp}]";
    expect(learned(`${ALWAYS}${GROUP}, scrub: {tcp: "off", ${services}}}]\n`)).toEqual([
      "pass dst 192.0.2.0/28 proto icmp",
      "discard dst 192.0.2.0/28",
      ...network,
    ]);
  });

  test("in dry run is so by a rule that is none of it", () => {
    const config = `${ALWAYS}${GROUP}, scrub: {tcp: "off", dry_run: true, services: [{protocol: icmp}]}}]\n`;
    const made = rulesOf(config).slice(0, 3);
    expect(made.map(({ inline, isDryRun }) => [inline?.kind, isDryRun])).toEqual([
      ["pass", true],
      [undefined, true],
      ["pass", false],
    ]);
  });

  test("has one end for all of its prefixes, and those within another hostgroup have their own", () => {
    const nested = "hostgroups: [{name: web, networks: [192.0.2.0/26, 192.0.2.0/28, 192.0.2.8/32]";
    const games = "{name: games, networks: [192.0.2.8/30]}";
    expect(learned(`${ALWAYS}${nested}, scrub: {always: false}}, ${games}]\n`)).toEqual([
      "pass dst 192.0.2.8/32",
      "validate_transparent dst 192.0.2.8/30 proto tcp",
      "pass dst 192.0.2.8/30",
      "pass dst 192.0.2.0/26",
      ...network,
    ]);
  });

  test("has no end of its own where there are none, or sources are only remembered", () => {
    const all = ["learn dst 192.0.2.0/24 proto tcp", "learn dst 2001:db8::/48 proto tcp"];
    expect(learned(`mitigation: scrub\n${GROUP}, scrub: {tcp: "off"}}]\n`)).toEqual(all);
    expect(learned(`${GROUP}}]\n`)).toEqual([]);
    expect(learned(`${GROUP}, mitigation: scrub}]\n`)).toEqual(["learn dst 192.0.2.0/28 proto tcp"]);
  });
});

test("where a hostgroup is always scrubbed, its rules are there without an attack", () => {
  const own = learned(
    `${GROUP}, scrub: {always: true, profile: web, tcp: reset, services: [{protocol: tcp, ports: ["443"]}]}}]\n`,
  );
  expect(own).toEqual([
    "validate_reset dst 192.0.2.0/28 proto tcp",
    "limit_source dst 192.0.2.0/28 proto tcp tcp-flags syn,!ack",
    "limit_source dst 192.0.2.0/28",
    "pass dst 192.0.2.0/28 proto tcp dst-port 443",
    "discard dst 192.0.2.0/28",
  ]);
});
