import { describe, expect, test } from "bun:test";
import { pair, policy } from "../../test/fixtures/mitigation/source-blocks.ts";
import { BLOCK_REFUSALS, blockRefusal, type SourceBlockPolicy, slotsFor, victimRefusal } from "./admission.ts";

const NONE = { isBlocked: false, victims: null, slots: null };

describe("the checks", () => {
  const inside = ["192.0.2.1", "198.51.100.1"];
  /** Each of them fails with all that come after it. */
  const LADDER: readonly (readonly [string, Partial<SourceBlockPolicy>])[] = [
    ["no_dataplane", { hasDataplane: false }],
    ["victim_whitelisted", { isWhitelisted: () => true }],
    ["victim_outside_networks", { isInNetworks: (ip) => ip === "198.51.100.1" }],
    ["victim_is_own_infrastructure", { isOwn: () => true }],
    ["source_allowlisted", { isAllowlisted: () => true }],
    ["source_in_networks", { isInNetworks: (ip) => inside.includes(ip) }],
  ];
  const full = { isBlocked: false, victims: "full", slots: "full" } as const;

  test.each(LADDER.map(([refusal], i) => [refusal, i] as const))("%s comes before all below it", (refusal, first) => {
    const faults = LADDER.slice(first).toReversed();
    const failing = Object.assign({}, ...faults.map(([, fault]) => fault)) as Partial<SourceBlockPolicy>;
    expect<string | null>(blockRefusal(pair(), policy(failing), full)).toBe(refusal);
  });

  test("are all there", () => {
    const rooms = ["too_many_victims", "no_slots", "victims_over_share", "slots_over_share"];
    const named: readonly string[] = [...LADDER.map(([refusal]) => refusal), ...rooms];
    expect([...BLOCK_REFUSALS]).toEqual(named as typeof BLOCK_REFUSALS as never);
  });

  test("let a pair pass that breaks none", () => {
    expect(blockRefusal(pair(), policy(), NONE)).toBeNull();
  });
});

test.each([
  [{ victims: null, slots: null }, null],
  [{ victims: "full", slots: "full" }, "too_many_victims"],
  [{ victims: "over_share", slots: "full" }, "victims_over_share"],
  [{ victims: null, slots: "full" }, "no_slots"],
  [{ victims: null, slots: "over_share" }, "slots_over_share"],
] as const)("with %p it is %p", (room, expected) => {
  expect(blockRefusal(pair(), policy(), { isBlocked: false, ...room })).toBe(expected);
});

test("a refresh takes neither a victim nor a slot", () => {
  expect(blockRefusal(pair(), policy(), { isBlocked: true, victims: "full", slots: "full" })).toBeNull();
});

test("a refresh is held against the configuration all the same", () => {
  const whitelisting = policy({ isWhitelisted: () => true });
  expect(blockRefusal(pair(), whitelisting, { ...NONE, isBlocked: true })).toBe("victim_whitelisted");
});

test("of 36 slots, those of 2 bans, of the standing rules and of filter rules are reserved", () => {
  expect(slotsFor(policy(), 0)).toBe(20);
  expect(slotsFor(policy({ standingRules: 5 }), 3)).toBe(12);
});

test("slots are never fewer than none, and none without a data plane", () => {
  expect(slotsFor(policy({ maxActiveBans: 9 }), 0)).toBe(0);
  expect(slotsFor(policy({ hasDataplane: false }), 0)).toBe(0);
});

test("of a victim it is known what holds for every source", () => {
  const { victim } = pair();
  expect(victimRefusal(victim, policy())).toBeNull();
  expect(victimRefusal(victim, policy({ isWhitelisted: () => true }))).toBe("victim_whitelisted");
  expect(victimRefusal(victim, policy({ isInNetworks: () => false }))).toBe("victim_outside_networks");
  expect(victimRefusal(victim, policy({ isOwn: () => true }))).toBe("victim_is_own_infrastructure");
  expect(victimRefusal(victim, policy({ isAllowlisted: () => true }))).toBeNull();
});
