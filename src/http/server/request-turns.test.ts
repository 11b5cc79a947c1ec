import { describe, expect, test } from "bun:test";
import { ManualClock } from "../../../test/fixtures/manual-clock.ts";
import { afterPromises, nextTurn } from "../../system/timers.ts";
import { REQUEST_TURN_MS, RequestTurns } from "./request-turns.ts";

/** Notes each turn of the event loop as `turn`, while requests of one millisecond each run. */
async function eventsOf(requests: number, after: (clock: ManualClock) => Promise<void>): Promise<string[]> {
  const clock = new ManualClock();
  const turns = new RequestTurns({ clock, nextTurn, afterPromises });
  const events: string[] = [];
  let isOver = false;
  const marks = (async () => {
    for (; !isOver; events.push("turn")) await nextTurn();
  })();
  const all = Array.from({ length: requests }, async (_, i) =>
    turns.run(async () => {
      events.push(String(i));
      await after(clock);
    }),
  );
  await Promise.all(all);
  isOver = true;
  await marks;
  expect(turns.waiting).toBe(0);
  return events;
}

const TAKES_1_MS = async (clock: ManualClock) => clock.advance(1);

describe("the requests of one turn of the event loop", () => {
  test("take no longer than a bound, and run in the order in which they came", async () => {
    const events = await eventsOf(20, TAKES_1_MS);
    expect(events.filter((event) => event !== "turn")).toEqual(Array.from({ length: 20 }, (_, i) => String(i)));
    const runs = events
      .join(" ")
      .split("turn")
      .map((run) => run.trim().split(" ").filter(Boolean).length);
    expect(Math.max(...runs)).toBe(REQUEST_TURN_MS);
  });

  test("count what follows at once after a promise", async () => {
    const events = await eventsOf(6, async (clock) => {
      await Promise.resolve();
      await Promise.resolve();
      clock.advance(REQUEST_TURN_MS);
    });
    const waited = events.slice(events.indexOf("turn")).join(" ");
    expect(waited).not.toMatch(/\d \d/);
  });

  test("all run at once while they take no time", async () => {
    expect((await eventsOf(1000, async () => {})).indexOf("turn")).toBe(1000);
  });
});

test("an error of one is its own, and those that wait still run", async () => {
  const clock = new ManualClock();
  const turns = new RequestTurns({ clock, nextTurn, afterPromises });
  const first = turns.run(async () => {
    clock.advance(REQUEST_TURN_MS);
    throw new Error("first");
  });
  const second = turns.run(() => {
    throw new Error("second");
  });
  const third = turns.run(() => "third");
  expect(turns.waiting).toBe(2);
  const [one, two] = await Promise.allSettled([first, second]);
  expect([one, two]).toMatchObject([{ reason: { message: "first" } }, { reason: { message: "second" } }]);
  expect(await third).toBe("third");
});

test("what is there at once is answered at once, and throws at once, while there is time", () => {
  const clock = new ManualClock();
  const turns = new RequestTurns({ clock, nextTurn, afterPromises });
  expect(turns.run(() => "first")).toBe("first");
  expect(() =>
    turns.run(() => {
      throw new Error("second");
    }),
  ).toThrow("second");
  clock.advance(REQUEST_TURN_MS);
  expect(turns.run(() => "third")).toBeInstanceOf(Promise);
});

test("what goes on after a disk's answer takes its time from the turn, one after the other", async () => {
  const clock = new ManualClock();
  const turns = new RequestTurns({ clock, nextTurn, afterPromises });
  const disk = Promise.withResolvers<void>();
  const events: string[] = [];
  const orders = Array.from({ length: 6 }, async (_, i) => {
    await disk.promise;
    await turns.goOn();
    await Promise.resolve();
    clock.advance(1);
    events.push(String(i));
  });
  disk.resolve();
  const marks = (async () => {
    for (; events.filter((event) => event !== "turn").length < 6; events.push("turn")) await nextTurn();
  })();
  await Promise.all([...orders, marks]);
  const perTurn = events
    .join(" ")
    .split("turn")
    .map((part) => part.trim().split(" ").filter(Boolean).length);
  expect(Math.max(...perTurn)).toBe(REQUEST_TURN_MS);
  expect(events.filter((event) => event !== "turn")).toEqual(["0", "1", "2", "3", "4", "5"]);
});
