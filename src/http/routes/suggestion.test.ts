/** What a mark of an attack says of thresholds. */
import { expect, test } from "bun:test";
import { attack } from "../../../test/fixtures/views.ts";
import { beginOf, markedPeak } from "./suggestion.ts";

test("seven days are whole ones at each time of the day", () => {
  for (const time of ["2026-03-08T00:00:00Z", "2026-03-08T12:50:08Z", "2026-03-08T23:59:59Z"])
    expect(new Date(beginOf(7, Date.parse(time))).toISOString(), time).toBe("2026-03-01T00:00:00.000Z");
});

test("an attack that ended had at least the threshold that it crossed, whatever its last rates are", () => {
  const calm = { rates: [10, 1, 5], volume: null };
  const of = (metric: "pps" | "mbps" | "flows_per_sec" | "tcp_syn_pps") =>
    markedPeak(attack({ ...calm, metric, threshold: 400 }), "false_alarm").map(({ peak }) => peak);
  expect(of("flows_per_sec")).toEqual([{ pps: 10, mbps: 1, flowsPerSec: 400 }]);
  expect(of("mbps")).toEqual([{ pps: 10, mbps: 400, flowsPerSec: 5 }]);
  expect(of("tcp_syn_pps")).toEqual([{ pps: 10, mbps: 1, flowsPerSec: 5 }]);
});
