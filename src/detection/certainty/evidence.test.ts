import { expect, test } from "bun:test";
import { Evidence } from "./evidence.ts";
import { SamplingRule } from "./sampling.ts";

const RULE = new SamplingRule({ windowMs: 1000, confidence: 0.99999999 });
const at = (seconds: number, sustainMs = 0) => ({ nowMs: seconds * 1000, windowMs: 1000, sustainMs });
const doubtful = { metric: 0, seen: 20, expected: 10 };

function evidence(capacity = 8) {
  const made = new Evidence<string>(capacity);
  made.begin("a", doubtful, at(0));
  return made;
}

test("an excess that lasts becomes certain, and one that does not is dropped", () => {
  const lasting = evidence();
  let seconds = 1;
  while (!lasting.add("a", { seen: 15, expected: 10 }, RULE, at(seconds))) seconds++;
  // 5 above 10 in each second: six standard deviations of the sum after about 14 seconds.
  expect([seconds > 5, seconds < 15, lasting.size]).toEqual([true, true, 0]);

  const passing = evidence();
  expect(passing.add("a", { seen: 0, expected: 10 }, RULE, at(1))).toBe(false);
  expect(passing.size).toBe(0);
});

test("what must be sustained is not certain sooner", () => {
  const certain = (seconds: number) => {
    const sum = evidence();
    for (let i = 1; i < seconds; i++) expect(sum.add("a", { seen: 40, expected: 10 }, RULE, at(i, 5000))).toBe(false);
    return sum.add("a", { seen: 40, expected: 10 }, RULE, at(seconds, 5000));
  };
  // The window that begins a sum is one of the five seconds.
  expect([certain(3), certain(4)]).toEqual([false, true]);
});

test("a window counts once, and one without samples counts too", () => {
  const doubts = evidence();
  expect([doubts.due("a", 999), doubts.due("a", 1000), doubts.due("b", 1000)]).toEqual([null, 0, null]);
  doubts.addSilence(RULE, at(0.9));
  expect(doubts.size).toBe(1);
  // The 20 samples are no more than expected in two windows.
  doubts.addSilence(RULE, at(1));
  expect(doubts.size).toBe(0);
});

test("a threshold that a reload switched off is not exceeded", () => {
  const doubts = evidence();
  expect(doubts.add("a", { seen: 1000, expected: 0 }, RULE, at(1))).toBe(false);
  expect(doubts.size).toBe(0);
});

test("one sample, or what is likely at the threshold, begins no sum", () => {
  const doubts = new Evidence<string>(8);
  doubts.begin("a", { metric: 0, seen: 1, expected: 0.0001 }, at(0));
  doubts.begin("b", { metric: 0, seen: 12, expected: 10 }, at(0));
  expect(doubts.size).toBe(0);
});

test("beyond its bound it counts what it refuses, and a sum that began stays", () => {
  const doubts = evidence(2);
  doubts.begin("b", doubtful, at(0));
  doubts.begin("c", doubtful, at(0));
  doubts.begin("a", doubtful, at(0.5));
  expect([[...doubts.keys()], doubts.refused, doubts.due("a", 1000)]).toEqual([["a", "b"], 1, 0]);
});
