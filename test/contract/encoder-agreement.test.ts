/**
 * One rule form, three encoders: for random rules and packets the FlowSpec rule that a real BIRD has from a real gobgpd, and
 * the rule document that a scrub node reads, match what ruleMatches() does. The XDP program is held against the same in
 * src/dataplane/kernel-filter.test.ts.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { ruleProblem } from "../../src/bgp/flowspec-nlri.ts";
import type { FlowspecRoute } from "../../src/mitigation/announcer.ts";
import { matchText, ruleMatches } from "../../src/mitigation/rules/match.ts";
import { type Rule, type RuleWire, ruleText, ruleToWire } from "../../src/mitigation/rules/rule.ts";
import { readDocument } from "../../src/scrub/agent/rule-document.ts";
import { formsOf, RULE_CAPABILITIES, type RuleSupport, ruleSupportOf } from "../../src/scrub/rule-forms.ts";
import { decodeHeader, type PacketHeader } from "../../src/traffic/packet-header.ts";
import { BgpLab, bgpConfig, established, until } from "../fixtures/bgp/bgp.ts";
import { birdMatch } from "../fixtures/bgp/bird-match.ts";
import type { BirdFlow } from "../fixtures/bgp/bird-tables.ts";
import { randomFrame, randomRule } from "../fixtures/dataplane/filter-cases.ts";
import { communitiesOf } from "../fixtures/networks.ts";
import { Chance, seededRandom } from "../fixtures/seeded-random.ts";

const RULES = 3000;
const ANNOUNCED = 600;
const FRAMES = 2000;
setDefaultTimeout(60_000);

const seed = Math.floor(Math.random() * 2 ** 31);
const chance = new Chance(seededRandom(seed));
const rules = Array.from({ length: RULES }, () => randomRule(chance));
const packets = Array.from({ length: FRAMES }, () => decodeHeader(randomFrame(chance))).filter((each) => each !== null);

const caseText = (rule: Rule, header: PacketHeader) => `seed ${seed}: ${ruleText(rule)} on ${JSON.stringify(header)}`;

test("the rules and packets fit together often enough to say something", () => {
  const fitting = rules.filter((rule) => packets.some((header) => ruleMatches(rule, header)));
  expect(fitting.length).toBeGreaterThan(RULES / 3);
});

describe("FlowSpec", () => {
  /** Equal matches are one route. */
  const distinct = [...new Map(rules.map((rule) => [matchText(rule), rule])).values()];
  const announced = distinct.filter((rule) => ruleProblem(rule) === null).slice(0, ANNOUNCED);
  const lab = new BgpLab();
  /** What BIRD has of each, by its number. */
  const received = new Map<number, BirdFlow>();

  beforeAll(async () => {
    const bird = await lab.bird();
    const { announcer } = lab.announcer(bgpConfig());
    await established(announcer);
    announcer.want(announced.map(route));
    await until(`all rules in BIRD, seed ${seed}`, async () => (await bird.flowCount()) === announced.length, 30_000);
    for (const flow of await bird.flows()) received.set(Number(flow.communities[0]?.split(":")[1]), flow);
  });
  afterAll(() => lab.end());

  test("every rule that may be sent arrives, with its action", () => {
    for (const [i, rule] of announced.entries()) {
      const { action } = rule;
      const rate = action.kind === "discard" ? 0 : Math.fround(action.bytesPerSecond);
      expect(received.get(i)?.rateBytes, `seed ${seed}: ${matchText(rule)}`).toBe(rate);
    }
  });

  test("what arrives matches what the rule matches", () => {
    for (const [i, rule] of announced.entries()) {
      const isMatched = birdMatch(received.get(i)?.match ?? "");
      for (const header of packets) {
        if (isMatched(header) === ruleMatches(rule, header)) continue;
        throw new Error(`${caseText(rule, header)}: BIRD has ${received.get(i)?.match}`);
      }
    }
  });

  test("what cannot be said is refused, never sent as something else", () => {
    const isKnown =
      /^(a rule without destination and source|source and destination of two families|TCP flags that ask for no flag|more than 5 values in a field|invalid packet length)$/;
    for (const rule of rules) {
      const problem = ruleProblem(rule);
      if (problem === null) continue;
      expect(problem, `seed ${seed}: ${ruleText(rule)}`).toMatch(isKnown);
      // Nothing is lost with those that no packet can be of.
      if (!problem.includes("two families")) continue;
      expect(packets.some((header) => ruleMatches(rule, header))).toBe(false);
    }
  });
});

/** The number goes with the rule as a community, so that BIRD's rules are distinguished by nothing that is encoded. */
function route(rule: Rule, index: number): FlowspecRoute {
  const prefix = rule.destination ?? rule.source;
  if (prefix === null) throw new Error(`${ruleText(rule)} has no address`);
  return { kind: "flowspec", prefix, rule, communities: communitiesOf(`65001:${index}`), localPref: 0 };
}

describe("the rule document", () => {
  /** Of those that bans have: for a victim, of one family, with values that a packet can have. */
  const said = rules.filter((rule) => rule.destination !== null && /^more than|^$/.test(ruleProblem(rule) ?? ""));
  const FIRST = ["dst", "src", "proto", "src_port", "dst_port", "tcp_flags", "fragment", "action", "rate_bytes"];

  /** What a node reads that knows of a rule's fields only these. */
  const read = (rule: Rule, support: RuleSupport, isKnown: (key: string) => boolean): readonly Rule[] => {
    const known = (wire: RuleWire) => Object.fromEntries(Object.entries(wire).filter(([key]) => isKnown(key)));
    const flowspec = formsOf([rule], support).rules.map((form) => known(ruleToWire(form)));
    const [address = "", length] = (rule.destination?.text ?? "").split("/");
    const target = length === (address.includes(":") ? "128" : "32") ? address : rule.destination?.text;
    const ban = { target, prefix: rule.destination?.text, method: "divert", expires_at: "2026-03-01T12:10:00Z" };
    const document = { version: 1, bans: [{ ...ban, flowspec }] };
    const reading = { maxRules: flowspec.length, isKnown: () => false };
    const { bans, refused } = readDocument(JSON.stringify(document), reading);
    expect(refused).toEqual([]);
    return bans.flatMap((wanted) => wanted.rules);
  };

  /** How many rules were left out. Throws where what is read matches another packet, or acts otherwise. */
  function compare(readBack: (rule: Rule) => readonly Rule[]): number {
    let leftOut = 0;
    for (const rule of said) {
      const forms = readBack(rule);
      if (forms.length === 0) leftOut++;
      for (const header of forms.length === 0 ? [] : packets) {
        const form = forms.find((one) => ruleMatches(one, header));
        if ((form !== undefined) !== ruleMatches(rule, header)) {
          throw new Error(`${caseText(rule, header)}: the node has ${forms.map(ruleText).join("; ")}`);
        }
        if (form !== undefined) expect(form.action, caseText(rule, header)).toEqual(rule.action);
      }
    }
    return leftOut;
  }

  test("a node that supports everything drops what the rule says", () => {
    const leftOut = compare((rule) => read(rule, ruleSupportOf(RULE_CAPABILITIES), () => true));
    // TCP flags of zero, and what is no fragment, cannot be said: absent and zero mean anything.
    const unsaid = ({ fragment, tcpFlags }: Rule) =>
      fragment === false || (tcpFlags?.set === 0 && tcpFlags.unset === 0);
    expect(leftOut, `seed ${seed}`).toBe(said.filter(unsaid).length);
  });

  test("a node of the first version drops what the rule says, or has no such rule, and never more", () => {
    const leftOut = compare((rule) => read(rule, ruleSupportOf([]), (key) => FIRST.includes(key)));
    expect(leftOut).toBeLessThan(said.length * 0.8);
  });
});
