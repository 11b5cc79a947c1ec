import { expect, test } from "bun:test";
import { highestName, highestText } from "./highest.ts";

const exact = { max_pps: 5000, max_mbps: 4, max_flows_per_sec: 3 };
const errorOf = (pps: number) => ({ max_sampling_error: { pps, mbps: 0.25, flows_per_sec: 0 } });

test("the highest rate has the error of its point, and none where it is exact", () => {
  expect(highestText([null, exact, { ...exact, max_pps: 60_000, ...errorOf(0.12) }], "pps")).toBe("60.0 kpps ± 12 %");
  expect(highestText([{ ...exact, max_pps: 100, ...errorOf(0.9) }, exact], "pps")).toBe("5.00 kpps");
  expect(highestText([{ ...exact, ...errorOf(0.5) }], "flows_per_sec")).not.toContain("±");
  expect(highestText([null], "pps")).toBeNull();
});

test("a line of highest rates is named with the largest of their errors", () => {
  const points = [exact, null, { ...exact, ...errorOf(0.12) }, { ...exact, ...errorOf(0.4) }];
  expect(highestName("Highest", points, "pps")).toBe("Highest (up to ± 40 %)");
  expect(highestName("Highest", [exact, null], "pps")).toBe("Highest");
});
