import { expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import {
  attackOn,
  classified,
  harness,
  lasts,
  policy,
  started,
  terms,
  victim,
} from "../../test/fixtures/mitigation/ban-engine.ts";
import type { RuleMaker } from "./circumstances.ts";
import { wideRule } from "./rules/rule.ts";

const BLACKHOLED = address("192.0.2.2");

test("a ban that cannot be planned keeps no other from beginning and ending", () => {
  const termsOf = (target: string) => terms({ method: target === victim ? "flowspec" : "blackhole" });
  const makeRules = () => {
    throw new Error("no rules");
  };
  const { engine, announcer, faults } = harness({ termsOf, evidenceWaitMs: 1000 }, { makeRules });
  engine.attacksChanged([started(attackOn()), started(attackOn(BLACKHOLED))], 0);
  engine.tick(1000);
  expect(announcer.wanted).toEqual(["192.0.2.2/32"]);
  engine.tick(600_000);
  expect(announcer.wanted).toEqual([]);
  expect(engine.active.size).toBe(0);
  engine.attacksChanged([lasts(attackOn()), lasts(attackOn(BLACKHOLED))], 600_000);
  expect(announcer.wanted).toEqual(["192.0.2.2/32"]);
  expect(faults.map(String)).toEqual(["Error: no rules", "Error: no rules"]);
});

test("a reload converts all bans, also beside one that cannot be planned, and that one too", () => {
  const under = (minSourceConcentration: number) => (target: string) =>
    terms({
      method: target === victim ? "flowspec" : "blackhole",
      flowspec: { action: { kind: "discard" }, sourceAnchored: false, minSourceConcentration },
    });
  let isBroken = false;
  const makeRules: RuleMaker = (prefix, _, { action }) => {
    if (isBroken) throw new Error("no rules");
    return { rules: [wideRule(prefix, action)], matchesAll: true };
  };
  const { engine, announcer, faults } = harness({ termsOf: under(0.8) }, { makeRules });
  engine.attacksChanged([started(classified(attackOn(), "udp_flood")), started(attackOn(BLACKHOLED))], 0);
  expect(announcer.wanted).toEqual(["192.0.2.2/32", "flow dst 192.0.2.1/32"]);
  isBroken = true;
  engine.reconfigure(policy({ termsOf: under(0.5), dryRun: true }), 1);
  expect(announcer.wanted).toEqual([]);
  expect([...engine.active.values()].map(({ dryRun }) => dryRun)).toEqual([true, true]);
  expect(faults.map(String)).toEqual(["Error: no rules"]);
});
