import { expect, test } from "bun:test";
import { prefix } from "../../../test/fixtures/networks.ts";
import { BODY_BYTES_MAX } from "../../limits.ts";
import { ROOM_LIMITS } from "../../mitigation/rules/room-limit.ts";
import {
  REFUSAL_CHARACTERS_MAX,
  REFUSAL_REASONS_MAX,
  REFUSED_BANS_LISTED_MAX,
  readEnforced,
} from "../enforced-report.ts";
import { refusalsToWire, withLastGood, withoutRoomOf } from "./refusals.ts";
import type { RefusedBan } from "./rule-document.ts";

/** Of the longest prefixes. */
const refused = (count: number, reasonOf: (i: number) => string): RefusedBan[] =>
  Array.from({ length: count }, (_, i) => ({
    prefix: prefix(`2001:db8:1111:2222:3333:4444:5555:${(0x1000 + i).toString(16)}/128`),
    isVirtual: false,
    cause: "unreadable",
    reason: reasonOf(i),
  }));

test("bans are listed by reason, and read again as they were meant", () => {
  const wire = refusalsToWire(refused(3, (i) => (i === 1 ? "b" : "a")));
  expect(wire.refused_bans.map(({ reason, prefixes }) => [reason, prefixes.length])).toEqual([
    ["a", 2],
    ["b", 1],
  ]);
  const read = readEnforced({ ...wire, capabilities: ["refused_bans"] });
  expect([read.refused.size, read.refusedTotal]).toEqual([3, 3]);
});

test("one that has no prefix is only counted", () => {
  const nameless = { prefix: null, isVirtual: false, cause: "unreadable", reason: "must be an object" } as const;
  expect(refusalsToWire([nameless])).toEqual({ refused_bans: [], refused_bans_total: 1 });
});

test.each([REFUSED_BANS_LISTED_MAX - 1, REFUSED_BANS_LISTED_MAX, REFUSED_BANS_LISTED_MAX + 1])(
  "of %d bans no more are listed than a report has room for, whatever the reasons",
  (count) => {
    const wire = refusalsToWire(refused(count, (i) => `${i} ${"\u0001".repeat(500)}`));
    expect(wire.refused_bans_total).toBe(count);
    expect(wire.refused_bans).toHaveLength(REFUSAL_REASONS_MAX);
    expect(wire.refused_bans.flatMap(({ prefixes }) => prefixes)).toHaveLength(
      Math.min(count, REFUSED_BANS_LISTED_MAX),
    );
    for (const { reason } of wire.refused_bans) expect(reason.length).toBeLessThanOrEqual(REFUSAL_CHARACTERS_MAX);
    // Half a kilobyte an interface is left for what else a report has.
    expect(JSON.stringify(wire).length).toBeLessThan(BODY_BYTES_MAX - 8192);
  },
);

test.each(ROOM_LIMITS)("a report has room for the whole remedy of %s", (limit) => {
  const [without] = withoutRoomOf([{ prefix: prefix("192.0.2.1/32"), limit }]);
  expect(without?.reason.length).toBeLessThanOrEqual(REFUSAL_CHARACTERS_MAX);
});

test("a refused ban keeps its rules from before, and none once it is to be in dry run", () => {
  const [asked, before] = [prefix("192.0.2.1/32"), prefix("192.0.2.2/32")];
  const held = (target: RefusedBan["prefix"] & {}) => ({
    ...{ prefix: target, isVirtual: false, expiresAtMs: 1, rules: [], filter: null },
  });
  const refusal = (isVirtual: boolean) => [{ prefix: before, isVirtual, cause: "unreadable", reason: "no" } as const];
  const kept = (isVirtual: boolean) => withLastGood([held(asked)], refusal(isVirtual), [held(before)]);
  expect(kept(false)).toEqual([held(asked), held(before)]);
  expect(kept(true)).toEqual([held(asked)]);
});
