/** Which of two orders is in force, by two registers over tables in memory; nothing here knows a socket. */
import { beforeEach, describe, expect, test } from "bun:test";
import {
  RegisterBrain as Brain,
  END,
  foreign,
  LIFE_MS,
  NOON,
  type Order,
} from "../../test/fixtures/cluster/register-brain.ts";
import { forgettingTable } from "../system/record-table.ts";
import { OrderDigest } from "./order-digest.ts";
import type { SharedRecord } from "./order-exchange.ts";
import { OrderRegister } from "./order-register.ts";
import { STAMP_AHEAD_MAX_MS } from "./stamp.ts";
import type { StampedOrder } from "./stamped-order.ts";
import { WAITING_MAX } from "./stamped-orders.ts";

let [a, b] = [new Brain("a"), new Brain("b")];
beforeEach(() => {
  [a, b] = [new Brain("a"), new Brain("b")];
});
const bothHave = (...texts: string[]) => expect([a.texts, b.texts]).toEqual([texts, texts]);
async function meet(): Promise<void> {
  await a.giveTo(b);
  await b.giveTo(a);
}
describe("of two orders for one key", () => {
  test("the newest is in force at both, in whatever order they arrive", async () => {
    a.place("x", "older");
    b.wallMs += 1;
    b.place("x", "newer");
    await b.giveTo(a);
    await a.giveTo(b);
    bothHave("x newer");
  });

  test("of one millisecond that of the brain with the later name", async () => {
    a.place("x", "a");
    b.place("x", "b");
    await meet();
    bothHave("x b");
  });

  test("an end that is newer wins, also over a copy that comes back much later", async () => {
    a.place("x", "1");
    await meet();
    const stale = structuredClone([...b.register.records()]);
    a.wallMs += 10;
    a.end("x");
    await meet();
    bothHave();
    await a.takes(stale);
    expect(a.texts).toEqual([]);
  });

  test("an order after an end wins again", async () => {
    a.place("x", "1");
    await meet();
    b.end("x");
    await meet();
    a.place("x", "2");
    await meet();
    bothHave("x 2");
  });

  test("stamps follow the largest seen: the last order counts, though its brain's clock is an hour behind", async () => {
    b.wallMs += 3_600_000;
    b.place("x", "ahead", b.wallMs + 60_000);
    await meet();
    a.place("x", "after it", b.wallMs + 60_000);
    await meet();
    bothHave("x after it");
  });
});

describe("what changes by itself is not shared", () => {
  test("an order whose time is over does not end one that a caller renewed elsewhere", async () => {
    a.place("x", "short", NOON + 1000);
    await meet();
    a.place("x", "renewed", NOON + 90_000);
    b.wallMs += 2000;
    b.of("levers").delete("x");
    b.register.tick();
    await meet();
    bothHave("x renewed");
  });

  test("and it does not come back from a brain whose clock is behind", async () => {
    a.place("x", "1", NOON + 1000);
    await meet();
    a.wallMs += 2000;
    a.of("levers").delete("x");
    a.register.tick();
    await meet();
    expect(a.texts).toEqual([]);
  });
});

describe("a brain without room", () => {
  test("keeps the order, says so, and puts it in force when there is", async () => {
    for (const name of ["p", "q"]) a.place(name, "own");
    expect(await a.takes([foreign()])).toEqual(["taken"]);
    expect(a.texts).toEqual(["p own", "q own"]);
    expect([a.events, a.register.counts.waiting]).toEqual([["waits x: full"], 1]);
    expect(a.register.get("levers", "x")?.record).toMatchObject({ text: "c" });
    a.end("p");
    a.register.tick();
    expect([a.texts, a.register.counts]).toEqual([["q own", "x c"], { in_force: 2, waiting: 0, ended: 1 }]);
  });

  test("forgets it when its time is over, or when it was ended", async () => {
    for (const name of ["p", "q"]) a.place(name, "own", NOON + 900_000);
    await a.takes([foreign()]);
    await a.takes([
      foreign({ stamp: { ms: NOON + 5, brain: "c" }, record: null, endedBy: { operator: "", reason: "" } }),
    ]);
    expect(a.register.counts).toEqual({ in_force: 2, waiting: 0, ended: 1 });
    await a.takes([foreign({ key: "y", record: { name: "y", text: "c", endsAt: NOON + 60_000 } })]);
    a.wallMs += 61_000;
    a.register.tick();
    expect(a.register.counts).toEqual({ in_force: 2, waiting: 0, ended: 2 });
  });

  test("refuses more than its bound, and counts that", async () => {
    for (const name of ["p", "q"]) a.place(name, "own");
    const many = Array.from({ length: WAITING_MAX + 2 }, (_, i) =>
      foreign({ key: `k${i}`, record: { name: `k${i}`, text: "c", endsAt: NOON + 60_000 } }),
    );
    const outcomes = await a.takes(many);
    expect([outcomes.filter((one) => one === "refused").length, a.register.counts.waiting]).toEqual([2, WAITING_MAX]);
    expect(a.events.filter((event) => event.startsWith("refused full"))).toHaveLength(2);
  });
});

describe("a record of another brain is refused", () => {
  test.each([
    [
      "a stamp more than a day ahead",
      foreign({ stamp: { ms: NOON + STAMP_AHEAD_MAX_MS + 1, brain: "c" } }),
      "refused ahead: an order of c",
    ],
    ["a record of another key", foreign({ key: "y" }), "refused invalid: levers y: a record that cannot be read"],
    ["no record", foreign({ record: 7 }), "refused invalid: levers x: a record that cannot be read"],
    [
      "one that is longer than any order",
      foreign({ record: { name: "x", text: "a".repeat(8200), endsAt: NOON + 9 } }),
      "refused invalid: levers x: a record that is too long",
    ],
    [
      "one that is longer than any body of an order",
      foreign({ table: "filter_rules", record: { name: "x", text: "a".repeat(140_000), endsAt: NOON + 9 } }),
      "refused invalid: filter_rules x: a record that is too long",
    ],
    [
      "one that its table throws at",
      foreign({ record: { name: "x", text: "explosive", endsAt: NOON + 9 } }),
      "refused failed: levers x: Error: boom",
    ],
    [
      "one whose check throws",
      foreign({ record: { name: "x", toJSON: () => JSON.parse("") } }),
      expect.stringMatching(/^refused failed: levers x: /),
    ],
  ])("%s", async (_, record, event) => {
    a.place("p", "own");
    expect(await a.takes([record])).toEqual(["refused"]);
    expect([a.events, a.texts, a.register.counts.in_force]).toEqual([[event], ["p own"], 1]);
    a.place("x", "own");
    expect(a.published.at(-1)?.stamp.ms).toBe(NOON + 1);
  });

  test("one that is exactly a day ahead is taken, and later orders here are newer still", async () => {
    const stamp = { ms: NOON + STAMP_AHEAD_MAX_MS, brain: "c" };
    expect(await a.takes([foreign({ stamp })])).toEqual(["taken"]);
    a.place("x", "own");
    expect(a.published.at(-1)?.stamp).toEqual({ ms: stamp.ms + 1, brain: "a" });
  });
});

describe("over a restart", () => {
  test("stamps and ends are there again", async () => {
    a.place("x", "1");
    a.place("y", "2");
    a.end("y");
    const again = new Brain("a", a.rows.values(), [...a.of("levers").values()]);
    expect([...again.register.records()]).toEqual([...a.register.records()]);
    expect(await b.giveTo(again)).toEqual([]);
    again.place("z", "3");
    expect(again.published.at(-1)?.stamp.ms).toBe(NOON + 3);
  });

  test("it is known who took an order before the owners have restored theirs", async () => {
    await a.takes([foreign()]);
    const register = new OrderRegister({
      ...{ own: "a", wallMs: () => NOON, clockOf: () => null, store: forgettingTable<StampedOrder>() },
      observer: { refused: () => {}, waits: () => {}, endsDropped: () => {} },
    });
    register.load(a.rows.values());
    expect([register.stampOf("levers", "x")?.brain, register.stampOf("levers", "y")]).toEqual(["c", null]);
  });

  test("orders from before the cluster get the time at which they began", () => {
    const old = new Brain("a", [], [{ name: "x", text: "old", endsAt: NOON + 60_000 }]);
    expect([...old.register.records()]).toMatchObject([{ key: "x", stamp: { ms: NOON - 5000, brain: "a" } }]);
  });

  test("stamps of a clock that was days ahead are made again, so that other brains take them", async () => {
    a.wallMs += 3 * STAMP_AHEAD_MAX_MS;
    a.place("x", "1", NOON + 60_000);
    expect(await a.giveTo(b)).toEqual(["refused"]);
    a.wallMs = NOON;
    a.register.tick();
    expect(await a.giveTo(b)).toEqual(["taken"]);
    bothHave("x 1");
    const again = new Brain(
      "a",
      [{ ...([...a.rows.values()][0] as StampedOrder), stamp: { ms: NOON * 2, brain: "a" } }],
      [...a.of("levers").values()],
    );
    expect([...again.register.records()][0]?.stamp.ms).toBe(NOON);
  });
});

describe("an order that does not come about", () => {
  test("leaves the stamp of the one before, here and on disk", () => {
    a.place("x", "1");
    const [before, rows] = [[...a.register.records()], new Map(a.rows)];
    a.register.sharing<Order>("levers").begins("x", { name: "x", text: "2", endsAt: 0 }).dropped();
    expect([[...a.register.records()], a.rows, a.published.length]).toEqual([before, rows, 1]);
  });

  test("and one that took effect after another brain's arrived is the newest", async () => {
    const begin = a.register.sharing<Order>("levers").begins("x", { name: "x", text: "own", endsAt: NOON + 9000 });
    await a.takes([foreign({ stamp: { ms: NOON + 500, brain: "c" } })]);
    a.of("levers").set("x", { name: "x", text: "own", endsAt: NOON + 9000 });
    begin.inForce();
    expect(a.published).toMatchObject([{ stamp: { ms: NOON + 501, brain: "a" }, record: { text: "own" } }]);
  });
});

test("a record that the disk does not take is confirmed only once it does", async () => {
  a.isBroken = true;
  expect(await a.takes([foreign()])).toEqual(["unsaved"]);
  expect(a.texts).toEqual(["x c"]);
  a.isBroken = false;
  expect(await a.takes([foreign()])).toEqual(["taken"]);
  a.register.stop();
  expect(await a.takes([foreign({ key: "y" })])).toEqual(["unsaved"]);
});

test("ends are kept for the life of their table, and the oldest go first over the bound", () => {
  for (const name of ["p", "q", "r", "s"]) {
    a.place(name, "1");
    a.end(name);
    a.wallMs += 1;
  }
  a.register.tick();
  expect([...a.register.records()].map(({ key }) => key)).toEqual(["q", "r", "s"]);
  expect(a.events).toEqual(["dropped 1 ends of levers"]);
  a.wallMs += LIFE_MS;
  a.register.tick();
  expect([[...a.register.records()], a.rows.size]).toEqual([[], 0]);
});

test("a record is corrected by what clocks differ", () => {
  expect(a.register.shifted(foreign(), -1000).record).toMatchObject({ endsAt: NOON + 59_000 });
  expect(a.register.shifted(foreign({ record: null }), -1000)).toEqual(foreign({ record: null }));
});

test("an end has its own time, which is corrected by what clocks differ, whatever the stamp says", async () => {
  const HOUR = 3_600_000;
  a.wallMs = NOON - HOUR;
  a.place("x", "a");
  a.end("x");
  const [end] = a.published.slice(-1);
  expect(end).toMatchObject({ record: null, endedAtMs: NOON - HOUR });
  await b.takes([b.register.shifted(end as SharedRecord, HOUR)]);
  expect(b.rows.get("levers x")).toMatchObject({ state: "ended", atMs: NOON });
  // Its clock cannot end what begins later here.
  await b.takes([foreign({ stamp: { ms: NOON + 5, brain: "c" }, record: null, ...END, endedAtMs: NOON + HOUR })]);
  expect(b.rows.get("levers x")).toMatchObject({ state: "ended", atMs: NOON });
});

const digestOf = (records: Iterable<SharedRecord>) => {
  const digest = new OrderDigest();
  for (const record of records) digest.add(record);
  return digest.texts;
};

test("a clock that is set amid the groups of a message moves the times of all its orders once", async () => {
  const record = (i: number) => ({ name: `k${i}`, text: "c", endsAt: NOON + 60_000 });
  const orders = Array.from({ length: 300 }, (_, i) => foreign({ key: `k${i}`, record: record(i) }));
  const taking = b.takes(orders);
  b.wallMs += 3_600_000;
  b.register.clockStepped(3_600_000);
  await taking;
  const ends = [...b.register.records()].map(({ record: kept }) => (kept as Order | null)?.endsAt ?? null);
  // The two that found room are moved by their owner.
  expect([ends.length, new Set(ends.slice(2))]).toEqual([300, new Set([NOON + 3_660_000])]);
});

test("what a brain sends is saved in groups", async () => {
  const many = Array.from({ length: 500 }, (_, i) =>
    foreign({ key: `k${i}`, record: { name: `k${i}`, text: "c", endsAt: NOON + 60_000 } }),
  );
  expect(await b.takes(many)).toEqual(many.map(() => "taken"));
  expect(b.groups).toEqual([256, 244]);
});

test("an order that is written while an older one of its key arrives is on disk after it", async () => {
  const begin = a.register.sharing("levers").begins("x", { name: "x", text: "own", endsAt: NOON + 60_000 });
  await a.takes([foreign({ stamp: { ms: NOON - 5, brain: "c" } })]);
  begin.inForce();
  expect(a.rows.get("levers x")?.stamp).toEqual({ ms: NOON, brain: "a" });
  expect(a.register.digest().texts).toEqual(digestOf(a.register.records()));
});

describe("a wall clock that is set", () => {
  const HOUR = 3_600_000;
  const setBy = (byMs: number) => {
    a.wallMs += byMs;
    a.register.clockStepped(byMs);
  };

  test("moves the times of ends, and of orders that wait", async () => {
    a.place("x", "own");
    a.end("x");
    for (const name of ["p", "q"]) a.place(name, "own", NOON + 900_000);
    await a.takes([foreign({ key: "w", record: { name: "w", text: "c", endsAt: NOON + 60_000 } })]);
    setBy(-HOUR);
    expect(a.register.get("levers", "x")).toMatchObject({ endedAtMs: NOON - HOUR });
    expect(a.register.get("levers", "w")).toMatchObject({ record: { endsAt: NOON - HOUR + 60_000 } });
    expect(a.rows.get("levers w")).toMatchObject({ stamp: foreign().stamp, atMs: NOON - HOUR });
  });

  test("has own orders published again, as a millisecond newer, where they are kept with times of the clock before", async () => {
    const block = { name: "b", text: "own", endsAt: NOON + 60_000 };
    a.register.sharing("source_blocks").begins("b", block).inForce();
    a.of("source_blocks").set("b", { ...block, endsAt: block.endsAt + HOUR });
    await a.takes([foreign()]);
    a.published.length = 0;
    setBy(HOUR);
    for (let i = 0; i < 2; i++) a.register.tick();
    // Others have not measured the clock yet.
    expect(a.published).toEqual([]);
    for (let i = 0; i < 5; i++) a.register.tick();
    expect(a.published).toEqual([
      {
        ...{ table: "source_blocks", key: "b", stamp: { ms: NOON + 1, brain: "a" } },
        record: { ...block, endsAt: block.endsAt + HOUR },
      },
    ]);
    await b.takes(a.published, "a");
    expect(b.register.get("source_blocks", "b")?.stamp).toEqual({ ms: NOON + 1, brain: "a" });
  });
});
