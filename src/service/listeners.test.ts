import { expect, test } from "bun:test";
import { Listeners } from "./listeners.ts";

test("all listeners are called in order, also after one that fails", () => {
  const received: string[] = [];
  const faults: unknown[] = [];
  const listeners = new Listeners<string>((cause) => faults.push(cause));
  const bug = new Error("bug");
  listeners.add((event) => received.push(`first ${event}`));
  listeners.add(() => {
    throw bug;
  });
  listeners.add((event) => received.push(`third ${event}`));
  listeners.emit("a");
  listeners.emit("b");
  expect(received).toEqual(["first a", "third a", "first b", "third b"]);
  expect(faults).toEqual([bug, bug]);
});
