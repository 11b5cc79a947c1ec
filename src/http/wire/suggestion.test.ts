/** Proposed thresholds on the wire. */
import { expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { SuggestionWire, suggestionToWire } from "./suggestion.ts";

const trio = (pps: number) => ({ pps, mbps: 1, flowsPerSec: 2 });
const GROUP = {
  ...{ name: "web", direction: "incoming" as const, hosts: 1, busiest: [], isOutlier: false },
  ...{ seen: trio(1000), thresholds: trio(8000) },
};

test("a proposal that marks raise says why, also as a comment of the lines for the configuration", () => {
  const raised = { attacks: 2, highest: trio(9000), isBounded: true, hidesReal: 1 };
  const made = { kind: "suggested" as const, days: 14, leftOut: 0, groups: [{ ...GROUP, raised }] };
  const wire = suggestionToWire(made, 2);
  expect(Value.Check(SuggestionWire, wire)).toBe(true);
  expect(wire.hostgroups[0]?.raised).toEqual({
    ...{ attacks: 2, highest: { pps: 9000, mbps: 1, flows_per_sec: 2 }, bounded: true, hides_real: 1 },
  });
  const [, comment] = wire.yaml?.split("\n") ?? [];
  expect(comment).toMatch(
    /^# web, incoming: raised for 2 attacks .* up to 9000 packets\/s.* no more than 4 times .*1 attacks marked as real/,
  );
  expect([wire, suggestionToWire(made, 2, false)].map((each) => each.marks_left_out)).toEqual([undefined, true]);
  expect(suggestionToWire(made, 2, false).yaml).toContain("marks of the oldest attacks do not count");
  const plain = suggestionToWire({ ...made, groups: [{ ...GROUP, raised: null }] }, 2);
  expect(plain.hostgroups[0]).not.toHaveProperty("raised");
  expect(plain.yaml).not.toContain("raised");
});
