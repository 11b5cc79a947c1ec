import { beforeEach, describe, expect, test } from "bun:test";
import type { RecordTable } from "./record-table.ts";
import { type OrderTimes, StandingOrders } from "./standing-orders.ts";

interface Order {
  readonly name: string;
  readonly endsAt: number;
}

const TIMES: OrderTimes<Order> = {
  endsAt: ({ endsAt }) => endsAt,
  endingAt: (order, endsAt) => ({ ...order, endsAt }),
  longestMs: () => 60_000,
};
const A: Order = { name: "a", endsAt: 20_000 };
const B: Order = { name: "b", endsAt: 30_000 };

let disk: Map<string, Order>;
let isBroken: boolean;
let seen: string[];
let orders: StandingOrders<Order, "full", "removed" | "expired">;

function store(): RecordTable<Order> {
  const put = (key: string, order: Order | null) => {
    if (order === null) disk.delete(key);
    else disk.set(key, order);
  };
  return {
    queue: put,
    async save(key, order) {
      if (!isBroken) put(key, order);
      return !isBroken;
    },
    async saveAll(records) {
      if (!isBroken) for (const [key, order] of records) put(key, order);
      return !isBroken;
    },
    async write(key, order) {
      if (isBroken) throw new Error("disk");
      put(key, order);
      return true;
    },
    unsaved: 0,
  };
}

beforeEach(() => {
  disk = new Map();
  isBroken = false;
  seen = [];
  orders = new StandingOrders({
    store: store(),
    keyOf: ({ name }) => name,
    times: TIMES,
    observer: {
      began: ({ name }) => seen.push(`began ${name}`),
      refused: (refusal) => seen.push(`refused ${refusal}`),
      ended: (end, all) => seen.push(`${end} ${all.map(({ name }) => name).join()}`),
    },
    index: {
      put: ({ name }, before) => seen.push(before === null ? `put ${name}` : `put ${name} again`),
      remove: ({ name }) => seen.push(`out ${name}`),
    },
  });
});

const place = (order: Order, takeEffect: () => void = () => {}) =>
  orders.place({
    decide: () => ({ kind: "begins", key: order.name, record: order, basis: [] }),
    takeEffect: (placed) => {
      seen.push(`effect ${placed.name}${disk.has(placed.name) ? "" : " before the disk"}`);
      takeEffect();
    },
  });

describe("an order", () => {
  test("is on disk before it is in the table and takes effect", async () => {
    expect(await place(A)).toEqual({ kind: "done", record: A, isSaved: true });
    expect(seen).toEqual(["put a", "effect a", "began a"]);
    await place({ ...A, endsAt: 25_000 });
    expect(seen.slice(3)).toEqual(["put a again", "effect a", "began a"]);
  });

  test("that the disk refuses, or that is refused, changes nothing", async () => {
    isBroken = true;
    expect(place(A)).rejects.toThrow("disk");
    const refused = orders.place({
      decide: () => ({ kind: "refused", refusal: "full" }),
      takeEffect: () => void seen.push("x"),
    });
    expect(await refused).toEqual({ kind: "refused", refusal: "full" });
    expect([orders.all.size, seen]).toEqual([0, ["refused full"]]);
  });

  test("whose effect fails did not begin, and may be ended by it", async () => {
    const failing = place(A, () => {
      orders.end("removed", [A]);
      throw new Error("kernel");
    });
    expect(failing).rejects.toThrow("kernel");
    await failing.catch(() => {});
    expect([orders.all.size, disk.size]).toEqual([0, 0]);
    expect(seen).toEqual(["put a", "effect a", "out a", "removed a"]);
  });
});

describe("an end", () => {
  test("by a caller takes effect at once, and says whether it is on disk", async () => {
    orders.restore([A, B]);
    isBroken = true;
    const saved = orders.endSaved("removed", [A]);
    expect(orders.get("a")).toBeNull();
    expect(await saved).toBe(false);
    isBroken = false;
    expect(await orders.endSaved("removed", [B])).toBe(true);
  });

  test("by time comes when its time is over, for each by itself", () => {
    orders.restore([A, B]);
    expect(orders.expire("expired", 19_999)).toEqual([]);
    expect(orders.expire("expired", 20_000)).toEqual([A]);
    expect(orders.expire("expired", 30_000)).toEqual([B]);
    expect(seen.slice(2)).toEqual(["out a", "expired a", "out b", "expired b"]);
  });
});

describe("a clock that is set", () => {
  test("moves the ends with it while the process runs", () => {
    orders.restore([A]);
    expect(orders.shift(-5000)).toEqual([{ ...A, endsAt: 15_000 }]);
    expect(disk.get("a")?.endsAt).toBe(15_000);
    expect(orders.expire("expired", 14_999)).toEqual([]);
    expect(orders.expire("expired", 15_000)).toHaveLength(1);
  });

  test("back while no process runs lets no order last longer than one may", () => {
    orders.restore([A, { ...B, endsAt: 500_000 }]);
    orders.shorten(0);
    expect([orders.get("a")?.endsAt, orders.get("b")?.endsAt]).toEqual([20_000, 60_000]);
    expect(disk.get("b")?.endsAt).toBe(60_000);
  });
});
