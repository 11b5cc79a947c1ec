import { expect, test } from "bun:test";
import { configOf } from "../../test/fixtures/config/parsed-config.ts";
import { changedSections } from "./changed-sections.ts";

const PLAIN = `networks: [192.0.2.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
ban: { ttl_seconds: 60 }
`;
const RULES = "dataplane: { interfaces: [eth0] }\nfilter_rules: [{ name: a, action: drop, protocol: udp }]\n";

test.each([
  ["the same file", PLAIN, PLAIN, []],
  ["a threshold", PLAIN, PLAIN.replace("1000", "2000"), ["thresholds"]],
  ["the time of bans", PLAIN, PLAIN.replace("60", "61"), ["ban"]],
  ["a hostgroup", PLAIN, `${PLAIN}hostgroups: [{ name: web, networks: [192.0.2.0/25] }]\n`, ["hostgroups"]],
  ["a rule", PLAIN + RULES, PLAIN + RULES.replace("udp", "tcp"), ["filter_rules"]],
  ["dry run", PLAIN, `${PLAIN}dry_run: false\n`, ["dry_run"]],
  ["a channel", PLAIN, `${PLAIN}notify: { webhook: { url_env: HOOK } }\n`, ["notify"]],
])("a reload that changes %s names it", (_, before, after, names) => {
  expect(changedSections(configOf(before), configOf(after))).toEqual(names);
});
