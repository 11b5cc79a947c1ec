import { expect, test } from "bun:test";
import { type OrderEnd, orderEndEvents } from "./order-end.ts";

const END: OrderEnd = {
  kind: "filter_rule",
  target: "no-chargen",
  end: "expired",
  dropped: { packets: 7, bytes: 700 },
  isDryRun: false,
};

test("the end of a rule or a block is a row without a caller that says what was dropped", () => {
  expect(orderEndEvents([END], 5)).toEqual([
    {
      ...{ wallMs: 5, action: "filter_rule", result: "cleared", target: "no-chargen", targetType: "rule" },
      ...{ operator: "", role: "", tenant: "", source: "auto", banState: "", dryRun: false },
      reason: "expired: dropped 7 packets, 700 bytes",
    },
  ]);
  const block = { ...END, kind: "source_block", target: "198.51.100.1->192.0.2.1", end: "victim_whitelisted" } as const;
  expect(orderEndEvents([{ ...block, isDryRun: true }], 5)).toMatchObject([
    {
      ...{ action: "source_unblock", result: "removed", target: block.target, targetType: "source", dryRun: true },
      reason: "victim whitelisted: would have dropped 7 packets, 700 bytes",
    },
  ]);
  expect(orderEndEvents([{ ...END, dropped: null }], 5)[0]?.reason).toBe("expired: what it dropped is not known");
});

test("of very many ends at once a hundred have their rows, and one row has the sum of the others", () => {
  expect(orderEndEvents(Array(100).fill(END), 5).length).toBe(100);
  const ends = Array.from({ length: 103 }, (_, i) => ({
    ...END,
    target: `r${i}`,
    dropped: i === 102 ? null : END.dropped,
  }));
  const rows = orderEndEvents(ends, 5);
  expect(rows.length).toBe(101);
  expect(rows[99]?.target).toBe("r99");
  expect(rows[100]).toMatchObject({
    target: "",
    reason: "3 more filter rules expired: dropped 14 packets, 1400 bytes",
  });
});
