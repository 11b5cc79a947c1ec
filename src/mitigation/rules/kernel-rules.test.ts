import { describe, expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import { ban, udpRules } from "../../../test/fixtures/views.ts";
import { buildScrub } from "../../config/sections/scrub.ts";
import { FILTER_RULES_PER_DESTINATION_MAX } from "../../native/constants.ts";
import { exactly } from "../../net/range.ts";
import type { Ban } from "../ban.ts";
import { NO_MEASURE } from "../measure.ts";
import { NO_OPERATOR_RULES } from "../operator/operator-kernel-rules.ts";
import type { ScrubFilter } from "../scrub/scrub-filter.ts";
import { compose } from "./compose.ts";
import { kernelRulesOf, rulesOfBans } from "./kernel-rules.ts";
import { matchText } from "./match.ts";
import { leftOutByLimit } from "./room-limit.ts";
import { type Rule, ruleText, wideRule } from "./rule.ts";

const texts = (one: Ban) => kernelRulesOf(one).map(({ rule }) => ruleText(rule));
const flowspec = (...rules: Rule[]) => ban({ measure: { ...udpRules(), rules } });
const target = prefix("192.0.2.1/32");
const discard = wideRule(target, { kind: "discard" });

describe("rules of a ban in the kernel", () => {
  test("a blackhole discards all to its prefix, with a route or without", () => {
    expect(texts(ban())).toEqual(["dst 192.0.2.1/32 discard"]);
    expect(texts(ban({ route: null, prefix: prefix("192.0.2.0/24") }))).toEqual(["dst 192.0.2.0/24 discard"]);
  });

  test("FlowSpec has its rules, in their order", () => {
    expect(texts(flowspec({ ...discard, protocols: exactly(17) }, { ...discard, protocols: exactly(6) }))).toEqual([
      "dst 192.0.2.1/32 proto udp discard",
      "dst 192.0.2.1/32 proto tcp discard",
    ]);
  });

  test("a diverted one has those of the rule document", () => {
    const measure = { kind: "divert", route: null, node: null, rules: udpRules() } as const;
    expect(texts(ban({ measure }))).toEqual(["dst 192.0.2.1/32 proto udp discard"]);
  });

  test("a scrubbed one first has sources of TCP prove their address, then its rules, but none that match all", () => {
    const scrub = {
      kind: "scrub",
      rules: udpRules(),
      filter: buildScrub({ tcp: "reset", source_packets_per_second: 0 }, []),
    } as const;
    const [first, ...others] = kernelRulesOf(ban({ measure: scrub }));
    expect(first).toMatchObject({ rule: { action: { kind: "validate_reset", learnedBytesPerSecond: 12_500_000 } } });
    expect(matchText(first?.rule as Rule)).toBe("dst 192.0.2.1/32 proto tcp");
    expect(others.map(({ rule }) => ruleText(rule))).toEqual(["dst 192.0.2.1/32 proto udp discard"]);
    const filter = buildScrub({ tcp: "off" }, []);
    expect(texts(ban({ measure: { ...scrub, filter } }))).toEqual(["dst 192.0.2.1/32 proto udp discard"]);
    const all = { ...udpRules(), matchesAll: true };
    expect(kernelRulesOf(ban({ measure: { ...scrub, rules: all } }))).toHaveLength(1);
    expect(kernelRulesOf(ban({ measure: scrub, dryRun: true }))).toEqual([]);
  });

  test.each([
    ["virtual", ban({ dryRun: true })],
    ["over", ban({ state: "withdrawn" })],
    ["refused", ban({ state: "rejected" })],
    ["only watching", ban({ measure: NO_MEASURE })],
    ["without rules yet", flowspec()],
  ])("one that is %s has none", (_, one) => {
    expect(texts(one)).toEqual([]);
  });

  test("expire with the ban", () => {
    expect(kernelRulesOf(ban({ expiresAt: 12_345 }))).toMatchObject([{ owner: "b1", expiresAtMs: 12_345 }]);
  });

  test("keep their id while they are unchanged, also when the ban is extended", () => {
    const udp = { ...discard, protocols: exactly(17) };
    const [before] = kernelRulesOf(flowspec(udp));
    const after = kernelRulesOf({ ...flowspec({ ...discard, protocols: exactly(6) }, udp), expiresAt: 99 });
    expect(after.map(({ id }) => id)).toContain(String(before?.id));
    expect(new Set(after.map(({ id }) => id)).size).toBe(2);
    expect(Buffer.byteLength(String(kernelRulesOf(ban({ id: crypto.randomUUID() }))[0]?.id))).toBeLessThanOrEqual(63);
  });

  test("are there once, where a ban says the same twice", () => {
    expect(texts(flowspec(discard, { ...discard }))).toHaveLength(1);
  });

  test("limit to at least one byte per second, the kernel's minimum", () => {
    const slow = { ...discard, action: { kind: "rate_limit", bytesPerSecond: 0.1 } } as const;
    expect(texts(flowspec(slow))).toEqual(["dst 192.0.2.1/32 rate-limit 0.000008 Mbit/s"]);
  });
});

const composed = (bans: Iterable<Ban>, room: number) =>
  compose({ operators: NO_OPERATOR_RULES, rules: rulesOfBans(bans), room, bitOf: () => null });

describe("rules of all bans", () => {
  const bans = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map((address, i) => ban({ id: `b${i}`, target: address }));

  test.each([
    [4, 3, 0],
    [3, 3, 0],
    [2, 2, 1],
    [0, 0, 3],
  ])("with room for %p, %p are there and %p left out, the first bans first", (room, there, leftOut) => {
    const made = composed(bans, room);
    expect(made.rules.map(({ owner }) => owner)).toEqual(["b0", "b1", "b2"].slice(0, there));
    expect(leftOutByLimit(made.leftOut)).toEqual(leftOut === 0 ? {} : { max_dynamic_rules: leftOut });
  });

  test("are those of manual bans and of the largest attacks when not all fit", () => {
    const of = (id: string, fields: Partial<Ban>) => ban({ id, target: address(`192.0.2.${id}`), ...fields });
    const small = of("1", { metric: "pps", rate: 90_000 });
    const large = of("2", { metric: "mbps", rate: 1000 });
    const manual = of("3", { manual: true, metric: null, rate: 0 });
    const made = (room: number) => composed([small, large, manual].values(), room).rules.map(({ owner }) => owner);
    expect([made(3), made(2), made(1)]).toEqual([["3", "2", "1"], ["3", "2"], ["3"]]);
  });

  test("of a scrubbed victim are there together or not at all, and leave their room to others", () => {
    const services = [{ protocol: "tcp" as const, ports: ["443"], source_ports: [] }];
    const filter = buildScrub({ source_packets_per_second: 0, services }, []);
    const scrub = { kind: "scrub", rules: udpRules(), filter } as const;
    const scrubbed = ban({ id: "s", manual: true, measure: scrub });
    const made = (room: number) => composed([scrubbed, ...bans], room);
    expect([made(7), made(4), made(3)].map(({ rules }) => rules.map(({ owner }) => owner))).toEqual([
      ["s", "s", "s", "s", "b0", "b1", "b2"],
      ["s", "s", "s", "s"],
      ["b0", "b1", "b2"],
    ]);
    expect([made(7), made(4), made(3)].map(({ leftOut }) => leftOut.length)).toEqual([0, 3, 4]);
  });

  test("learn no source where a ban around asks for proofs", () => {
    const filter = buildScrub({}, []);
    const scrub = (target: string, measured: Partial<ScrubFilter>, text = `${target}/32`) => ({
      ...ban({
        id: text,
        target: address(target),
        measure: { kind: "scrub", rules: udpRules(), filter: { ...filter, ...measured } },
      }),
      prefix: prefix(text),
    });
    const host = scrub("192.0.2.1", { tcp: null, learnsTcp: true });
    const learning = (...bans: Ban[]) => composed(bans, 100).rules.filter(({ rule }) => rule.action.kind === "learn");
    expect(learning(host)).toHaveLength(1);
    expect(learning(host, scrub("192.0.2.0", {}, "192.0.2.0/24"))).toEqual([]);
    expect(learning(host, scrub("192.0.2.0", { countsOnly: true }, "192.0.2.0/24"))).toHaveLength(1);
    expect(learning(host, scrub("192.0.2.0", { tcp: null }, "192.0.2.0/24"))).toHaveLength(1);
    expect(learning(host, scrub("198.51.100.0", {}, "198.51.100.0/24"))).toHaveLength(1);
  });

  test("that learn questions, for any destination, are not left out alone", () => {
    const answers = { ...discard, protocols: exactly(17), sourcePorts: [{ from: 53, to: 53 }] };
    const scrub = { kind: "scrub", rules: { ...udpRules(), rules: [answers] } } as const;
    const filter = buildScrub({ tcp: "off", answers: "asked" }, []);
    const scrubbed = Array.from({ length: FILTER_RULES_PER_DESTINATION_MAX + 1 }, (_, i) =>
      ban({ id: `s${i}`, target: `192.0.${2 + (i >> 8)}.${i & 255}`, measure: { ...scrub, filter } }),
    );
    const made = composed(scrubbed, 10_000);
    const kinds = Object.groupBy(made.rules, ({ rule }) => rule.action.kind);
    expect(kinds.learn_question).toHaveLength(FILTER_RULES_PER_DESTINATION_MAX);
    expect(kinds.require_question).toHaveLength(FILTER_RULES_PER_DESTINATION_MAX);
    // With more room in the kernel there would be no more.
    expect(leftOutByLimit(made.leftOut)).toEqual({ one_destination: 2 });
  });

  test("are bounded by the kernel's limit per destination", () => {
    const from = (i: number) => ({ ...discard, destination: null, source: prefix(`10.0.${i >> 8}.${i & 255}/32`) });
    const rules = Array.from({ length: FILTER_RULES_PER_DESTINATION_MAX + 1 }, (_, i) => from(i));
    const made = composed([flowspec(...rules), ...bans], 1000);
    expect([made.rules.length, made.leftOut.length]).toEqual([FILTER_RULES_PER_DESTINATION_MAX + 3, 1]);
  });
});
