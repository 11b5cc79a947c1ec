import { expect, test } from "bun:test";
import { processSignals } from "./signals.ts";

test("a handler is called at each arrival until it is taken off", () => {
  let arrivals = 0;
  // Where namespaces were opened in this process, a signal that nothing else handles ends it.
  const offOther = processSignals.on("SIGHUP", () => {});
  const off = processSignals.on("SIGHUP", () => arrivals++);
  process.emit("SIGHUP", "SIGHUP");
  process.emit("SIGHUP", "SIGHUP");
  off();
  process.emit("SIGHUP", "SIGHUP");
  offOther();
  expect(arrivals).toBe(2);
});
