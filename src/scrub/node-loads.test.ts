import { beforeEach, describe, expect, test } from "bun:test";
import { NodeLoads, SETTLED_MS, UNKNOWN_SHARE } from "./node-loads.ts";

let loads: NodeLoads;
const used = (node = "s1") => loads.utilizationOf(node, 1000);

beforeEach(() => {
  loads = new NodeLoads();
});

describe("a node's load", () => {
  test("is nothing of which nothing is known", () => {
    expect([used(), loads.bansOf("s1")]).toEqual([0, 0]);
  });

  test("is what it reported, and what was diverted to it since", () => {
    loads.reported("s1", 300, 0);
    loads.place("b1", "s1", 200, 1);
    expect(used()).toBe(0.5);
  });

  test("counts a ban of an unknown rate too, so that not all go to one node", () => {
    loads.place("b1", "s1", null, 0);
    expect(used()).toBe(UNKNOWN_SHARE);
  });

  test.each([
    [SETTLED_MS - 1, 0.7],
    [SETTLED_MS, 0.5],
  ])("counts a ban besides until a report %d ms later may know of it: %d", (ms, expected) => {
    loads.place("b1", "s1", 200, 0);
    loads.reported("s1", 500, ms);
    expect(used()).toBe(expected);
  });

  test("counts all bans where the reports say nothing of it", () => {
    loads.place("b1", "s1", 200, 0);
    loads.reported("s1", null, 10 * SETTLED_MS);
    expect(used()).toBe(0.2);
  });

  test("goes with a ban that ends or moves", () => {
    loads.place("b1", "s1", 200, 0);
    loads.place("b2", "s1", 100, 0);
    loads.place("b1", "s2", 200, 1);
    expect([used("s1"), used("s2"), loads.bansOf("s1"), loads.nodeOf("b1")]).toEqual([0.1, 0.2, 1, "s2"]);
    loads.place("b1", null, 200, 2);
    loads.place("b2", null, null, 2);
    expect([used("s1"), used("s2"), loads.bansOf("s1"), loads.nodeOf("b1")]).toEqual([0, 0, 0, null]);
  });

  test("counts a ban once that is only extended", () => {
    loads.place("b1", "s1", 200, 0);
    loads.place("b1", "s1", 900, 5);
    expect([used(), loads.bansOf("s1")]).toEqual([0.2, 1]);
  });
});

test("a node that a reload removes is dropped, except for bans that must still move", () => {
  loads.reported("s1", 300, 0);
  loads.place("b1", "s1", 200, 0);
  loads.forget(() => false);
  expect([used(), loads.bansOf("s1")]).toEqual([0.2, 1]);
  loads.place("b1", null, null, 1);
  expect(used()).toBe(0);
});
