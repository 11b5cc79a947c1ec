import { expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { reasonSentences } from "./reason.ts";

const shares = { shares: {}, dominant_share_gate: 0.5 };
const attack = (reason: Partial<AttackWire["reason"]>) =>
  ({
    metric: "pps",
    threshold: 3000,
    group: "web",
    reason: { threshold_source: "static", ...shares, ...reason },
  }) as AttackWire;

test("a fixed threshold is named with its hostgroup", () => {
  expect(reasonSentences(attack({}))).toEqual([
    "Packets went over 3.00 kpps.",
    "It was the fixed threshold of hostgroup web.",
  ]);
  expect(reasonSentences({ ...attack({}), active: true })[1]).toBe("It is the fixed threshold of hostgroup web.");
});

test("a fixed threshold in the place of a baseline says until when", () => {
  const sentences = reasonSentences(
    attack({ baseline_configured: true, warming_up: true, warmup_remaining_seconds: 90 }),
  );
  expect(sentences[1]).toEndWith("was still being learned then (1 min 30 s left).");
});

test.each([
  [undefined, "Recent normal is"],
  ["hour_of_week", "Normal at this hour of the week is"],
] as const)("a baseline explains its limit (%s)", (normal_of, begin) => {
  const baseline = { normal: 1000, factor: 3, floor: 500, ceiling: 10_000 };
  const sentences = reasonSentences(
    attack({ threshold_source: "baseline", baseline, ...(normal_of === undefined ? {} : { normal_of }) }),
  );
  expect(sentences[1]).toStartWith(begin);
  expect(sentences[1]).toEndWith(
    "1.00 kpps; 3 times that is the limit, but never less than 500 pps nor more than 10.0 kpps.",
  );
});
