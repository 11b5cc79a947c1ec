/** What a change of the configuration is, in words. */
import { expect, test } from "bun:test";
import { configOf } from "../../test/fixtures/config/parsed-config.ts";
import { changeTexts, configChanges } from "./config-changes.ts";

const CONFIG = "networks: [203.0.113.0/24]\nthresholds: { pps: 1000, mbps: 10, flows_per_sec: 10 }\n";
const bgp = (neighbors: string, more = "") =>
  `bgp: { local_asn: 64500, router_id: 192.0.2.10, next_hop: 192.0.2.66, ${more} neighbors: [${neighbors}] }\n`;
const changes = (before: string, after: string) => changeTexts(configChanges(configOf(before), configOf(after)));

test("how bans act, which neighbors and policies change, and no secret of these", () => {
  const one = "{ address: 192.0.2.1, remote_asn: 64501 }";
  const changed = "{ address: 192.0.2.1, remote_asn: 64501, dry_run: true, password_file: /secret }";
  const other = `${changed}, { address: 192.0.2.2, remote_asn: 64502, policy: edge }`;
  const before = `${CONFIG}${bgp(one)}mitigation: flowspec\nthresholds_outgoing: { pps: 9 }\n`;
  const after = `${CONFIG}${bgp(other, "local_pref: 7, communities: ['64500:1'], policies: [{ name: edge }],")}
escalation: [{ after_seconds: 0, action: flowspec }, { after_seconds: 60, action: blackhole }]
dry_run_directions: [outgoing]
ban: { ttl_seconds: 77 }
`;
  expect(changes(before, after)).toEqual([
    "thresholds: outgoing pps: 9 → none",
    "mitigation: flowspec → blackhole",
    "escalation: flowspec at 0 s → flowspec at 0 s, blackhole at 60 s",
    "ban: ttl_seconds: 600 → 77",
    "ban.order_methods: flowspec → flowspec, blackhole",
    "bgp: neighbors added: 192.0.2.2",
    "bgp: neighbors changed: 192.0.2.1",
    "bgp: policies added: edge",
    "bgp: local_pref: 0 → 7",
    "bgp: communities: 65535:666 → 64500:1",
    "dry_run_directions: none → outgoing",
  ]);
  expect(changes(after, after)).toEqual([]);
});

test("who takes diverts, by which nodes, and what is announced in place of a longer prefix", () => {
  const scrubbing = (terms: string) =>
    `${CONFIG}${bgp("{ address: 192.0.2.1, remote_asn: 64501 }")}scrubbing: { ${terms} }\n`;
  const node = "nodes: [{ name: s1, next_hop: 192.0.2.7 }]";
  expect(changes(scrubbing("next_hop: 192.0.2.5"), scrubbing(`next_hop: 192.0.2.6, announce_v4: 24, ${node}`))).toEqual(
    ["scrubbing: nodes added: s1", "scrubbing: next_hop: 192.0.2.5 → 192.0.2.6", "scrubbing: announce_v4: none → 24"],
  );
});

test("a change beyond the shown characters of a value is said", () => {
  const one = "{ address: 192.0.2.1, remote_asn: 64501 }";
  const communities = (last: string) =>
    CONFIG + bgp(one, `communities: [${Array.from({ length: 9 }, (_, i) => `'64500:${i}'`).join()}, '${last}'],`);
  expect(changes(communities("64500:10"), communities("64500:11"))).toEqual(["bgp: communities: changed"]);
});

test("a section that comes or goes as a whole", () => {
  const spread = `${CONFIG}carpet: { thresholds: { pps: 5 } }\n`;
  expect(changes(CONFIG, spread).join()).toContain("carpet: ");
  expect(changes(spread, CONFIG).join()).toContain(" → none");
});
