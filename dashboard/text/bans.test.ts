import { describe, expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { banWire as ban } from "../../test/fixtures/ban-wire.ts";
import { banSubject, banText, banWhy, endOf, hasWords, nextStep } from "./bans.ts";

test("one address has no length, a prefix has", () => {
  expect([ban(), ban({ prefix: "2001:db8::1/128" }), ban({ prefix: "192.0.2.0/24" })].map(banSubject)).toEqual([
    "192.0.2.1",
    "2001:db8::1",
    "192.0.2.0/24",
  ]);
});

test("why: what the service says, else what it is for", () => {
  expect(banWhy(ban({ reason: "ttl expired", metric: "pps", rate: 5 }))).toBe("ttl expired");
  expect(banWhy(ban({ announce_error: "bgp announce failed: no" }))).toBe("bgp announce failed: no");
  expect(banWhy(ban({ manual: true }))).toBe("ordered by hand");
  expect(banWhy(ban({ manual: true, order_reason: "ticket 7" }))).toBe("ticket 7");
  expect(banWhy(ban({ metric: "pps", rate: 12_000 }))).toBe("packets at 12.0 kpps");
  expect(banWhy(ban())).toBe("");
});

test("a rung that waits for an attack that is not held is no next step of one that is", () => {
  const escalation = [
    { after_seconds: 0, action: "scrub" as const },
    { after_seconds: 60, action: "divert" as const, unless_held: true as const },
    { after_seconds: 300, action: "blackhole" as const },
  ];
  const climbing = ban({ escalation, escalation_step: 0 });
  expect(nextStep(climbing)).toMatchObject({ action: "divert", isIfUnheld: true });
  expect(nextStep(climbing, { isHeld: true })).toMatchObject({ action: "blackhole", isIfUnheld: false });
  expect(nextStep(ban({ escalation: escalation.slice(0, 2), escalation_step: 0 }), { isHeld: true })).toBeNull();
});

test("the next step is the first rung that has not come", () => {
  const escalation = [
    { after_seconds: 0, action: "none" as const },
    { after_seconds: 60, action: "flowspec" as const },
    { after_seconds: 120, action: "blackhole" as const },
  ];
  expect(nextStep(ban({ escalation, escalation_step: 0 }))).toEqual({
    action: "flowspec",
    at: "2026-03-01T12:01:00.000Z",
    isIfUnheld: false,
  });
  expect(nextStep(ban({ escalation, escalation_step: 2 }))).toBeNull();
  expect(nextStep(ban({ escalation, escalation_step: 0, state: "withdrawn" }))).toBeNull();
  expect(nextStep(ban())).toBeNull();
  const late = { escalation: [{ after_seconds: 600, action: "blackhole" as const }], escalation_step: -1 };
  expect(nextStep(ban({ ...late, manual: true }))).toBeNull();
  expect(nextStep(ban(late))).toMatchObject({ at: "2026-03-01T12:10:00.000Z" });
});

describe("the end of a ban", () => {
  const attack = { id: "a1", active: true, ends_after_seconds: 30, target: "192.0.2.9" } as AttackWire;
  const lasting = { attacks: ["a1"] };
  const OUTLASTS = { kind: "outlasts", at: "2026-03-01T12:10:00Z" } as const;
  test.each([
    ["expires when nothing renews it", ban(), { kind: "at", at: "2026-03-01T12:10:00Z" }],
    ["is renewed while its attack lasts", ban(lasting), { kind: "renewed", calm: null, ofSeconds: 30 }],
    [
      "of an automatic ban that is held is the earlier time",
      ban({ hold_until: "2026-03-01T12:05:00Z" }),
      { kind: "at", at: "2026-03-01T12:05:00Z" },
    ],
    [
      "of a manual ban is its own",
      ban({ hold_until: "2026-03-01T12:05:00Z", manual: true }),
      { kind: "at", at: "2026-03-01T12:10:00Z" },
    ],
    [
      "of a manual ban comes some time after its attack, and not before its own time",
      ban({ ...lasting, manual: true }),
      OUTLASTS,
    ],
    ["of a manual ban that names no attack yet", ban({ manual: true, target: "192.0.2.9" }), OUTLASTS],
    ["has come", ban({ state: "withdrawn", withdrawn_at: "2026-03-01T12:01:00Z" }), { kind: "ended" }],
    ["of a refused ban has come", ban({ state: "rejected" }), { kind: "ended" }],
  ] as const)("%s", (_, its, expected) => {
    expect(endOf(its, [attack])).toEqual(expected);
  });

  test("comes nearer while its attack is calm", () => {
    const calm = { ...attack, calm_seconds: 4.2, calm_of_seconds: 10 };
    expect(endOf(ban(lasting), [calm])).toEqual({ kind: "renewed", calm: "quiet for 4 of 10 s", ofSeconds: 30 });
    // It lasts as long as one of its attacks.
    expect(endOf(ban({ attacks: ["a1", "a2"] }), [calm, { ...attack, id: "a2", ends_after_seconds: 60 }])).toEqual({
      kind: "renewed",
      calm: null,
      ofSeconds: 60,
    });
  });
});

test("is found by every word of the search", () => {
  const one = ban({ manual: true, node: "Scrub1", method: "divert", dry_run: true, order_reason: "ticket 7" });
  for (const search of ["", "192.0.2", "SCRUB1 divert", "manual dry run", "ticket 7"]) {
    expect(hasWords(banText(one), search), search).toBe(true);
  }
  expect(hasWords(banText(one), "manual blackhole")).toBe(false);
});
