import { describe, expect, test } from "bun:test";
import { pair, policy } from "../../test/fixtures/mitigation/source-blocks.ts";
import { BLOCK_REFUSALS, blockRefusal, type SourceBlockPolicy, slotsFree } from "./admission.ts";

const NONE = { isBlocked: false, victims: 0, pairs: 0 };

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
  const full = { isBlocked: false, victims: 8, pairs: 20 };

  test.each(LADDER.map(([refusal], i) => [refusal, i] as const))("%s comes before all below it", (refusal, first) => {
    const faults = LADDER.slice(first).toReversed();
    const failing = Object.assign({}, ...faults.map(([, fault]) => fault)) as Partial<SourceBlockPolicy>;
    expect<string | null>(blockRefusal(pair(), policy(failing), full)).toBe(refusal);
  });

  test("are all there", () => {
    const named: readonly string[] = [...LADDER.map(([refusal]) => refusal), "too_many_victims", "no_slots"];
    expect([...BLOCK_REFUSALS]).toEqual(named as typeof BLOCK_REFUSALS as never);
  });

  test("let a pair pass that breaks none", () => {
    expect(blockRefusal(pair(), policy(), NONE)).toBeNull();
  });
});

test.each([
  [7, null],
  [8, "too_many_victims"],
] as const)("a source with %d victims: %p", (victims, expected) => {
  expect(blockRefusal(pair(), policy(), { ...full(), victims })).toBe(expected);
});

test.each([
  [19, null],
  [20, "no_slots"],
  [21, "no_slots"],
] as const)("with 36 rules and 2 bans, %d pairs leave: %p", (pairs, expected) => {
  expect(blockRefusal(pair(), policy(), { ...full(), pairs })).toBe(expected);
});

test("a refresh takes neither a victim nor a slot", () => {
  expect(blockRefusal(pair(), policy(), { isBlocked: true, victims: 8, pairs: 20 })).toBeNull();
});

test("a refresh is held against the configuration all the same", () => {
  const whitelisting = policy({ isWhitelisted: () => true });
  expect(blockRefusal(pair(), whitelisting, { ...NONE, isBlocked: true })).toBe("victim_whitelisted");
});

test("slots are never fewer than none, and none without a data plane", () => {
  expect(slotsFree(policy(), 0)).toBe(20);
  expect(slotsFree(policy({ maxActiveBans: 9 }), 0)).toBe(0);
  expect(slotsFree(policy({ hasDataplane: false }), 0)).toBe(0);
});

function full() {
  return { isBlocked: false, victims: 0, pairs: 0 };
}
