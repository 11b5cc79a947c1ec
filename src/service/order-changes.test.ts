import { expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { ban } from "../../test/fixtures/views.ts";
import { forgettingTable } from "../system/record-table.ts";
import { StandingOrders } from "../system/standing-orders.ts";
import { banOrderChange, blockSubject, noticed, type OrderedChange, ownedBy } from "./order-changes.ts";

const BLOCK = {
  source: address("198.51.100.7"),
  victim: address("192.0.2.1"),
  createdAt: 0,
  expiresAt: 1000,
  reason: "ticket 7",
};

test("a standing order is made, changed and ended", async () => {
  const changes: OrderedChange[] = [];
  const observer = { began: () => {}, refused: () => {}, ended: () => {} };
  const orders = new StandingOrders<typeof BLOCK, never, "expired">({
    store: forgettingTable(),
    keyOf: ({ source }) => source,
    times: { endsAt: ({ expiresAt }) => expiresAt, endingAt: (order) => order, longestMs: () => 1000 },
    observer: noticed(observer, blockSubject, (more) => changes.push(...more)),
  });
  const place = (record: typeof BLOCK) =>
    orders.place<never>({
      decide: () => ({ kind: "begins", key: record.source, record, basis: [] }),
      takeEffect: () => {},
    });
  await place(BLOCK);
  await place({ ...BLOCK, expiresAt: 2000 });
  orders.expire("expired", 3000);
  expect(changes.map(({ turn, target, end, expiresAt }) => [turn, target, end, expiresAt])).toEqual([
    ["made", "198.51.100.7->192.0.2.1", "", 1000],
    ["changed", "198.51.100.7->192.0.2.1", "", 2000],
    ["ended", "198.51.100.7->192.0.2.1", "expired", 2000],
  ]);
  const tenancy = { tenantOf: (ip: string) => `tenant of ${ip}`, groupOf: () => "web" };
  expect(changes.map((change) => ownedBy(tenancy, change).tenant)[0]).toBe("tenant of 192.0.2.1");
});

test("a ban by hand is an order, one of an attack is none", () => {
  const manual = ban({ manual: true, attackId: null, operator: "noc", orderReason: "ticket 7" });
  const withdrawn = ban({
    ...manual,
    state: "withdrawn",
    reason: "manual unban",
    endedBy: { operator: "boss", reason: "done" },
  });
  const turns = [
    banOrderChange({ ban: ban({ manual: false }), previous: null }),
    banOrderChange({ ban: manual, previous: null }),
    banOrderChange({ ban: { ...manual, method: "divert" }, previous: manual }),
    banOrderChange({ ban: { ...manual, expiresAt: manual.expiresAt + 1 }, previous: manual }),
    banOrderChange({ ban: withdrawn, previous: manual }),
    banOrderChange({ ban: withdrawn, previous: withdrawn }),
    banOrderChange({ ban: { ...manual, state: "rejected" }, previous: null }),
  ];
  expect(turns.map((change) => change && [change.turn, change.operator, change.reason, change.end])).toEqual([
    null,
    ["made", "noc", "ticket 7", ""],
    null,
    ["changed", "noc", "ticket 7", ""],
    ["ended", "boss", "done", "manual unban"],
    null,
    null,
  ]);
});
