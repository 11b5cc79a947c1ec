import { expect, test } from "bun:test";
import { CONDITION_ENDS, CONDITION_KINDS, CONDITIONS, conditionOf, isConditionEnd } from "./condition.ts";
import { type ConditionReading, ConditionWatch } from "./condition-watch.ts";

function setup() {
  const watch = new ConditionWatch();
  const at = (ms: number, ...readings: readonly ConditionReading[]) =>
    watch.take(readings, ms).map(({ name, found, isOver }) => `${name}: ${isOver ? "over" : found}`);
  return at;
}

const losing = (found: string | null): ConditionReading => ({ kind: "capture_losing", name: "eth0", found });
const lost = (name: string, found: string | null): ConditionReading => ({ kind: "scrub_node_lost", name, found });
const { beginsAfterMs = 0, endsAfterMs = 0 } = CONDITIONS.capture_losing;

test("a condition begins once it has lasted, and is not repeated", () => {
  const at = setup();
  expect(at(0, losing("1 of 10"))).toEqual([]);
  expect(at(beginsAfterMs - 1, losing("2 of 10"))).toEqual([]);
  expect(at(beginsAfterMs, losing("3 of 10"))).toEqual(["eth0: 3 of 10"]);
  expect(at(beginsAfterMs + 1, losing("4 of 10"))).toEqual([]);
});

test("one that breaks off before is none, and its time begins again", () => {
  const at = setup();
  at(0, losing("1 of 10"));
  at(beginsAfterMs - 1, losing(null));
  at(beginsAfterMs, losing("2 of 10"));
  expect(at(2 * beginsAfterMs - 1, losing("3 of 10"))).toEqual([]);
  expect(at(2 * beginsAfterMs, losing("4 of 10"))).toEqual(["eth0: 4 of 10"]);
});

test("one that comes and goes is one problem: it ends once it has been absent", () => {
  const at = setup();
  at(0, losing("1 of 10"));
  at(beginsAfterMs, losing("1 of 10"));
  const end = beginsAfterMs + 1 + endsAfterMs;
  expect(at(beginsAfterMs + 1, losing(null))).toEqual([]);
  expect(at(end - 1, losing("again"))).toEqual([]);
  expect(at(end, losing(null))).toEqual([]);
  expect(at(end + endsAfterMs - 1, losing(null))).toEqual([]);
  expect(at(end + endsAfterMs, losing(null))).toEqual(["eth0: over"]);
});

test("the parts of a kind are independent, and the end of one that was removed is notified if its begin was", () => {
  const at = setup();
  expect(at(0, lost("s1", "no poll"), lost("s2", null), lost("s3", "no poll"))).toEqual(["s1: no poll", "s3: no poll"]);
  expect(at(1, lost("s1", null))).toEqual(["s1: over", "s3: over"]);
  expect(at(2)).toEqual([]);
});

test("each kind has one end", () => {
  for (const kind of CONDITION_KINDS) {
    expect([conditionOf(kind), isConditionEnd(kind)]).toEqual([kind, false]);
    expect([conditionOf(CONDITION_ENDS[kind]), isConditionEnd(CONDITION_ENDS[kind])]).toEqual([kind, true]);
  }
});

test("one that an earlier process notified is not repeated, stays while it is not known, and ends once", () => {
  const watch = new ConditionWatch();
  const restored = () => watch.restore("scrub_node_lost", { name: "s1", found: "no poll for 15 s" });
  const at = (ms: number, ...readings: readonly ConditionReading[]) =>
    watch.take(readings, ms).map(({ name, found, isOver }) => `${name}: ${isOver ? "over" : found}`);
  restored();
  expect(at(0, { ...lost("s1", null), isUnknown: true })).toEqual([]);
  expect(at(1000, lost("s1", "no poll for 15 s"))).toEqual([]);
  expect(at(2000, lost("s1", null))).toEqual(["s1: over"]);
  expect(at(3000, lost("s1", null))).toEqual([]);
  restored();
  expect(at(4000)).toEqual(["s1: over"]);
});
