import { describe, expect, test } from "bun:test";
import { configOf } from "../../../test/fixtures/config/parsed-config.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import { mitigationPolicy } from "../../mitigation/policy.ts";
import { carpetPolicy } from "../judge/policy.ts";
import { CarpetBounds } from "./carpet-bounds.ts";

const CONFIG = `
networks: [10.0.0.0/16, 192.0.2.128/25, "2001:db8::/32"]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
protected_whitelist: [10.0.9.53, 10.0.64.0/18, "2001:db8:1::53"]
hostgroups:
  - { name: web, networks: [10.0.1.0/24, "2001:db8:2::/48"], flowspec: { source_anchored: true } }
  - { name: dns, networks: [10.0.2.53/32] }
carpet: { thresholds: { pps: 5000 }, mitigation: flowspec }
`;

describe("a prefix", () => {
  const config = configOf(CONFIG);
  const bounds = new CarpetBounds(config);

  test.each([
    ["10.0.1.0/24", null],
    ["10.0.16.0/20", null],
    ["192.0.2.128/25", null],
    ["2001:db8:2::/48", null],
    ["2001:db8:10::/44", null],
    ["10.0.9.0/24", "whitelisted"],
    ["10.0.8.0/22", "whitelisted"],
    ["10.0.65.0/24", "whitelisted"],
    ["10.0.0.0/16", "whitelisted"],
    ["2001:db8:1::/48", "whitelisted"],
    ["192.0.2.0/24", "outside configured networks"],
    ["203.0.113.0/24", "outside configured networks"],
    ["2001:db8::/31", "whitelisted"],
    ["10.0.2.0/24", "prefix spans hostgroups"],
    ["10.0.0.0/23", "prefix spans hostgroups"],
    ["10.0.128.0/19", "prefix wider than carpet allows"],
    ["2001:db8:20::/43", "prefix wider than carpet allows"],
  ])("%s: %p", (text, expected) => {
    expect(bounds.refusalOf(prefix(text))).toBe(expected as ReturnType<CarpetBounds["refusalOf"]>);
    // What is kept is the same.
    expect(bounds.refusalOf(prefix(text))).toBe(expected as ReturnType<CarpetBounds["refusalOf"]>);
    expect(carpetPolicy(config).isBannable?.(prefix(text))).toBe(expected === null);
  });
});

describe("what is done for a prefix", () => {
  test("is the carpet's own, under the terms of its hostgroup, and nothing stands in for it", () => {
    const { spread } = mitigationPolicy(configOf(CONFIG));
    expect(spread?.termsOf(prefix("10.0.1.0/24"))).toMatchObject({
      group: "web",
      method: "flowspec",
      ladder: [{ afterSeconds: 0, action: "flowspec" }],
      hasEscalation: false,
      flowspec: { sourceAnchored: true },
      ban: { fallback: "none", ttlSeconds: 600 },
    });
    expect(spread?.termsOf(prefix("10.0.16.0/20"))).toMatchObject({ group: "global" });
    expect(spread?.termsOf(prefix("10.0.16.0/20"))).toBe(spread?.termsOf(prefix("10.0.32.0/20")));
  });

  test.each(["carpet: { thresholds: { pps: 5000 } }", "dry_run: true"])("is nothing with %s", (section) => {
    const config = configOf(CONFIG.replace(/carpet: .*/, section));
    expect(mitigationPolicy(config).spread).toBeNull();
    expect(carpetPolicy(config).isBannable).toBeNull();
  });
});
