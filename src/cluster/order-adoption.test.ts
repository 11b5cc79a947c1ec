/** What orders of another brain do at a register: their bounds, and their times. */
import { beforeEach, describe, expect, test } from "bun:test";
import { RegisterBrain as Brain, END, foreign, NOON } from "../../test/fixtures/cluster/register-brain.ts";
import { CLOCK_WAIT_TICKS } from "./clock-waits.ts";
import type { SharedRecord } from "./order-exchange.ts";
import { WAITING_BYTES_MAX } from "./stamped-orders.ts";

let a = new Brain("a");
beforeEach(() => {
  a = new Brain("a");
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
  const long = (key: string, more: Partial<SharedRecord> = {}, endsAt = NOON + 60_000) =>
    foreign({ table: "filter_rules", key, record: { name: key, text: "x".repeat(100_000), endsAt }, ...more });

  test("have a bound of bytes", async () => {
    for (const name of ["p", "q"]) a.of("filter_rules").set(name, { name, text: "own", endsAt: NOON + 60_000 });
    const fit = Math.floor(WAITING_BYTES_MAX / 100_100);
    const outcomes = await a.takes(Array.from({ length: fit + 10 }, (_, i) => long(`k${i}`)));
    expect(outcomes.filter((outcome) => outcome === "taken")).toHaveLength(fit);
    await a.takes([long("k0", { record: null, ...END, stamp: { ms: NOON + 5, brain: "c" } })]);
    expect(await a.takes([long("again")])).toEqual(["taken"]);
  });

  test("have the same bound with those that are over by a clock that stays unknown", async () => {
    const fit = Math.floor(WAITING_BYTES_MAX / 100_100);
    const unknown = (name: string, count: number) =>
      Array.from({ length: count }, (_, i) => long(`${name}${i}`, { clock: "nobody" }, NOON - 60_000));
    await a.takes(unknown("k", 3));
    for (let i = 0; i <= CLOCK_WAIT_TICKS; i++) a.register.tick();
    expect(a.register.counts).toEqual({ in_force: 0, waiting: 0, ended: 3 });
    const outcomes = await a.takes(unknown("l", fit));
    expect(outcomes.filter((outcome) => outcome === "taken")).toHaveLength(fit - 3);
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
