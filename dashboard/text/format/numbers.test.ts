import { expect, test } from "bun:test";
import { bitRate, byteCount, newFlowRate, packetRate, percent, rateOf, scaled, times, wholeNumber } from "./numbers.ts";

test.each([
  [0, "0"],
  [-0.001, "0"],
  [7, "7"],
  [0.25, "0.25"],
  [12.34, "12"],
  [980, "980"],
  [999.4, "999"],
  [999.6, "1.00 k"],
  [1000, "1.00 k"],
  [9950, "9.95 k"],
  [12_345, "12.3 k"],
  [99_960, "100 k"],
  [1_240_000, "1.24 M"],
  [3.4e9, "3.40 G"],
  [-5, "−5"],
  [Number.NaN, "–"],
])("%d is written %s", (value, text) => {
  expect(scaled(value)).toBe(text);
});

test("a rate has its unit, by its metric", () => {
  expect(packetRate(950)).toBe("950 pps");
  expect(packetRate(1_240_000)).toBe("1.24 Mpps");
  expect(bitRate(3400)).toBe("3.40 Gbit/s");
  expect(byteCount(1500)).toBe("1.50 kB");
  expect(rateOf("tcp_syn_mbps", 0.5)).toBe("500 kbit/s");
  expect(rateOf("udp_pps", 10)).toBe("10 pps");
  expect(rateOf("flows_per_sec", 35_000)).toBe("35.0 kflows/s");
  expect([newFlowRate(0, false), newFlowRate(12, true)]).toEqual(["0 new flows/s", "at least 12 new flows/s"]);
});

test("a share that is nearly all is not all, and with its rest it is the whole", () => {
  expect([percent(0.996), percent(0.004)]).toEqual(["99.6 %", "0.4 %"]);
  expect([percent(0.9949), percent(0.99996), percent(1 - 1e-12), percent(1.2)]).toEqual([
    "99 %",
    "99.9 %",
    "100 %",
    "120 %",
  ]);
});

test("whole numbers, shares and factors", () => {
  expect(wholeNumber(1_234_567)).toBe("1\u202f234\u202f567");
  expect([percent(0), percent(0.004), percent(0.5), percent(1)]).toEqual(["0 %", "0.4 %", "50 %", "100 %"]);
  expect([times(1.26), times(12.2), times(1234)]).toEqual(["1.3×", "12×", "1\u202f234×"]);
});
