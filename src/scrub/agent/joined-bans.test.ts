import { describe, expect, test } from "bun:test";
import { type Rule, ruleText, wideRule } from "../../mitigation/rules/rule.ts";
import type { ScrubFilter } from "../../mitigation/scrub/scrub-filter.ts";
import type { IpAddress } from "../../net/address.ts";
import { parseAddress } from "../../net/address.ts";
import { hostPrefix } from "../../net/prefix.ts";
import { exactly } from "../../net/range.ts";
import { etagAt, joinedBans, joinedEtag, type SourcedBan, sourced } from "./joined-bans.ts";

const prefixOf = (text: string) => hostPrefix(parseAddress(text) as IpAddress);
const VICTIM = prefixOf("192.0.2.1");
const from = (port: number): Rule => ({
  ...wideRule(VICTIM, { kind: "discard" }),
  protocols: exactly(17),
  sourcePorts: exactly(port),
});
const ban = (changedAtMs: number, rules: readonly Rule[], more: Partial<SourcedBan> = {}): SourcedBan => {
  return { prefix: VICTIM, isVirtual: false, expiresAtMs: 1000, rules, filter: null, changedAtMs, ...more };
};
const rulesOf = (of: readonly { readonly rules: readonly Rule[] }[]) => of.map(({ rules }) => rules.map(ruleText));
const texts = (...ports: number[]) => ports.map((port) => ruleText(from(port)));

describe("bans of two brains", () => {
  test("of different victims are all in force", () => {
    const other = ban(1, [from(2)], { prefix: prefixOf("192.0.2.2") });
    expect(rulesOf(joinedBans([[ban(1, [from(1)])], [other]]))).toEqual([texts(1), texts(2)]);
  });

  test("of one victim are one ban with the rules of both, each once, the newest first", () => {
    const ofBrains = [[ban(1, [from(1), from(2)])], [ban(2, [from(3), from(2)], { expiresAtMs: 5000 })]];
    for (const order of [ofBrains, ofBrains.toReversed()]) {
      const joined = joinedBans(order);
      expect(rulesOf(joined)).toEqual([texts(3, 2, 1)]);
      expect(joined[0]?.expiresAtMs).toBe(5000);
    }
  });

  test("do to the same packets what the newest says", () => {
    const limit = { ...from(1), action: { kind: "rate_limit", bytesPerSecond: 5 } } as const;
    expect(joinedBans([[ban(1, [from(1)])], [ban(2, [limit])]])[0]?.rules).toEqual([limit]);
  });

  test("have the newest filter there is", () => {
    const filter = (name: string) => ({ name }) as unknown as ScrubFilter;
    const filters = (a: ScrubFilter | null, b: ScrubFilter | null) =>
      joinedBans([[ban(1, [], { filter: a })], [ban(2, [], { filter: b })]])[0]?.filter;
    expect(filters(filter("a"), filter("b"))).toEqual(filter("b"));
    expect(filters(filter("a"), null)).toEqual(filter("a"));
  });

  test("are virtual if both are; a virtual one adds nothing to a real one", () => {
    const virtual = ban(9, [from(9)], { isVirtual: true, expiresAtMs: 9000 });
    expect(joinedBans([[virtual], [ban(1, [from(1)])]])).toMatchObject([{ isVirtual: false, expiresAtMs: 1000 }]);
    expect(rulesOf(joinedBans([[virtual], [ban(1, [from(1)])]]))).toEqual([texts(1)]);
    expect(joinedBans([[virtual], [virtual]])).toMatchObject([{ isVirtual: true }]);
  });
});

test("a document keeps the time of rules that it repeats, also with another expiry", () => {
  const before = sourced([ban(0, [from(1)]), ban(0, [from(2)], { prefix: prefixOf("192.0.2.2") })], [], 10);
  const after = sourced(
    [ban(0, [from(1)], { expiresAtMs: 7 }), ban(0, [from(3)], { prefix: prefixOf("192.0.2.2") })],
    before,
    20,
  );
  expect([before, after].map((bans) => bans.map(({ changedAtMs }) => changedAtMs))).toEqual([
    [10, 10],
    [10, 20],
  ]);
});

test("an ETag of all documents stands for that of each", () => {
  expect([joinedEtag(['"a"']), joinedEtag([null]), etagAt('"a"', 0, 1), etagAt(null, 1, 2)]).toEqual([
    '"a"',
    null,
    '"a"',
    null,
  ]);
  const joined = joinedEtag(['"a"', null]);
  expect([etagAt(joined, 0, 2), etagAt(joined, 1, 2)]).toEqual(['"a"', null]);
});
