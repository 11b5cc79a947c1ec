import { describe, expect, test } from "bun:test";
import { configOf } from "../../../test/fixtures/config/parsed-config.ts";
import { communitiesOf } from "../../../test/fixtures/networks.ts";
import type { Config } from "../config.ts";

const BASE = `networks: [192.0.2.0/24, "2001:db8::/32"]
thresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}
`;
const GROUP = "hostgroups:\n  - name: web\n    networks: [192.0.2.0/25]\n";
const BGP = `bgp:
  {local_asn: 64500, router_id: 192.0.2.10, next_hop: 192.0.2.66, neighbors: [{address: 192.0.2.1, remote_asn: 64501}]}
`;

/** Of `global` and, where there is one, of the group. */
function mitigationsOf(text: string): Config["mitigations"] {
  return configOf(BASE + text).mitigations;
}

describe("a hostgroup", () => {
  test("does as all others what it says nothing of", () => {
    const text = `mitigation: flowspec\nflowspec: {action: rate_limit, rate_mbps: 8}\nban: {fallback: none}\n${BGP}${GROUP}`;
    const [global, web] = mitigationsOf(text);
    expect(web).toEqual(global as NonNullable<typeof global>);
    expect(web).toMatchObject({
      method: "flowspec",
      ladder: [{ afterSeconds: 0, action: "flowspec" }],
      flowspec: { action: { kind: "rate_limit", bytesPerSecond: 1_000_000 } },
      ban: { fallback: "none", ttlSeconds: 600 },
      blackhole: { nextHop: "192.0.2.66", nextHop6: "100::1", communities: communitiesOf("65535:666"), localPref: 0 },
      divert: null,
    });
  });

  test("has its own bans, routes and rules, key by key", () => {
    const [global, web] = mitigationsOf(
      `${BGP}ban: {ttl_seconds: 60}\nflowspec: {action: rate_limit, rate_mbps: 8, source_anchored: true}\n${GROUP}` +
        "    ban: {cooldown_seconds: 30}\n    bgp: {communities: [no-export, soo:64500:1, 64500:1:2]}\n    flowspec: {action: discard}\n" +
        "    mitigation: divert\n    scrubbing: {next_hop6: 2001:db8::9, local_pref: 200}\n",
    );
    expect(web).toMatchObject({
      ban: { ttlSeconds: 60, cooldownSeconds: 30 },
      flowspec: { action: { kind: "discard" }, sourceAnchored: true },
      blackhole: { nextHop: "192.0.2.66", communities: communitiesOf("65535:65281", "soo:64500:1", "64500:1:2") },
      divert: { nextHop: null, nextHop6: "2001:db8::9", communities: [], localPref: 200 },
    });
    expect(global).toMatchObject({ ban: { cooldownSeconds: 0 }, divert: null });
  });

  test("with a method of its own does not climb the ladder of all others", () => {
    const ladder = "escalation: [{after_seconds: 0, action: none}, {after_seconds: 9, action: blackhole}]\n";
    expect(mitigationsOf(`${ladder}${GROUP}`)[1]).toMatchObject({ hasEscalation: true, ladder: { length: 2 } });
    expect(mitigationsOf(`${ladder}${GROUP}    mitigation: flowspec\n`)[1]).toMatchObject({
      hasEscalation: false,
      ladder: [{ afterSeconds: 0, action: "flowspec" }],
    });
    const own = "    escalation: [{after_seconds: 0, action: flowspec}]\n";
    expect(mitigationsOf(`${ladder}${GROUP}${own}`)[1]).toMatchObject({ hasEscalation: true, ladder: { length: 1 } });
  });
});
