import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { address } from "../../../test/fixtures/host-rows.ts";
import { communitiesOf } from "../../../test/fixtures/networks.ts";
import { ban, NOON, route } from "../../../test/fixtures/views.ts";
import { wideRule } from "../../mitigation/rules/rule.ts";
import { canonicalPrefix } from "../../net/prefix.ts";
import { exactly } from "../../net/range.ts";
import { BanWire, banToWire, ofTenant } from "./ban.ts";

const announced = { kind: "announced" } as const;

describe("ban", () => {
  test("of an attack has its metric, rate, threshold and route #ban-metric", () => {
    const wire = banToWire({ ban: ban(), routeState: announced });
    expect(wire).toEqual({
      target: "192.0.2.1",
      prefix: "192.0.2.1/32",
      metric: "pps",
      rate: 1500.123,
      threshold: 1000,
      next_hop: "192.0.2.254",
      community: "65535:666",
      route: "192.0.2.1/32 next-hop 192.0.2.254 community 65535:666",
      state: "active",
      dry_run: false,
      manual: false,
      started_at: "2026-03-01T12:00:00.000Z",
      expires_at: "2026-03-01T12:10:00.000Z",
      method: "blackhole",
      announced: true,
      announcement: "announced",
      attacks: ["a1"],
    });
    expect(Value.Check(BanWire, wire)).toBe(true);
  });

  test("by hand leaves out metric, rate and threshold", () => {
    const manual = ban({ manual: true, attackId: null, metric: null, rate: 0, threshold: 0 });
    const wire = banToWire({ ban: manual, routeState: announced });
    expect(wire).toMatchObject({ manual: true });
    for (const field of ["metric", "rate", "threshold", "local_pref"]) expect(wire).not.toHaveProperty(field);
  });

  test("of an attack that an operator took over leaves out the metric", () => {
    expect(banToWire({ ban: ban({ manual: true }), routeState: null })).not.toHaveProperty("metric");
  });

  test("joins communities by spaces and names a local preference that is set", () => {
    const withBoth = route("192.0.2.1", { communities: communitiesOf("65535:666", "64500:1"), localPref: 200 });
    expect(banToWire({ ban: ban({ route: withBoth }), routeState: announced })).toMatchObject({
      community: "65535:666 64500:1",
      local_pref: 200,
    });
    const communities = communitiesOf("4200000000:1:2", "blackhole", "rt:192.0.2.1:7", "ext:030b000000000064");
    const wire = banToWire({ ban: ban({ route: route("192.0.2.1", { communities }) }), routeState: announced });
    expect(wire).toMatchObject({
      community: "4200000000:1:2 65535:666 rt:192.0.2.1:7 ext:030b000000000064",
      route: "192.0.2.1/32 next-hop 192.0.2.254 community 4200000000:1:2 65535:666 rt:192.0.2.1:7 ext:030b000000000064",
    });
  });

  test("left_out_rules are those that its node does not get, for tokens that see the nodes #ban-left-out-rules", () => {
    const view = { ban: ban(), routeState: announced, leftOutRules: 2 };
    expect(banToWire(ofTenant(view, null))).toMatchObject({ left_out_rules: 2 });
    for (const none of [ofTenant(view, "acme"), { ...view, leftOutRules: 0 }]) {
      expect(banToWire(none)).not.toHaveProperty("left_out_rules");
    }
  });

  test("that a neighbor has not been sent says so, to tokens that see the neighbors", () => {
    const missing = [{ neighbor: "192.0.2.3", cause: "no session" }];
    const view = { ban: ban(), routeState: { kind: "announced", missingAt: missing } } as const;
    expect(banToWire(ofTenant(view, null))).toMatchObject({ announced: true, missing_at: missing });
    expect(banToWire(ofTenant(view, "acme"))).not.toHaveProperty("missing_at");
    expect(banToWire(ofTenant(view, "acme"))).toMatchObject({ announced: true });
  });

  test("kept_from names the neighbors that are not to get it, which reached does not count #ban-kept-from", () => {
    const keptFrom = [{ neighbor: "192.0.2.3", cause: "it is in dry run" }];
    const view = { ban: ban(), routeState: { kind: "announced", sentTo: ["192.0.2.2"], keptFrom } } as const;
    expect(banToWire(ofTenant(view, null))).toMatchObject({ kept_from: keptFrom, reached: { neighbors: 1, of: 1 } });
    expect(Value.Check(BanWire, banToWire(view))).toBe(true);
    expect(banToWire(ofTenant(view, "acme"))).not.toHaveProperty("kept_from");
  });

  test("limited_at and neighbor_rules say what neighbors have in place of the rules #ban-limited-at #ban-neighbor-rules", () => {
    const rule = wideRule(canonicalPrefix("192.0.2.1/32"), { kind: "discard" });
    const neighborRules = [{ support: "", neighbors: ["192.0.2.3"], rules: [rule], leftOut: 2 }];
    const found = { rules: [rule], matchesAll: false, localPref: 0, basis: "" };
    const own = ban({ method: "flowspec", measure: { kind: "flowspec", ...found, neighborRules } });
    const limitedAt = [{ neighbor: "192.0.2.3", leftOut: 2, cause: "its policy allows only a part of the rules" }];
    const view = { ban: own, routeState: { kind: "announced", sentTo: ["192.0.2.3"], limitedAt } } as const;
    expect(banToWire(ofTenant(view, null))).toMatchObject({
      limited_at: [{ neighbor: "192.0.2.3", left_out: 2, cause: "its policy allows only a part of the rules" }],
      neighbor_rules: [{ neighbors: ["192.0.2.3"], rules: ["dst 192.0.2.1/32 discard"], left_out: 2 }],
    });
    expect(Value.Check(BanWire, banToWire(view))).toBe(true);
    for (const field of ["limited_at", "neighbor_rules"])
      expect(banToWire(ofTenant(view, "acme"))).not.toHaveProperty(field);
  });

  test("sent_to names the neighbors that have it, to tokens that see the neighbors #ban-sent-to", () => {
    const view = { ban: ban(), routeState: { kind: "announced", sentTo: ["192.0.2.2"] } } as const;
    expect(banToWire(ofTenant(view, null))).toMatchObject({ announced: true, sent_to: ["192.0.2.2"] });
    expect(Value.Check(BanWire, banToWire(view))).toBe(true);
    expect(banToWire(ofTenant(view, "acme"))).not.toHaveProperty("sent_to");
    expect(banToWire({ ban: ban(), routeState: announced })).not.toHaveProperty("sent_to");
  });

  test("reached says how many neighbors have it, also to those who do not see which", () => {
    const missing = [{ neighbor: "192.0.2.3", cause: "no session" }];
    const routeState = { kind: "announced", sentTo: ["192.0.2.2"], missingAt: missing } as const;
    const view = { ban: ban(), routeState };
    for (const tenant of [null, "acme"]) {
      expect(banToWire(ofTenant(view, tenant))).toMatchObject({ reached: { neighbors: 1, of: 2 } });
    }
    expect(Value.Check(BanWire, banToWire(ofTenant(view, "acme")))).toBe(true);
    expect(banToWire({ ban: ban(), routeState: announced })).not.toHaveProperty("reached");
    expect(banToWire({ ban: ban({ dryRun: true }), routeState })).not.toHaveProperty("reached");
  });

  test("node_idle says that its scrub node gets nothing", () => {
    const view = { ban: ban(), routeState: announced };
    expect(banToWire(ofTenant({ ...view, isNodeIdle: true }, "acme"))).toMatchObject({ node_idle: true });
    expect(banToWire({ ...view, isNodeIdle: false })).not.toHaveProperty("node_idle");
  });

  test("maybe_invalid_at names the neighbors that may find its rules invalid, to the same tokens", () => {
    const there = ["192.0.2.2"];
    const view = { ban: ban(), routeState: { kind: "announced", sentTo: there, maybeInvalidAt: there } } as const;
    expect(banToWire(ofTenant(view, null))).toMatchObject({ maybe_invalid_at: there });
    expect(Value.Check(BanWire, banToWire(view))).toBe(true);
    expect(banToWire(ofTenant(view, "acme"))).not.toHaveProperty("maybe_invalid_at");
  });

  test.each([
    [{ kind: "pending" }, "pending"],
    [{ kind: "no_session" }, "no_session"],
    [{ kind: "announced" }, "announced"],
    [{ kind: "failed", cause: "x" }, "failed"],
    [{ kind: "speaker_down", cause: "x" }, "speaker_down"],
  ] as const)("announcement, of a route that is %j: %s #ban-announcement", (routeState, expected) => {
    const wire = banToWire({ ban: ban(), routeState });
    expect(wire).toMatchObject({ announcement: expected });
    expect(Value.Check(BanWire, wire)).toBe(true);
    expect(banToWire({ ban: ban({ state: "withdrawn" }), routeState })).not.toHaveProperty("announcement");
    expect(banToWire({ ban: ban(), routeState: null })).not.toHaveProperty("announcement");
  });

  test("without a speaker has prefix and method for a route, and says that it is not announced", () => {
    const wire = banToWire({ ban: ban({ route: null }), routeState: null });
    expect(wire).toMatchObject({ state: "active", announced: false, route: "192.0.2.1/32 blackhole" });
    for (const field of ["next_hop", "community"]) expect(wire).not.toHaveProperty(field);
  });

  test.each([
    [{ kind: "pending" }, false],
    [{ kind: "no_session" }, false],
    [{ kind: "announced" }, true],
  ] as const)("announced, of a route that is %j: %p #ban-announced", (routeState, expected) => {
    const wire = banToWire({ ban: ban(), routeState });
    expect(wire).toMatchObject({ announced: expected });
    expect(wire).not.toHaveProperty("announce_error");
  });

  test("announce_error says why the speaker refused it #ban-announce-error", () => {
    const routeState = { kind: "failed", cause: "bad next hop" } as const;
    expect(banToWire({ ban: ban(), routeState })).toMatchObject({
      announced: false,
      announce_error: "bgp announce failed: bad next hop",
    });
  });

  test("that is virtual or over says nothing of announcement", () => {
    const withdrawn = ban({ state: "withdrawn", withdrawnAt: NOON + 1, reason: "manual unban" });
    expect(banToWire({ ban: withdrawn, routeState: null })).not.toHaveProperty("announced");
    expect(banToWire({ ban: withdrawn, routeState: null })).toMatchObject({
      state: "withdrawn",
      withdrawn_at: "2026-03-01T12:00:00.001Z",
      reason: "manual unban",
    });
    expect(banToWire({ ban: ban({ dryRun: true }), routeState: null })).not.toHaveProperty("announced");
  });

  test("dropped_packets and dropped_bytes are what was dropped for it on this machine, where that is known #ban-dropped", () => {
    const dropped = { packets: 3, bytes: 180 };
    const wire = banToWire({ ban: ban(), routeState: null, dropped });
    expect(wire).toMatchObject({ dropped_packets: 3, dropped_bytes: 180 });
    expect(Value.Check(BanWire, wire)).toBe(true);
    expect(banToWire({ ban: ban(), routeState: null, dropped: null })).not.toHaveProperty("dropped_packets");
  });

  test("with a ladder shows it and its rung; without one, neither", () => {
    const escalation = [
      { afterSeconds: 0, action: "none" },
      { afterSeconds: 60, action: "divert" },
    ] as const;
    expect(banToWire({ ban: ban({ escalation, step: 1 }), routeState: announced })).toMatchObject({
      escalation: [
        { after_seconds: 0, action: "none" },
        { after_seconds: 60, action: "divert" },
      ],
      escalation_step: 1,
    });
    for (const field of ["escalation", "escalation_step", "fallback", "repeat", "hold_until", "flowspec"]) {
      expect(banToWire({ ban: ban(), routeState: announced })).not.toHaveProperty(field);
    }
  });

  test("by FlowSpec shows its rules, and their summary for a route", () => {
    const { prefix } = ban();
    const rules = [{ ...wideRule(prefix, { kind: "discard" }), protocols: exactly(17) }];
    const measure = { kind: "flowspec", rules, matchesAll: false, localPref: 0, basis: "" } as const;
    const wire = banToWire({ ban: ban({ method: "flowspec", measure }), routeState: announced });
    expect(wire).toMatchObject({
      method: "flowspec",
      route: "dst 192.0.2.1/32 proto udp discard",
      flowspec: [{ dst: "192.0.2.1/32", proto: 17, action: "discard" }],
    });
    for (const field of ["next_hop", "community", "matches_all"]) expect(wire).not.toHaveProperty(field);
    expect(Value.Check(BanWire, wire)).toBe(true);
  });

  test("attacks are those in progress for which it is renewed #ban-attacks", () => {
    const wire = banToWire({ ban: ban({ heldBy: ["a1", "a2"] }), routeState: announced });
    expect(wire).toMatchObject({ attacks: ["a1", "a2"] });
    expect(Value.Check(BanWire, wire)).toBe(true);
    for (const over of [{ heldBy: [] }, { heldBy: ["a1"], state: "withdrawn" }] as const) {
      expect(banToWire({ ban: ban(over), routeState: announced })).not.toHaveProperty("attacks");
    }
  });

  test("matches_all is there where nothing narrower than all traffic was found #ban-matches-all", () => {
    const { prefix } = ban();
    const rules = [wideRule(prefix, { kind: "discard" })];
    const measure = { kind: "flowspec", rules, matchesAll: true, localPref: 0, basis: "" } as const;
    const wire = banToWire({ ban: ban({ method: "flowspec", measure }), routeState: announced });
    expect(wire).toMatchObject({ matches_all: true });
    expect(Value.Check(BanWire, wire)).toBe(true);
  });

  test("that only watches has prefix and method for a route", () => {
    const wire = banToWire({ ban: ban({ measure: { kind: "none" } }), routeState: null });
    expect(wire).toMatchObject({ method: "blackhole", announced: false, route: "192.0.2.1/32 blackhole" });
    for (const field of ["next_hop", "community"]) expect(wire).not.toHaveProperty(field);
  });

  test("fallback says why it stands in for another #ban-fallback", () => {
    const wire = banToWire({ ban: ban({ fallback: "refused" }), routeState: announced });
    expect(wire).toMatchObject({ fallback: "refused" });
    expect(Value.Check(BanWire, wire)).toBe(true);
  });

  test("repeat and hold_until say that it holds #ban-repeat", () => {
    const wire = banToWire({ ban: ban({ repeat: 2, holdUntil: NOON }), routeState: announced });
    expect(wire).toMatchObject({ repeat: 2, hold_until: "2026-03-01T12:00:00.000Z" });
    expect(Value.Check(BanWire, wire)).toBe(true);
  });

  test("of a prefix has that, and its first address for a target", () => {
    const prefix = canonicalPrefix("192.0.2.0/24");
    const wide = banToWire({ ban: { ...ban(), prefix, target: prefix.address }, routeState: announced });
    expect(wide).toMatchObject({ target: "192.0.2.0", prefix: "192.0.2.0/24" });
    expect(Value.Check(BanWire, wide)).toBe(true);
  });

  test("of IPv6 has a /128", () => {
    const v6 = ban({ target: "2001:db8::1", route: route("2001:db8::1", { nextHop: address("100::1") }) });
    expect(banToWire({ ban: v6, routeState: announced })).toMatchObject({
      target: "2001:db8::1",
      prefix: "2001:db8::1/128",
      next_hop: "100::1",
    });
  });
});

test("the operator of a ban is named, but not to a tenant", () => {
  const view = { ban: ban({ manual: true, operator: "noc" }), routeState: null };
  expect(banToWire(ofTenant(view, null))).toMatchObject({ operator: "noc" });
  expect(banToWire(ofTenant(view, "acme"))).not.toHaveProperty("operator");
  expect(banToWire({ ...view, ban: ban({ manual: true }) })).not.toHaveProperty("operator");
});
