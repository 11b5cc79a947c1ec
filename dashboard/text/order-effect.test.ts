import { expect, test } from "bun:test";
import type { FilterRulePreviewWire } from "../../src/http/wire/order-effect.ts";
import { EMPTY_RULE } from "./filter-rules.ts";
import { blockPreviewSentences, canPreview, needsName, rulePreviewSentences } from "./order-effect.ts";

type Effect = FilterRulePreviewWire["effect"];

const EFFECT = {
  ...{ available: true, headers: 812, seconds: 60, hosts: 120, hostgroups: ["global", "web"], not_judged: [] },
  total: { pps: 19_200, mbps: 154 },
  unattacked: { pps: 18_624, mbps: 150 },
  matched: { pps: 19_200, mbps: 154 },
  dropped: { pps: 19_200, mbps: 154 },
  dropped_unattacked: { pps: 18_624, mbps: 150 },
  dropped_before: { pps: 0, mbps: 0 },
  ...{ packets_share: 1, bits_share: 1, unattacked_share: 0.97, collateral_share: 1 },
} as const satisfies Effect;

function preview(effect: object = {}, rest: Partial<FilterRulePreviewWire> = {}): FilterRulePreviewWire {
  const rule = { name: "all", action: "drop", when: "always", dry_run: false, match: "any", origin: "order" } as const;
  return { rule, hides: [], effect: { ...EFFECT, ...effect }, ...rest };
}

test("the effect of a rule is how much of which traffic, of how many hosts, and how much of it is no attack's", () => {
  expect(rulePreviewSentences(preview({}, { hides: ["own"] }))).toEqual([
    "It would drop 100 % of 19.2 kpps (154 Mbit/s) to 120 hosts, 97 % of it in no attack.",
    "Hostgroups: global, web.",
    "By 812 sampled headers of the last 60 seconds.",
    "Behind it never match: own.",
  ]);
});

test("a dry run, a rule that lets pass and one that matches nothing are what they are", () => {
  const { rule } = preview();
  const first = (effect: object, changes: object) =>
    rulePreviewSentences(preview(effect, { rule: { ...rule, ...changes } }))[0];
  expect(first({}, { dry_run: true })).toMatch(/^It would count 100 % .* as dropped, .*, and drop nothing\.$/);
  const before = { dropped_before: { pps: 200, mbps: 1 } };
  expect(first(before, { action: "pass" })).toBe(
    "It would let pass 19.2 kpps to 120 hosts, of which 200 pps was dropped.",
  );
  expect(first({ dropped: { pps: 0, mbps: 0 } }, {})).toBe("It would have dropped nothing in the last minute.");
});

test("what is not known, what headers do not show and a refusal are said", () => {
  const unknown = preview(
    {},
    { refusal: "25 rules are ordered", effect: { available: false, reason: "no data plane" } },
  );
  expect(rulePreviewSentences(unknown)).toEqual([
    "Floodwall would refuse it: 25 rules are ordered.",
    "Its effect is not known: no data plane.",
  ]);
  expect(rulePreviewSentences(preview({ not_judged: ["source_sets"] }))).toContain(
    "At most: sampled headers do not show source_sets.",
  );
  const block = { source: "198.51.100.9", victim: "192.0.2.1", dry_run: false, effect: EFFECT };
  expect(blockPreviewSentences(block)[0]).toStartWith("It would drop 100 %");
});

test("the name is typed again for all traffic, and above a tenth of what is in no attack", () => {
  const narrow = { ...EMPTY_RULE, protocol: "udp" } as const;
  expect(needsName(EMPTY_RULE, null)).toBe(true);
  expect(needsName({ ...EMPTY_RULE, action: "pass" }, null)).toBe(true);
  expect(needsName({ ...EMPTY_RULE, effect: "counts" }, preview())).toBe(false);
  expect(needsName(narrow, null)).toBe(false);
  expect(needsName(narrow, preview({ collateral_share: 0.1 }))).toBe(false);
  expect(needsName(narrow, preview({ collateral_share: 0.101 }))).toBe(true);
  expect(needsName({ ...EMPTY_RULE, destinations: "192.0.2.1" }, null)).toBe(false);
  expect(needsName({ ...EMPTY_RULE, more: '{"ttl": "1-5"}' }, null)).toBe(false);
});

test("a limit has a preview once it has a rate", () => {
  const limit = { ...EMPTY_RULE, action: "limit" } as const;
  expect([canPreview(limit), canPreview({ ...limit, mbps: "1" }), canPreview(EMPTY_RULE)]).toEqual([false, true, true]);
});
