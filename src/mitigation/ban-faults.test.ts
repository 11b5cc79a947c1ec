import { expect, test } from "bun:test";
import { attackOn, harness, lasts, started, terms, victim } from "../../test/fixtures/ban-engine.ts";
import { address } from "../../test/fixtures/host-rows.ts";

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
