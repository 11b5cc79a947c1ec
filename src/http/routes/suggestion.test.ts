/** What a mark of an attack says of thresholds. */
import { expect, test } from "bun:test";
import { attack } from "../../../test/fixtures/views.ts";
import { markedPeak } from "./suggestion.ts";

test("an attack that ended had at least the threshold that it crossed, whatever its last rates are", () => {
  const calm = { rates: [10, 1, 5], volume: null };
  const of = (metric: "pps" | "mbps" | "flows_per_sec" | "tcp_syn_pps") =>
    markedPeak(attack({ ...calm, metric, threshold: 400 }), "false_alarm").map(({ peak }) => peak);
  expect(of("flows_per_sec")).toEqual([{ pps: 10, mbps: 1, flowsPerSec: 400 }]);
  expect(of("mbps")).toEqual([{ pps: 10, mbps: 400, flowsPerSec: 5 }]);
  expect(of("tcp_syn_pps")).toEqual([{ pps: 10, mbps: 1, flowsPerSec: 5 }]);
});
