import { expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import type { GatheredOrders } from "../storage/notification-records.ts";
import {
  ORDER_GATHER_MS,
  ORDER_KINDS_MAX,
  ORDER_PAUSE_MS,
  ORDERS_NAMED,
  type OrderChange,
  OrderNotices,
} from "./order-notices.ts";

function setup(disk = new Map<string, GatheredOrders>()) {
  const clock = new ManualClock();
  const notices: string[] = [];
  const gathered = new OrderNotices({
    timers: new ManualTimers(clock),
    gathered: {
      table: {
        queue: (key, record) => void (record === null ? disk.delete(key) : disk.set(key, structuredClone(record))),
      },
      stored: [...disk.values()],
    },
    notify: (turn, { type, count, targets, operator, end }, { tenant }) => {
      const others = operator === "noc" ? "" : ` by ${operator}`;
      notices.push(`${turn} ${count} ${type} ${targets.join()}${end} of ${tenant}${others}`);
    },
  });
  return { clock, notices, gathered, disk };
}

function change(target: string, changes: Partial<OrderChange> = {}): OrderChange {
  const common = { turn: "made", type: "source_block", operator: "noc", by: null, reason: "", end: "" } as const;
  const rest = { isReasonOfOrder: true, expiresAt: null, tenant: null, group: null };
  return { ...common, ...rest, target, ...changes };
}

test("an order is notified after a moment, together with those of its kind and owner", () => {
  const { clock, notices, gathered } = setup();
  gathered.take([change("a"), change("b"), change("c", { tenant: "acme" }), change("d", { type: "filter_rule" })]);
  clock.advance(ORDER_GATHER_MS - 1);
  expect(notices).toEqual([]);
  clock.advance(1);
  expect(notices).toEqual([
    "made 2 source_block a,b of null",
    "made 1 source_block c of acme",
    "made 1 filter_rule d of null",
  ]);
});

test("those of each operator are a notification of their own", () => {
  const { clock, notices, gathered } = setup();
  gathered.take([change("a"), change("b", { operator: "bob" }), change("c", { operator: "bob" })]);
  clock.advance(ORDER_GATHER_MS);
  expect(notices).toEqual(["made 1 source_block a of null", "made 2 source_block b,c of null by bob"]);
});

test("those that go on are one notification a minute, which counts each", () => {
  const { clock, notices, gathered } = setup();
  gathered.take([change("first")]);
  clock.advance(ORDER_GATHER_MS);
  for (let i = 0; i < 1_000; i++) gathered.take([change(`x${i}`)]);
  clock.advance(ORDER_PAUSE_MS);
  expect(notices).toHaveLength(2);
  expect(notices[1]).toStartWith("made 1000 source_block x0,");
  expect(notices[1]?.split(",")).toHaveLength(ORDERS_NAMED);
  clock.advance(ORDER_PAUSE_MS);
  expect([notices.length, clock.pending]).toEqual([2, 0]);
});

test("over the number of kinds that are gathered the oldest is notified at once, and none is lost", () => {
  const { clock, notices, gathered } = setup();
  for (let i = 0; i <= ORDER_KINDS_MAX; i++) gathered.take([change(`x${i}`, { tenant: `t${i}` })]);
  expect(notices).toEqual(["made 1 source_block x0 of t0"]);
  clock.advance(ORDER_GATHER_MS);
  expect(notices).toHaveLength(ORDER_KINDS_MAX + 1);
});

test("at a stop what is gathered is notified, and no timer is left", () => {
  const { clock, notices, gathered } = setup();
  gathered.take([change("a", { turn: "ended", end: "expired" })]);
  gathered.stop();
  expect([notices, clock.pending]).toEqual([["ended 1 source_block aexpired of null"], 0]);
});

test("what was gathered when a process was killed is notified by the next, once", () => {
  const { clock, notices, gathered, disk } = setup();
  gathered.take([change("a")]);
  clock.advance(ORDER_GATHER_MS);
  expect([notices.length, disk.size]).toEqual([1, 0]);
  gathered.take([change("b"), change("c"), change("d", { tenant: "acme" })]);
  const next = setup(disk);
  next.gathered.restore();
  expect(next.notices).toEqual(["made 2 source_block b,c of null", "made 1 source_block d of acme"]);
  expect(setup(disk).disk.size).toBe(0);
});
