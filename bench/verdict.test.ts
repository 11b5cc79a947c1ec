import { describe, expect, test } from "bun:test";
import { compared, figure, type Measurement } from "./measurement.ts";
import { verdictOf } from "./verdict.ts";

const QUIET = { stolen: 0.02, others: 0.1 };

interface Runs {
  readonly ours: readonly number[];
  readonly rival: readonly number[];
  readonly source?: readonly number[];
  readonly ratioMin?: number | null;
}

function row({ ours, rival, source, ratioMin = 0.8 }: Runs): Measurement {
  return compared({
    question: "packets counted",
    unit: "packets/s",
    ours: figure("Floodwall", ours),
    rival: figure("a rival", rival),
    ratioMin,
    ...(source !== undefined && { sourceAlone: figure("source alone", source) }),
  });
}

describe("the ratio of ours to a rival", () => {
  test("is the median of the ratios of neighboring runs, whatever the medians are", () => {
    const { ratio, isMet } = row({ ours: [90, 10, 50], rival: [100, 10, 40] });
    expect(ratio).toMatchObject({ median: 1, least: 0.9, most: 1.25, runs: 3, values: [0.9, 1, 1.25] });
    expect(isMet).toBe(true);
  });

  test("meets a target that it reaches exactly, and none below", () => {
    expect(verdictOf(row({ ours: [80], rival: [100] }), QUIET).word).toBe("met");
    expect(verdictOf(row({ ours: [79], rival: [100] }), QUIET).word).toBe("SHORT");
    expect(verdictOf(row({ ours: [1], rival: [100], ratioMin: null }), QUIET).word).toBe("");
  });

  test("needs the same number of runs", () => {
    expect(() => row({ ours: [1, 2], rival: [1] })).toThrow("Floodwall ran 2 times, a rival 1");
  });
});

describe("a row is not measured", () => {
  test("when the ratios of its runs differ by more than 1.5 ×", () => {
    expect(verdictOf(row({ ours: [100, 150], rival: [100, 100] }), QUIET).word).toBe("met");
    expect(verdictOf(row({ ours: [100, 151], rival: [100, 100] }), QUIET)).toEqual({
      word: "not measured",
      reasons: ["the ratios of the runs differ by 1.51 ×"],
    });
    expect(verdictOf(row({ ours: [0, 0], rival: [0, 1] }), QUIET).word).toBe("not measured");
  });

  test.each([
    ["ours", { ours: [95, 95], rival: [60, 60] }],
    ["the rival", { ours: [60, 60], rival: [95, 95] }],
  ])("when %s takes 95 %% of what the source sends alone", (_, runs) => {
    const reasons = ["the traffic source was the limit (95.0 % of what it sends alone)"];
    expect(verdictOf(row({ ...runs, source: [100, 100] }), QUIET)).toEqual({ word: "not measured", reasons });
    expect(verdictOf(row({ ...runs, source: [101, 101] }), QUIET).word).not.toBe("not measured");
  });

  test("when others used the machine, unless its figure does not depend on the speed", () => {
    const speed = row({ ours: [1], rival: [1] });
    expect(verdictOf(speed, { stolen: 0.021, others: 0.11 }).reasons).toEqual([
      "the hypervisor took 2.1 % of the CPU time",
      "other processes took 11.0 % of the CPU time",
    ]);
    expect(verdictOf({ ...speed, isExact: true }, { stolen: 1, others: 1 }).word).toBe("met");
  });
});
