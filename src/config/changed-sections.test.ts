import { expect, test } from "bun:test";
import { configOf } from "../../test/fixtures/config/parsed-config.ts";
import { changedSections } from "./changed-sections.ts";

const PLAIN = `networks: [192.0.2.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
ban: { ttl_seconds: 60 }
`;
const RULES = "dataplane: { interfaces: [eth0] }\nfilter_rules: [{ name: a, action: drop, protocol: udp }]\n";
const BGP =
  "bgp: { local_asn: 64500, router_id: 192.0.2.10, next_hop: 192.0.2.66, neighbors: [{ address: 192.0.2.1, remote_asn: 64501 }] }\n";
const DIVERT = `${BGP}scrubbing: { next_hop: 192.0.2.67 }\n`;

test.each([
  ["the same file", PLAIN, PLAIN, []],
  ["a threshold", PLAIN, PLAIN.replace("1000", "2000"), ["thresholds"]],
  ["the time of bans", PLAIN, PLAIN.replace("60", "61"), ["ban"]],
  ["a hostgroup", PLAIN, `${PLAIN}hostgroups: [{ name: web, networks: [192.0.2.0/25] }]\n`, ["hostgroups"]],
  ["a rule", PLAIN + RULES, PLAIN + RULES.replace("udp", "tcp"), ["filter_rules"]],
  ["dry run", PLAIN, `${PLAIN}dry_run: false\n`, ["dry_run"]],
  ["the enclosing prefix of blackholes", PLAIN + BGP, `${PLAIN}${BGP.replace("{ ", "{ announce_v4: 24, ")}`, ["bgp"]],
  [
    "that of diverts",
    PLAIN + DIVERT,
    PLAIN + DIVERT.replace("scrubbing: { ", "scrubbing: { announce_v4: 24, "),
    ["scrubbing"],
  ],
  ["who takes diverts", PLAIN + DIVERT, PLAIN + DIVERT.replace("2.67", "2.68"), ["scrubbing"]],
  ["what tenants may order", PLAIN, PLAIN.replace("60", "60, order_methods: [flowspec]"), ["ban.order_methods"]],
  ["a channel", PLAIN, `${PLAIN}notify: { webhook: { url_env: HOOK } }\n`, ["notify"]],
])("a reload that changes %s names it", (_, before, after, names) => {
  expect(changedSections(configOf(before), configOf(after))).toEqual(names);
});
