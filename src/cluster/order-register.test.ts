/** Which of two orders is in force, by two registers over tables in memory; nothing here knows a socket. */
import { beforeEach, describe, expect, test } from "bun:test";
import { forgettingTable } from "../system/record-table.ts";
import { CLOCK_WAIT_TICKS } from "./clock-waits.ts";
import type { ClockOfBrain, OrderExchange, SharedRecord, SharedTable, TakeOutcome } from "./order-exchange.ts";
import { OrderRegister, type OrderTables } from "./order-register.ts";
import type { OrderTable, TableEnd } from "./order-table.ts";
import { STAMP_AHEAD_MAX_MS } from "./stamp.ts";
import type { StampedOrder } from "./stamped-order.ts";
import { WAITING_BYTES_MAX, WAITING_MAX } from "./stamped-orders.ts";
import { orderTable } from "./typed-table.ts";

interface Order {
  readonly name: string;
  readonly text: string;
  readonly endsAt: number;
}
const NOON = 1_700_000_000_000;
const LIFE_MS = 1_000_000;

/** One brain: each of its tables takes ROOM orders. */
const ROOM = 2;
class Brain {
  wallMs = NOON;
  isBroken = false;
  /** Sizes of the groups that were saved. */
  readonly groups: number[] = [];
  /** By brain. */
  readonly clocks = new Map<string, ClockOfBrain>();
  readonly tables = new Map<string, Map<string, Order>>();
  readonly rows = new Map<string, StampedOrder>();
  readonly events: string[] = [];
  /** Keys of orders that its tables were given. */
  readonly tried: string[] = [];
  onEnd: (end: TableEnd) => void = () => {};
  readonly published: SharedRecord[] = [];
  readonly register: OrderRegister;

  constructor(
    readonly name: string,
    rows: Iterable<StampedOrder> = [],
    orders: readonly Order[] = [],
  ) {
    this.register = new OrderRegister({
      own: name,
      wallMs: () => this.wallMs,
      clockOf: (brain) => this.clocks.get(brain) ?? null,
      store: {
        ...forgettingTable<StampedOrder>(),
        queue: (key, row) => void (row === null ? this.rows.delete(key) : this.rows.set(key, row)),
        saveAll: async (rows) => {
          this.groups.push(rows.length);
          if (!this.isBroken) for (const [key, row] of rows) this.rows.set(key, row);
          return !this.isBroken;
        },
      },
      observer: {
        refused: (cause, detail) => void this.events.push(`refused ${cause}: ${detail}`),
        waits: ({ key }, why) => void this.events.push(`waits ${key}: ${why}`),
        endsDropped: (table, count) => void this.events.push(`dropped ${count} ends of ${table}`),
      },
    });
    for (const order of orders) this.of("levers").set(order.name, order);
    this.register.bind({
      ...{ bans: this.#table("bans"), source_blocks: this.#table("source_blocks") },
      ...{ filter_rules: this.#table("filter_rules"), protections: this.#table("protections") },
      ...{ levers: this.#table("levers"), maintenance: this.#table("maintenance") },
    } satisfies OrderTables);
    const exchange: OrderExchange = {
      publish: async (record) => this.published.push(record) > 0,
      onRecords: () => {},
    };
    this.register.join(exchange, { decides: true });
    this.register.restore(rows);
  }

  of(table: SharedTable): Map<string, Order> {
    const orders = this.tables.get(table) ?? new Map<string, Order>();
    this.tables.set(table, orders);
    return orders;
  }

  /** As an owner does for a caller. */
  place(name: string, text: string, endsAt = NOON + 60_000): void {
    const order = { name, text, endsAt };
    const begin = this.register.sharing<Order>("levers").begins(name, order);
    this.of("levers").set(name, order);
    begin.inForce();
  }

  end(name: string): void {
    const order = this.of("levers").get(name);
    if (order === undefined) throw new Error(`no order ${name}`);
    this.register.sharing<Order>("levers").ends(name, order);
    this.of("levers").delete(name);
  }

  takes(records: readonly SharedRecord[], from = "c"): Promise<readonly TakeOutcome[]> {
    return this.register.take(records, from);
  }

  /** Gives all that this brain has to another, as after a split. */
  async giveTo(other: Brain): Promise<readonly TakeOutcome[]> {
    return other.takes(structuredClone([...this.register.records()]), this.name);
  }

  get texts(): string[] {
    return [...this.of("levers").values()].map(({ name, text }) => `${name} ${text}`).sort();
  }

  #table(name: SharedTable): OrderTable {
    const orders = this.of(name);
    const table = orderTable<Order>({
      ...{ lifeMs: LIFE_MS, endedMax: 3 },
      keyOf: (order) => order.name,
      isKey: (key) => !key.includes("/"),
      parse: (value, key) =>
        typeof value === "object" && value !== null && "name" in value && value.name === key ? (value as Order) : null,
      present: (key) => orders.get(key) ?? null,
      all: () => orders.values(),
      beganAt: () => NOON - 5000,
      endsAt: ({ endsAt }) => endsAt,
      shifted: (order, byMs) => ({ ...order, endsAt: order.endsAt + byMs }),
      adopt: (order) => {
        this.tried.push(order.name);
        this.events.push(...(this.register.isAdopting ? [] : ["not seen as adopted"]));
        if (order.text === "explosive") throw new Error("boom");
        if (!orders.has(order.name) && orders.size >= ROOM) return "full";
        orders.set(order.name, order);
        return null;
      },
      endAdopted: ({ name: key }) => void orders.delete(key),
    });
    return {
      ...table,
      end: (end, wallMs) => {
        this.onEnd(end);
        table.end(end, wallMs);
      },
    };
  }
}

let [a, b] = [new Brain("a"), new Brain("b")];
beforeEach(() => {
  [a, b] = [new Brain("a"), new Brain("b")];
});
const bothHave = (...texts: string[]) => expect([a.texts, b.texts]).toEqual([texts, texts]);
async function meet(): Promise<void> {
  await a.giveTo(b);
  await b.giveTo(a);
}
const END = { endedBy: { operator: "", reason: "" } };
const foreign = (more: Partial<SharedRecord> = {}): SharedRecord => ({
  ...{ table: "levers", key: "x", stamp: { ms: NOON, brain: "c" } },
  record: { name: "x", text: "c", endsAt: NOON + 60_000 },
  ...more,
});

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
      foreign({ record: { name: "x", text: "a".repeat(140_000), endsAt: NOON + 9 } }),
      "refused invalid: levers x: a record that is too long",
    ],
    [
      "one that its table throws at",
      foreign({ record: { name: "x", text: "explosive", endsAt: NOON + 9 } }),
      "refused failed: levers x: Error: boom",
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

test("what a brain sends is saved in groups", async () => {
  const many = Array.from({ length: 500 }, (_, i) =>
    foreign({ key: `k${i}`, record: { name: `k${i}`, text: "c", endsAt: NOON + 60_000 } }),
  );
  expect(await b.takes(many)).toEqual(many.map(() => "taken"));
  expect(b.groups).toEqual([256, 244]);
});

describe("ends that a brain sends", () => {
  const end = (key: string, brain = "c") => foreign({ key, record: null, ...END, stamp: { ms: NOON + 1, brain } });

  test("of keys that no order of the table has are refused", async () => {
    expect(await a.takes([end("no/key")])).toEqual(["refused"]);
    expect(a.events).toEqual(["refused invalid: levers: a key that no order of the table has"]);
  });

  test("do not take the place of those of other brains, and are bounded as they are taken", async () => {
    for (const name of ["p", "q"]) {
      a.place(name, "1");
      a.end(name);
    }
    await a.takes(Array.from({ length: 50 }, (_, i) => end(`k${i}`)));
    expect([...a.register.records()].map(({ key }) => key)).toEqual(["p", "q", "k49"]);
    expect(a.rows.size).toBe(3);
  });
});

describe("orders that wait", () => {
  const long = (key: string) =>
    foreign({ key, record: { name: key, text: "x".repeat(100_000), endsAt: NOON + 60_000 } });

  test("have a bound of bytes", async () => {
    for (const name of ["p", "q"]) a.place(name, "own");
    const fit = Math.floor(WAITING_BYTES_MAX / 100_100);
    const outcomes = await a.takes(Array.from({ length: fit + 10 }, (_, i) => long(`k${i}`)));
    expect(outcomes.filter((outcome) => outcome === "taken")).toHaveLength(fit);
    await a.takes([foreign({ key: "k0", record: null, ...END, stamp: { ms: NOON + 5, brain: "c" } })]);
    expect(await a.takes([long("again")])).toEqual(["taken"]);
  });

  test("are tried again in turns", async () => {
    for (const name of ["p", "q"]) a.place(name, "own", NOON + 900_000);
    const many = Array.from({ length: 200 }, (_, i) => `k${i}`);
    await a.takes(many.map((key) => foreign({ key, record: { name: key, text: "c", endsAt: NOON + 60_000 } })));
    a.tried.length = 0;
    for (let i = 0; i < 3; i++) a.register.tick();
    expect(a.tried).toEqual(many.slice(0, 192));
    a.register.tick();
    expect(a.tried.slice(192)).toEqual([...many.slice(192), ...many.slice(0, 56)]);
  });
});

describe("an order with times of a clock that is not known", () => {
  const HOUR = 3_600_000;
  const of = (endsAt: number, more: Partial<SharedRecord> = {}) =>
    foreign({ record: { name: "x", text: "c", endsAt }, clock: "c", ...more });
  const ticks = (count: number) => {
    for (let i = 0; i < count; i++) a.register.tick();
  };

  test("is not over by it, and lasts as long as it does there once that clock is known", async () => {
    expect(await a.takes([of(NOON - HOUR + 60_000)])).toEqual(["taken"]);
    expect([a.texts, a.events]).toEqual([[], ["waits x: the clock of c is not known yet"]]);
    a.clocks.set("c", { skewMs: -HOUR, isCurrent: true });
    ticks(1);
    expect(a.of("levers").get("x")).toMatchObject({ endsAt: NOON + 60_000 });
    expect(a.rows.get("levers x")).toMatchObject({ state: "in_force", record: null });
    expect([...a.register.records()][0]).not.toHaveProperty("clock");
  });

  test("is in force meanwhile, and ends when that is known to be over", async () => {
    await a.takes([of(NOON + HOUR - 1000)]);
    expect(a.texts).toEqual(["x c"]);
    expect([...a.register.records()]).toEqual([of(NOON + HOUR - 1000)]);
    a.clocks.set("c", { skewMs: HOUR, isCurrent: true });
    ticks(1);
    expect([a.texts, a.register.counts.ended]).toEqual([[], 1]);
  });

  test("is corrected by a copy of a brain that knows it, also over a restart, and is not made worse by one that does not", async () => {
    await a.takes([of(NOON + 60_000)]);
    const again = new Brain("a", a.rows.values(), [...a.of("levers").values()]);
    await again.takes([of(NOON + 50_000)]);
    expect(again.of("levers").get("x")).toMatchObject({ endsAt: NOON + 60_000 });
    await again.takes([foreign({ record: { name: "x", text: "c", endsAt: NOON + HOUR } })]);
    expect(again.of("levers").get("x")).toMatchObject({ endsAt: NOON + HOUR });
    await again.takes([of(NOON + 60_000)]);
    expect(again.of("levers").get("x")).toMatchObject({ endsAt: NOON + HOUR });
  });

  test("counts as over when the clock was waited for, and comes back if it was not", async () => {
    await a.takes([of(NOON - HOUR + 60_000)]);
    ticks(CLOCK_WAIT_TICKS);
    expect(a.register.counts).toEqual({ in_force: 0, waiting: 0, ended: 1 });
    a.clocks.set("c", { skewMs: -HOUR, isCurrent: true });
    ticks(1);
    expect(a.of("levers").get("x")).toMatchObject({ endsAt: NOON + 60_000 });
  });

  test("uses what was measured before its brain was out of reach, until it is back", async () => {
    a.clocks.set("c", { skewMs: -HOUR, isCurrent: false });
    await a.takes([of(NOON - HOUR + 60_000)]);
    expect(a.of("levers").get("x")).toMatchObject({ endsAt: NOON + 60_000 });
    // It was set meanwhile.
    a.clocks.set("c", { skewMs: -2 * HOUR, isCurrent: true });
    ticks(1);
    expect(a.of("levers").get("x")).toMatchObject({ endsAt: NOON + HOUR + 60_000 });
  });

  test("if it is an end, ends the order, and what began beside it only once the clock is known", async () => {
    a.place("x", "own");
    await a.takes([of(0, { record: null, ...END, endedAtMs: NOON + HOUR, stamp: { ms: NOON + 9, brain: "c" } })]);
    expect(a.texts).toEqual([]);
    const ended: unknown[] = [];
    a.onEnd = (end) => ended.push(end);
    a.clocks.set("c", { skewMs: HOUR + 2000, isCurrent: true });
    ticks(2);
    expect(ended).toMatchObject([{ key: "x", ...END, endedAtMs: NOON - 2000 }]);
  });

  test("is of the own clock if this brain has written it", async () => {
    await a.takes([of(NOON + 60_000, { clock: "a" })]);
    expect([...a.register.records()][0]).not.toHaveProperty("clock");
  });
});

test("times stay whole milliseconds, whatever was measured", () => {
  a.clocks.set("c", { skewMs: 1500.4, isCurrent: true });
  expect(a.register.shifted(foreign(), -1500.4).record).toMatchObject({ endsAt: NOON + 58_500 });
});
