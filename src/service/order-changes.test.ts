import { expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { ban } from "../../test/fixtures/views.ts";
import { forgettingTable } from "../system/record-table.ts";
import { type Commander, type OrderObserver, StandingOrders } from "../system/standing-orders.ts";
import { banOrderChange, blockSubject, noticed, type OrderedChange, ownedBy } from "./order-changes.ts";

const BLOCK = {
  operator: "noc",
  source: address("198.51.100.7"),
  victim: address("192.0.2.1"),
  createdAt: 0,
  expiresAt: 1000,
  reason: "ticket 7",
};

test("a standing order is made, changed and ended", async () => {
  const changes: OrderedChange[] = [];
  const endedBy: unknown[] = [];
  const observer: OrderObserver<typeof BLOCK, never, "expired" | "unblocked"> = {
    ...{ began: () => {}, refused: () => {} },
    ended: (_end, _orders, by) => endedBy.push(by?.operator),
  };
  const orders = new StandingOrders<typeof BLOCK, never, "expired" | "unblocked">({
    store: forgettingTable(),
    keyOf: ({ source }) => source,
    times: { endsAt: ({ expiresAt }) => expiresAt, endingAt: (order) => order, longestMs: () => 1000 },
    observer: noticed(observer, blockSubject, (more) => changes.push(...more)),
  });
  const place = (record: typeof BLOCK, by?: Commander) =>
    orders.place<never>({
      decide: () => ({ kind: "begins", key: record.source, record, basis: [] }),
      takeEffect: () => {},
      ...(by && { by }),
    });
  await place(BLOCK);
  await place({ ...BLOCK, expiresAt: 2000 });
  orders.expire("expired", 3000);
  await place(BLOCK, { operator: "eve", tenant: "acme", reason: "" });
  await orders.endSaved("unblocked", [BLOCK], { operator: "boss", tenant: null, reason: "done" });
  expect(new Set(changes.map(({ target }) => target))).toEqual(new Set(["198.51.100.7->192.0.2.1"]));
  expect(
    changes.map(({ turn, end, expiresAt, operator, by, reason }) => [turn, end, expiresAt, operator, by, reason]),
  ).toEqual([
    ["made", "", 1000, "noc", null, "ticket 7"],
    ["changed", "", 2000, "noc", null, "ticket 7"],
    ["ended", "expired", 2000, "noc", null, "ticket 7"],
    ["made", "", 1000, "eve", "acme", "ticket 7"],
    ["ended", "unblocked", 1000, "boss", null, "done"],
  ]);
  expect(changes.map(({ isReasonOfOrder }) => isReasonOfOrder)).toEqual([true, true, true, true, false]);
  expect(endedBy).toEqual([undefined, "boss"]);
  const tenancy = { tenantOf: (ip: string) => `tenant of ${ip}`, groupOf: () => "web" };
  expect(changes.map((change) => ownedBy(tenancy, change).tenant)[0]).toBe("tenant of 192.0.2.1");
});

test("a ban by hand is an order, one of an attack is none", () => {
  const ordered = { operator: "noc", orderReason: "ticket 7", tenant: "acme" };
  const manual = ban({ manual: true, attackId: null, ...ordered });
  const over = ban({ ...manual, state: "withdrawn", reason: "ttl expired" });
  const unbanned = (tenant: string | null) =>
    ban({ ...over, reason: "manual unban", endedBy: { operator: "boss", reason: "done", tenant } });
  const turns = [
    banOrderChange({ ban: ban({ manual: false }), previous: null }),
    banOrderChange({ ban: manual, previous: null }),
    banOrderChange({ ban: { ...manual, method: "divert" }, previous: manual }),
    banOrderChange({ ban: { ...manual, expiresAt: manual.expiresAt + 1 }, previous: manual }),
    banOrderChange({ ban: { ...manual, reordered: 1 }, previous: manual }),
    banOrderChange({ ban: ban({ manual: false }), previous: manual }),
    banOrderChange({ ban: over, previous: manual }),
    banOrderChange({ ban: unbanned(null), previous: manual }),
    banOrderChange({ ban: unbanned("acme"), previous: manual }),
    banOrderChange({ ban: over, previous: over }),
    banOrderChange({ ban: { ...manual, state: "rejected" }, previous: null }),
  ];
  expect(turns.map((change) => change && [change.turn, change.operator, change.by, change.reason, change.end])).toEqual(
    [
      null,
      ["made", "noc", "acme", "ticket 7", ""],
      null,
      null,
      ["changed", "noc", "acme", "ticket 7", ""],
      ["ended", "noc", "acme", "ticket 7", "taken over by an attack"],
      ["ended", "noc", "acme", "ticket 7", "ttl expired"],
      ["ended", "boss", null, "done", "manual unban"],
      ["ended", "boss", "acme", "done", "manual unban"],
      null,
      null,
    ],
  );
});
