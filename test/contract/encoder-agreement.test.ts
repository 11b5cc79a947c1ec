/**
 * One rule form, its encoders: for random rules and packets the XDP program in the kernel and the FlowSpec rule that a real
 * BIRD has from a real gobgpd match what ruleMatches() does.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ruleProblem } from "../../src/bgp/flowspec-nlri.ts";
import type { FlowspecRoute } from "../../src/mitigation/announcer.ts";
import { matchText, type Rule, ruleMatches, ruleText } from "../../src/mitigation/rule.ts";
import { decodeHeader, type PacketHeader } from "../../src/traffic/packet-header.ts";
import { BgpLab, bgpConfig, established, until } from "../fixtures/bgp.ts";
import type { BirdFlow } from "../fixtures/bird-flows.ts";
import { birdMatch } from "../fixtures/bird-match.ts";
import { bpfUnavailable } from "../fixtures/bpf-directory.ts";
import { pick, type Random, randomFrame, randomRule } from "../fixtures/filter-cases.ts";
import { LooseFilter } from "../fixtures/kernel-capture.ts";
import { seededRandom } from "../fixtures/seeded-random.ts";

const RULES = 3000;
const ANNOUNCED = 600;
const FRAMES = 2000;
/** Frames that go through the kernel for each rule, of those that match and of those that do not. */
const FRAMES_EACH = 12;
const HOUR_MS = 3_600_000;

const seed = Math.floor(Math.random() * 2 ** 31);
const random: Random = seededRandom(seed);
/** Flags often several at once, as vectors have them. */
const rules = Array.from({ length: RULES }, (): Rule => {
  const rule = randomRule(random);
  const flags = () => pick(random, [0x00, 0x02, 0x12, 0x17, 0x29]);
  return random() < 0.2 ? { ...rule, tcpFlags: { set: flags(), unset: flags() } } : rule;
});
const packets = Array.from({ length: FRAMES }, () => randomFrame(random)).flatMap((frame) => {
  const header = decodeHeader(frame);
  return header === null ? [] : [{ frame, header }];
});

const story = (rule: Rule, header: PacketHeader) => `seed ${seed}: ${ruleText(rule)} on ${JSON.stringify(header)}`;

test("the rules and packets fit together often enough to say something", () => {
  const fitting = rules.filter((rule) => packets.some(({ header }) => ruleMatches(rule, header)));
  expect(fitting.length).toBeGreaterThan(RULES / 3);
});

describe.skipIf(bpfUnavailable !== null)(`kernel${bpfUnavailable === null ? "" : ` (${bpfUnavailable})`}`, () => {
  let loose: LooseFilter;
  beforeAll(() => {
    loose = new LooseFilter();
  });
  afterAll(() => loose.close());

  test("the XDP program matches and acts as the rule says", () => {
    for (const [i, rule] of rules.entries()) {
      const id = `rule-${i}`;
      loose.filter.setRules([{ id, rule, expiresAtMs: Date.now() + HOUR_MS }]);
      const [matching, others] = sides(rule);
      const isDropped = rule.action.kind === "discard";
      for (const { frame, header } of matching) {
        expect(loose.filter.native.drops(frame), story(rule, header)).toBe(isDropped);
      }
      for (const { frame, header } of others) {
        expect(loose.filter.native.drops(frame), story(rule, header)).toBe(false);
      }
      const row = loose.filter.readRules()[0];
      expect(row, `seed ${seed}: ${ruleText(rule)}`).toMatchObject({ id, packets: matching.length });
    }
  });
});

/** Some packets that the rule matches, and some others, other ones for each rule. */
function sides(rule: Rule) {
  const from = Math.floor(random() * packets.length);
  const turned = [...packets.slice(from), ...packets.slice(0, from)];
  const { matching = [], others = [] } = Object.groupBy(turned, ({ header }) =>
    ruleMatches(rule, header) ? "matching" : "others",
  );
  return [matching.slice(0, FRAMES_EACH), others.slice(0, FRAMES_EACH)] as const;
}

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
  }, 60_000);
  afterAll(() => lab.end());

  test("every rule that may be sent arrives, with its action", () => {
    for (const [i, { action, ...rule }] of announced.entries()) {
      const rate = action.kind === "discard" ? 0 : Math.fround(action.bytesPerSecond);
      expect(received.get(i)?.rateBytes, `seed ${seed}: ${matchText({ ...rule, action })}`).toBe(rate);
    }
  });

  test("what arrives matches what the rule matches", () => {
    for (const [i, rule] of announced.entries()) {
      const isMatched = birdMatch(received.get(i)?.match ?? "");
      for (const { header } of packets) {
        if (isMatched(header) === ruleMatches(rule, header)) continue;
        throw new Error(`${story(rule, header)}: BIRD has ${received.get(i)?.match}`);
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
      expect(packets.some(({ header }) => ruleMatches(rule, header))).toBe(false);
    }
  });
});

/** The number goes with the rule as a community, so that BIRD's rules are told apart by nothing that is encoded. */
function route(rule: Rule, index: number): FlowspecRoute {
  const prefix = rule.destination ?? rule.source;
  if (prefix === null) throw new Error(`${ruleText(rule)} is for nobody`);
  return { kind: "flowspec", prefix, rule, communities: [`65001:${index}`], localPref: 0 };
}
