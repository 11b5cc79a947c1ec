import { expect, test } from "bun:test";
import { BRAINS_MAX, ConnectionBounds, STRANGERS_A_SECOND, STRANGERS_MAX } from "./connection-bounds.ts";

const [BRAIN, STRANGER] = ["192.0.2.1", "198.51.100.1"];
const admitted = (bounds: ConnectionBounds, address: string, count: number, nowMs = 0) =>
  Array.from({ length: count }, () => bounds.admit(address, nowMs)).filter((leave) => leave !== null);

test("strangers have their places, and take none of those of brains", () => {
  const bounds = new ConnectionBounds([BRAIN]);
  const strangers = admitted(bounds, STRANGER, STRANGERS_MAX + 1);
  expect(strangers).toHaveLength(STRANGERS_MAX);
  expect(admitted(bounds, BRAIN, BRAINS_MAX + 1)).toHaveLength(BRAINS_MAX);
  strangers[0]?.();
  expect(admitted(bounds, STRANGER, 2)).toHaveLength(1);
});

test("strangers who come and go begin no more handshakes in a second than the bound", () => {
  const bounds = new ConnectionBounds([BRAIN]);
  const comeAndGo = (nowMs: number) => {
    const leave = bounds.admit(STRANGER, nowMs);
    leave?.();
    return leave !== null;
  };
  const begun = Array.from({ length: 100 }, () => comeAndGo(500)).filter((isBegun) => isBegun);
  expect(begun).toHaveLength(STRANGERS_A_SECOND);
  expect([comeAndGo(999), comeAndGo(1000)]).toEqual([false, true]);
});
