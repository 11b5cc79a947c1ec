import { expect, test } from "bun:test";
import { FairQueue, type Tenant } from "./fair-queue.ts";

function queueOf(...items: readonly (readonly [Tenant, string])[]): FairQueue<string> {
  const queue = new FairQueue<string>();
  for (const [tenant, item] of items) queue.push(tenant, item);
  return queue;
}

const all = (queue: FairQueue<string>) => Array.from({ length: queue.size }, () => queue.shift());

test("tenants take turns, and every other turn is the administrator's", () => {
  const many = ["a1", "a2", "a3", "a4"].map((item) => ["a", item] as const);
  const queue = queueOf(...many, ["b", "b1"], ["b", "b2"], [null, "x1"], [null, "x2"], [null, "x3"]);
  expect(all(queue)).toEqual(["x1", "a1", "x2", "b1", "x3", "a2", "b2", "a3", "a4"]);
  expect(queue.shift()).toBeUndefined();
});

test("one tenant alone is served in its order, and so is the administrator", () => {
  expect(all(queueOf(["a", "1"], ["a", "2"], ["a", "3"]))).toEqual(["1", "2", "3"]);
  expect(all(queueOf([null, "1"], [null, "2"], [null, "3"]))).toEqual(["1", "2", "3"]);
});

test("the newest of the tenant with the most is dropped", () => {
  const queue = queueOf(["a", "a1"], ["b", "b1"], ["a", "a2"], [null, "x1"], ["a", "a3"]);
  expect([queue.dropOfLargest(), queue.dropOfLargest()]).toEqual(["a3", "a2"]);
  expect(queue.size).toBe(3);
  expect(new Set(all(queue))).toEqual(new Set(["a1", "b1", "x1"]));
});

test("the old ones are taken of each tenant", () => {
  const queue = queueOf(["a", "1"], ["a", "3"], [null, "2"], ["a", "1"]);
  expect(queue.takeOldestWhile((item) => item < "3")).toEqual(["1", "2"]);
  expect(queue.size).toBe(2);
});
