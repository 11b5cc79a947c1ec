/** What a row of the table says, and when it is held. */
import { describe, expect, test } from "bun:test";
import { type Outcome, rowFrom } from "./trial.ts";

const GOOD: Outcome = {
  ...{ name: "SYN", sent: 200_000, share: 0.01, isAlive: true, pauseMs: 110.4, done: "challenged 1" },
  served: { requests: 100, served: 99, medianMs: 9.6, slowestMs: 80 },
};
const served = (count: number, requests = 100) => ({ ...GOOD.served, requests, served: count });

describe("a row", () => {
  test("says what was measured", () => {
    const { cells, isHeld } = rowFrom(GOOD);
    expect(isHeld).toBe(true);
    expect(cells).toEqual([
      ...["SYN", "200000", "1.00 %", "99 of 100", "10, 80 ms", "lives, waited 110 ms at most", "challenged 1", "held"],
    ]);
  });

  test.each<[string, Partial<Outcome>]>([
    ["more came through", { share: 0.0101 }],
    ["fewer were served", { served: served(98) }],
    ["no user sent a request", { served: served(0, 0) }],
    ["the connection was lost", { isAlive: false }],
  ])("is not held where %s", (_, change) => {
    const { cells, isHeld } = rowFrom({ ...GOOD, ...change });
    expect([cells.at(-1), isHeld]).toEqual(["NOT HELD", false]);
  });
});
