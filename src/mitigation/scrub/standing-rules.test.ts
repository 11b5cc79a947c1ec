import { describe, expect, test } from "bun:test";
import { configOf } from "../../../test/fixtures/config/parsed-config.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import { ban } from "../../../test/fixtures/views.ts";
import type { Config } from "../../config/config.ts";
import type { Ban } from "../ban.ts";
import { type ActiveChoice, judgeChoice } from "../protection/choice.ts";
import { matchText } from "../rules/match.ts";
import { wideRule } from "../rules/rule.ts";
import { standingPlaces, standingRules } from "./standing-rules.ts";

const COMMON = `networks: [192.0.2.0/24, 2001:db8::/48]
thresholds: {pps: 1000, mbps: 100, flows_per_sec: 500}
dataplane: {interfaces: [eth0]}
`;

/** Choices as `[prefix, profile, always]`. */
type Chosen = readonly (readonly [text: string, profile: string, always: boolean])[];

function rulesOf(config: Config, chosen: Chosen, bans: readonly Ban[]) {
  const choices = chosen.map(([text, profile, always]): ActiveChoice => {
    const rest = { note: "", operator: "", tenant: null, chosenAt: 0 };
    const judged = judgeChoice({ prefix: text, profile, always, ...rest }, config);
    if (judged.kind === "inactive") throw new Error(judged.cause);
    return judged;
  });
  return standingRules(standingPlaces(config, choices), bans, 0);
}

function learned(text: string, chosen: Chosen = [], bans: readonly Ban[] = []): string[] {
  return rulesOf(configOf(COMMON + text), chosen, bans).map(({ rule }) => `${rule.action.kind} ${matchText(rule)}`);
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
  const scrubbed = "scrub: {always: true, source_packets_per_second: 0}\n";

  test("is kept from those, whatever it does itself", () => {
    expect(learned(`${scrubbed}${GROUP}, scrub: {always: false}}]\n`)).toEqual(["pass dst 192.0.2.0/28", ...network]);
    expect(learned(`${scrubbed}${GROUP}, scrub: {tcp: "off", source_mbps: 8}}]\n`)).toEqual([
      "limit_source dst 192.0.2.0/28",
      "pass dst 192.0.2.0/28",
      ...network,
    ]);
    const services = "services: [{protocol: icmp}]";
    expect(learned(`${scrubbed}${GROUP}, scrub: {tcp: "off", ${services}}}]\n`)).toEqual([
      "pass dst 192.0.2.0/28 proto icmp",
      "discard dst 192.0.2.0/28",
      ...network,
    ]);
  });

  test("in dry run is so by a rule that is none of it", () => {
    const config = `${scrubbed}${GROUP}, scrub: {tcp: "off", dry_run: true, services: [{protocol: icmp}]}}]\n`;
    const made = rulesOf(configOf(COMMON + config), [], []).filter(({ rule }) => rule.destination?.length === 28);
    expect(made.map(({ rule, isDryRun }) => [rule.action.kind, isDryRun])).toEqual([
      ["pass", true],
      ["discard", true],
      ["pass", false],
    ]);
  });

  test("has an end at each of its prefixes, and those within another hostgroup have their own", () => {
    const nested = "hostgroups: [{name: web, networks: [192.0.2.0/26, 192.0.2.0/28, 192.0.2.8/32]";
    const games = "{name: games, networks: [192.0.2.8/30]}";
    expect(learned(`${scrubbed}${nested}, scrub: {always: false}}, ${games}]\n`)).toEqual([
      "pass dst 192.0.2.8/32",
      "validate_transparent dst 192.0.2.8/30 proto tcp",
      "pass dst 192.0.2.8/30",
      "pass dst 192.0.2.0/28",
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

const GAME =
  "scrub_profiles: [{name: bare, source_packets_per_second: 9}, {name: only, services: [{protocol: gre}]}]\n";
const ALWAYS = `${GAME}mitigation: scrub\nscrub: {always: true, tcp: "off", services: [{protocol: icmp}]}\n`;
const NETWORK = ["pass dst 192.0.2.0/24 proto icmp", "discard dst 192.0.2.0/24"];
const NETWORK_6 = ["discard dst 2001:db8::/48"];
const of = (rules: readonly string[], text: string) => rules.filter((rule) => rule.includes(`dst ${text}`));
const VALIDATES = (text: string) => `validate_transparent dst ${text} proto tcp`;

test("the longest prefix decides: a choice in one that is always scrubbed has its own rules, which end there", () => {
  const rules = learned(ALWAYS, [
    ["192.0.2.0/28", "only", true],
    ["192.0.2.1/32", "bare", true],
    ["192.0.2.2/32", "only", false],
  ]);
  expect(of(rules, "192.0.2.0/24")).toEqual(NETWORK);
  expect(of(rules, "2001:db8::/48")).toEqual(NETWORK_6);
  const only = ["pass dst 192.0.2.0/28 proto gre", "discard dst 192.0.2.0/28"];
  expect(of(rules, "192.0.2.0/28")).toEqual([VALIDATES("192.0.2.0/28"), ...only]);
  const bare = ["limit_source dst 192.0.2.1/32", "pass dst 192.0.2.1/32"];
  expect(of(rules, "192.0.2.1/32")).toEqual([VALIDATES("192.0.2.1/32"), ...bare]);
  // Only while attacked: until then its sources are learned, and the rules around it are not for it.
  expect(of(rules, "192.0.2.2/32")).toEqual(["learn dst 192.0.2.2/32 proto tcp", "pass dst 192.0.2.2/32"]);
});

test("a hostgroup in one that is always scrubbed is not, where it says so", () => {
  const rules = learned(`${ALWAYS}${GROUP}, scrub: {always: false, tcp: "off"}}]\n`);
  expect(of(rules, "192.0.2.0/28")).toEqual(["pass dst 192.0.2.0/28"]);
});

test("what is only counted does not end the rules of its prefix", () => {
  const rules = learned(ALWAYS.replace("{always", "{dry_run: true, always"), [["192.0.2.1/32", "only", true]]);
  expect(of(rules, "192.0.2.1/32").at(-1)).toBe("pass dst 192.0.2.1/32");
});

test("a scrub ban of the same prefix takes the place of its rules, and a ban around it is not cut off", () => {
  const scrub = configOf(COMMON + ALWAYS).mitigations[0]?.scrub;
  if (scrub === undefined) throw new Error("there is one");
  const rule = wideRule(prefix("192.0.2.1/32"), { kind: "discard" });
  const rules = { kind: "flowspec", rules: [rule], matchesAll: false, localPref: 0, basis: "" } as const;
  const own = ban({ target: "192.0.2.1", measure: { kind: "scrub", rules, filter: scrub } });
  const chosen: Chosen = [["192.0.2.1/32", "bare", true]];
  expect(of(learned(ALWAYS, chosen, [own]), "192.0.2.1/32")).toEqual(["pass dst 192.0.2.1/32"]);
  const around = { ...ban({ target: "192.0.2.0", measure: rules }), prefix: prefix("192.0.2.0/25") };
  const bare = [VALIDATES("192.0.2.1/32"), "limit_source dst 192.0.2.1/32"];
  expect(of(learned(ALWAYS, chosen, [around]), "192.0.2.1/32")).toEqual(bare);
});

test("who attacks is not learned: a prefix in one that a ban scrubs has no rule for it, unless that only counts", () => {
  const scrub = configOf(`${COMMON}mitigation: scrub\n`).mitigations[0]?.scrub;
  if (scrub === undefined) throw new Error("there is one");
  const rules = { kind: "flowspec", rules: [], matchesAll: false, localPref: 0, basis: "" } as const;
  const around = (countsOnly: boolean) => ({
    ...ban({ target: "192.0.2.0", measure: { kind: "scrub", rules, filter: { ...scrub, countsOnly } } }),
    prefix: prefix("192.0.2.0/26"),
  });
  const learning = (countsOnly: boolean) => learned(`${GROUP}, mitigation: scrub}]\n`, [], [around(countsOnly)]);
  expect(learning(false)).toEqual([]);
  expect(learning(true)).toEqual(["learn dst 192.0.2.0/28 proto tcp"]);
});

test("ids fit the kernel for the longest prefix, and differ", () => {
  const text = "2001:db8:0:1111:2222:3333:4444:5555/128";
  const ids = rulesOf(configOf(COMMON + ALWAYS), [[text, "web", true]], []).map(({ id }) => id);
  expect(ids.filter((id) => Buffer.byteLength(id) > 63)).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
});
