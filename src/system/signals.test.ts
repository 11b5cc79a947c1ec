import { expect, test } from "bun:test";
import { processSignals } from "./signals.ts";

test("a handler is called at each arrival until it is taken off", () => {
  let arrivals = 0;
  const off = processSignals.on("SIGHUP", () => arrivals++);
  process.emit("SIGHUP", "SIGHUP");
  process.emit("SIGHUP", "SIGHUP");
  off();
  process.emit("SIGHUP", "SIGHUP");
  expect(arrivals).toBe(2);
});
