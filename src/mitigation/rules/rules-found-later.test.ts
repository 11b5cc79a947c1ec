/** Bans whose rules are found elsewhere meanwhile. */
import { expect, test } from "bun:test";
import {
  attackOn,
  classified,
  harness,
  policy,
  started,
  under,
  victim,
} from "../../../test/fixtures/mitigation/ban-engine.ts";
import { hostPrefix } from "../../net/prefix.ts";
import { exactly } from "../../net/range.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { RuleMaker, RuleRequest } from "../circumstances.ts";
import type { FoundRules } from "../measure.ts";
import { NOTHING_KNOWN, type Separability } from "../separability.ts";
import { ruleText, wideRule } from "./rule.ts";

const [TCP, UDP] = ["tcp", "udp"] as const;
const POLICY = { action: { kind: "discard" }, sourceAnchored: false, minSourceConcentration: 0.8 } as const;
const ATTACK = classified(attackOn(), "udp_flood");

function rulesOf(protocol: "tcp" | "udp", separability: Separability = SPARED): FoundRules {
  const protocols = exactly(IP_PROTOCOL[protocol]);
  return { rules: [{ ...wideRule(hostPrefix(victim), POLICY.action), protocols }], matchesAll: false, separability };
}
const SPARED: Separability = { verdict: "yes", usersAtRisk: 0, estimatedBy: "profile" };

/** @param counted what the counters say. */
function world(counted = rulesOf(TCP, NOTHING_KNOWN)) {
  const asked: RuleRequest[] = [];
  const makeRules: RuleMaker = (prefix, attacks, flowspec, present) => {
    if (attacks.every(({ packets }) => packets.length === 0)) return counted;
    asked.push({ prefix, attacks, flowspec, present });
    return null;
  };
  const terms = { ...under({ method: "flowspec" }), evidenceWaitMs: 1000 };
  const { engine } = harness(terms, { makeRules });
  engine.attacksChanged([started(attackOn())], 0);
  engine.attackClassified(ATTACK, 20);
  const answer = (found: FoundRules, ms: number, request = asked.at(-1)) =>
    engine.rulesFound(request === undefined ? [] : [{ request, found }], ms);
  const rules = () =>
    [...engine.active.values()].flatMap(({ measure }) =>
      measure.kind === "flowspec" ? measure.rules.map(ruleText) : [],
    );
  return { engine, asked, answer, terms, rules };
}

test("a ban waits for its rules, which are requested once, and gets them when they are found", () => {
  const { engine, rules, asked, answer } = world();
  engine.tick(100);
  engine.tick(300);
  expect([rules(), asked.length]).toEqual([[], 1]);
  answer(rulesOf(UDP), 400);
  expect(rules()).toEqual(["dst 192.0.2.1/32 proto udp discard"]);
});

test("rules that take long leave the ban those of the counters, which no others are compared with", () => {
  const { engine, rules, asked, answer } = world();
  engine.tick(1000);
  expect(rules()).toEqual(["dst 192.0.2.1/32 proto tcp discard"]);
  engine.attackClassified(ATTACK, 1020, "newer");
  expect(asked.at(-1)?.present).toEqual([]);
  answer(rulesOf(UDP), 1200, asked[0]);
  expect(rules()).toEqual(["dst 192.0.2.1/32 proto udp discard"]);
});

test("rules that take long leave the ban none, where the counters only know one for all traffic", () => {
  const { engine, rules } = world({ rules: [wideRule(hostPrefix(victim), POLICY.action)], matchesAll: true });
  engine.tick(1000);
  expect(rules()).toEqual([]);
});

test("the rules in force stay until newer ones are found, which are for the action of now", () => {
  const { engine, rules, asked, answer, terms } = world();
  answer(rulesOf(UDP), 100);
  engine.attackClassified(ATTACK, 1100, "newer");
  expect([rules(), asked.length]).toEqual([["dst 192.0.2.1/32 proto udp discard"], 2]);
  const flowspec = { ...POLICY, action: { kind: "rate_limit", bytesPerSecond: 1000 } } as const;
  engine.reconfigure(policy({ ...terms, ...under({ method: "flowspec", flowspec }) }), 1200);
  answer(rulesOf(TCP), 1300, asked[1]);
  expect(rules()).toEqual(["dst 192.0.2.1/32 proto udp rate-limit 0.008 Mbit/s"]);
  answer(rulesOf(TCP), 1400);
  expect(rules()).toEqual(["dst 192.0.2.1/32 proto tcp discard"]);
});

test("an answer for a ban that is over is of no effect", () => {
  const { engine, answer } = world();
  engine.attacksChanged([{ kind: "ended", attack: { ...ATTACK, endedAt: 100 } }], 100);
  answer(rulesOf(UDP), 200);
  expect(engine.active.size).toBe(0);
});
