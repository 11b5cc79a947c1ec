import { expect, test } from "bun:test";
import { classification } from "../../../test/fixtures/views.ts";
import type { Classification } from "./classifier.ts";
import { isNewKind, NO_VERDICT, nextVerdict } from "./verdict.ts";

const of = (type: Classification["type"], ...others: Classification["type"][]): Classification =>
  classification({
    type,
    sourcePort: null,
    parts: [type, ...others].map((part) => ({ type: part, share: 0.5, sourcePort: null })),
  });
const DNS = of("dns_amplification");
const SYN = of("syn_flood");
const ACK = of("ack_flood");

/** The accepted kind after each classification. */
function held(...found: (Classification | null)[]): (string | null)[] {
  let verdict = NO_VERDICT;
  return found.map((classification) => {
    verdict = nextVerdict(verdict, classification);
    return verdict.held?.type ?? null;
  });
}

test("the first judgement counts at once, and no judgement changes nothing", () => {
  expect(held(null, DNS, null)).toEqual([null, "dns_amplification", "dns_amplification"]);
});

test("another kind counts when it was found twice in a row", () => {
  expect(held(DNS, SYN, SYN)).toEqual(["dns_amplification", "dns_amplification", "syn_flood"]);
  expect(held(DNS, SYN, null, SYN).at(-1)).toBe("syn_flood");
});

test("kinds that take turns change nothing", () => {
  expect(new Set(held(DNS, SYN, DNS, SYN, DNS, SYN, ACK, SYN))).toEqual(new Set(["dns_amplification"]));
});

test("the same kind updates its shares, and drops the candidate found in between", () => {
  const first = nextVerdict(NO_VERDICT, DNS);
  const doubted = nextVerdict(first, SYN);
  const again = nextVerdict(doubted, { ...DNS, confidence: 0.7 });
  expect(again).toEqual({ held: { ...DNS, confidence: 0.7 }, candidate: null });
  expect(isNewKind(first, again)).toBe(false);
});

test("another part makes it another kind, another order of parts does not", () => {
  const before = { held: of("syn_flood", "udp_flood"), candidate: null };
  expect(isNewKind(before, { held: of("syn_flood", "icmp_flood"), candidate: null })).toBe(true);
  const turned = { ...of("syn_flood"), parts: of("udp_flood", "syn_flood").parts };
  expect(isNewKind(before, { held: turned, candidate: null })).toBe(false);
  expect(isNewKind(NO_VERDICT, before)).toBe(true);
  expect(isNewKind(NO_VERDICT, NO_VERDICT)).toBe(false);
});
