import { expect, test } from "bun:test";
import { EventKeys, faultKey, oppositeKey } from "./event-keys.ts";

test("events of one kind about a subject are numbered", () => {
  const keys = new EventKeys();
  expect([keys.numbered("changed", "x"), keys.numbered("changed", "x"), keys.numbered("changed", "y")]).toEqual([
    "changed x 1",
    "changed x 2",
    "changed y 1",
  ]);
});

test("those of what was restored go on after the numbers of other brains, those of what began since do not", () => {
  const keys = new EventKeys();
  keys.wereBefore(["changed x 4", "changed x 3", "changed y 7", "fault scrub_node_lost s1"]);
  expect([keys.numbered("changed", "x", true), keys.numbered("changed", "x", true)]).toEqual([
    "changed x 5",
    "changed x 6",
  ]);
  expect(keys.numbered("changed", "y")).toBe("changed y 1");
});

test("what was restored goes on after them, too, if they become known after its first event", () => {
  const keys = new EventKeys();
  const restored = () => keys.numbered("changed", "x", true);
  expect(restored()).toBe("changed x 1");
  keys.wereBefore(["changed x 4"]);
  expect([restored(), restored()]).toEqual(["changed x 5", "changed x 6"]);
});

test("a subject with another id goes on with the larger number", () => {
  const keys = new EventKeys();
  for (const subject of ["x", "x", "w"]) keys.numbered("changed", subject);
  keys.renamed(new Map([["x", "w"]]));
  expect([keys.numbered("changed", "w"), keys.numbered("changed", "x")]).toEqual(["changed w 3", "changed x 1"]);
});

test("the begin of a fault and its end know each other", () => {
  const [begin, end] = [faultKey("exporter_fault", "192.0.2.1 a b"), faultKey("exporter_fault_over", "192.0.2.1 a b")];
  expect([oppositeKey(begin), oppositeKey(end), oppositeKey("attack_started x 1")]).toEqual([end, begin, null]);
});
