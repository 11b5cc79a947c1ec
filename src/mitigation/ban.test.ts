import { describe, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { hostPrefix } from "../net/prefix.ts";
import type { UnicastRoute } from "./announcer.ts";
import { type Ban, type BanEvent, next, routeText } from "./ban.ts";

const target = address("192.0.2.1");
const route: UnicastRoute = {
  kind: "unicast",
  prefix: hostPrefix(target),
  nextHop: address("192.0.2.254"),
  communities: ["65535:666"],
  localPref: 0,
};

function ban(overrides: Partial<Ban> = {}): Ban {
  return {
    id: "b1",
    target,
    prefix: hostPrefix(target),
    method: "blackhole",
    state: "active",
    dryRun: false,
    manual: false,
    attackId: "a1",
    metric: "pps",
    rate: 2000,
    threshold: 1000,
    route,
    startedAt: 0,
    expiresAt: 600_000,
    withdrawnAt: null,
    reason: null,
    ...overrides,
  };
}

const policy = (fields: Partial<Extract<BanEvent, { kind: "policy" }>> = {}): BanEvent => ({
  kind: "policy",
  isInNetworks: true,
  isWhitelisted: false,
  dryRun: false,
  route,
  ...fields,
});

const EVENTS: readonly BanEvent[] = [
  { kind: "attack_lasts", attackId: "a1", ttlSeconds: 600 },
  { kind: "attack_ended" },
  { kind: "refreshed", ttlSeconds: 600 },
  { kind: "unbanned" },
  { kind: "clock" },
  { kind: "clock_stepped", byMs: 5 },
  policy({ isWhitelisted: true, isInNetworks: false, dryRun: true }),
];

describe("a ban that is not active", () => {
  for (const state of ["withdrawn", "rejected"] as const) {
    test.each(EVENTS.map((event) => [event.kind, event] as const))(`${state} is not changed by %s`, (_, event) => {
      const over = ban({ state });
      expect(next(over, event, 10_000_000)).toBe(over);
    });
  }
});

describe("an active ban", () => {
  test("is pushed on while its attack lasts, in steps", () => {
    const lasts = { kind: "attack_lasts", attackId: "a1", ttlSeconds: 600 } as const;
    expect(next(ban(), lasts, 9_999)).toEqual(ban());
    expect(next(ban(), lasts, 10_000).expiresAt).toBe(610_000);
  });

  test("is pushed on in smaller steps when its time is short", () => {
    const lasts = { kind: "attack_lasts", attackId: "a1", ttlSeconds: 4 } as const;
    expect(next(ban({ expiresAt: 4000 }), lasts, 999).expiresAt).toBe(4000);
    expect(next(ban({ expiresAt: 4000 }), lasts, 1000).expiresAt).toBe(5000);
  });

  test("takes up a new attack and never shortens", () => {
    const manual = ban({ manual: true, attackId: null, expiresAt: 900_000 });
    const pushed = next(manual, { kind: "attack_lasts", attackId: "a2", ttlSeconds: 600 }, 1000);
    expect(pushed).toMatchObject({ attackId: "a2", expiresAt: 900_000 });
  });

  test("ends with its attack", () => {
    expect(next(ban(), { kind: "attack_ended" }, 7000)).toMatchObject({
      state: "withdrawn",
      withdrawnAt: 7000,
      reason: "attack ended",
    });
  });

  test("outlasts the attack when an operator asked for it", () => {
    expect(next(ban({ manual: true }), { kind: "attack_ended" }, 7000)).toMatchObject({
      state: "active",
      attackId: null,
    });
  });

  test("keeps its start and becomes the operator's when refreshed", () => {
    expect(next(ban({ startedAt: 5 }), { kind: "refreshed", ttlSeconds: 600 }, 60_000)).toMatchObject({
      startedAt: 5,
      manual: true,
      expiresAt: 660_000,
    });
  });

  test("ends by an operator", () => {
    expect(next(ban(), { kind: "unbanned" }, 1)).toMatchObject({ state: "withdrawn", reason: "manual unban" });
  });

  test("ends at its expiry, not before", () => {
    expect(next(ban(), { kind: "clock" }, 599_999).state).toBe("active");
    expect(next(ban(), { kind: "clock" }, 600_000)).toMatchObject({ state: "withdrawn", reason: "ttl expired" });
  });

  test("keeps what is left of its time when the wall clock is set", () => {
    const day = 86_400_000;
    const ahead = next(ban(), { kind: "clock_stepped", byMs: day }, day);
    expect(next(ahead, { kind: "clock" }, day + 599_999).state).toBe("active");
    const back = next(ban({ expiresAt: day + 600_000 }), { kind: "clock_stepped", byMs: -day }, 0);
    expect(next(back, { kind: "clock" }, 600_000).state).toBe("withdrawn");
  });

  test("ends when its target is whitelisted or leaves the networks", () => {
    expect(next(ban(), policy({ isWhitelisted: true }), 1).reason).toBe("target is whitelisted");
    expect(next(ban(), policy({ isInNetworks: false }), 1).reason).toBe("target left configured networks");
  });

  test("becomes virtual or real, and takes a new route, with the policy", () => {
    expect(next(ban(), policy({ dryRun: true }), 1)).toMatchObject({ state: "active", dryRun: true });
    expect(next(ban({ dryRun: true }), policy(), 1).dryRun).toBe(false);
    const other = { ...route, communities: ["64500:1"] };
    expect(next(ban(), policy({ route: other }), 1).route).toEqual(other);
    const same = ban();
    expect(next(same, policy({ route: { ...route } }), 1)).toBe(same);
  });
});

test("a route reads as operators write it", () => {
  expect(routeText(route)).toBe("192.0.2.1/32 next-hop 192.0.2.254 community 65535:666");
  expect(routeText({ ...route, communities: ["1:2", "3:4"], localPref: 200 })).toBe(
    "192.0.2.1/32 next-hop 192.0.2.254 community 1:2 3:4 local-pref 200",
  );
  expect(routeText({ ...route, communities: [] })).toBe("192.0.2.1/32 next-hop 192.0.2.254");
  expect(routeText(null)).toBe("");
});
