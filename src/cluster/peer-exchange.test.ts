/** Orders over a link in memory, whose messages a test delivers. */
import { beforeEach, describe, expect, test } from "bun:test";
import { MESSAGE_BYTES_MAX } from "./chunks.ts";
import { DIGEST_BUCKETS, OrderDigest } from "./order-digest.ts";
import type { SharedRecord, TakeOutcome } from "./order-exchange.ts";
import { PeerExchange } from "./peer-exchange.ts";
import type { Peers } from "./peers.ts";

type Body = Readonly<Record<string, unknown>>;

/** One brain of three, whose peers are p and q. */
class Brain {
  wallMs = 1000;
  monotonicMs = 0;
  skewMs: number | null = null;
  readonly up = new Set<string>(["p", "q"]);
  readonly sent: { readonly to: string; readonly kind: string; readonly body: Body }[] = [];
  readonly garbled: string[] = [];
  readonly taken: SharedRecord[] = [];
  outcomes: readonly TakeOutcome[] = ["taken"];
  onTime: () => undefined = () => undefined;
  records: readonly SharedRecord[] = [];
  readonly exchange: PeerExchange;
  readonly #listeners = new Map<string, (from: string, body: unknown) => void>();
  #onUp: (name: string) => void = () => {};
  #onDown: (name: string) => void = () => {};

  constructor() {
    const peers: Pick<Peers, "states" | "send" | "on" | "onUp" | "onDown"> = {
      states: () =>
        ["p", "q"].map((name) => ({
          ...{ name, isUp: this.up.has(name), sinceMs: 0, receivedMs: null, skewMs: this.skewMs },
          ...{ version: null, sections: null, problem: null },
        })),
      send: (to, kind, body) => void this.sent.push({ to, kind, body: body as Body }),
      on: (kind, listener) => void this.#listeners.set(kind, listener),
      onUp: (listener) => {
        this.#onUp = listener;
      },
      onDown: (listener) => {
        this.#onDown = listener;
      },
    };
    this.exchange = new PeerExchange({
      peers: { ...peers, own: "o", broadcast: () => {} },
      wallMs: () => this.onTime() ?? this.wallMs,
      monotonicMs: () => this.monotonicMs,
      records: () => this.records,
      digest: () => {
        const digest = new OrderDigest();
        for (const each of this.records) digest.add(each);
        return digest;
      },
      stampOf: (table, key) =>
        this.records.find((record) => record.table === table && record.key === key)?.stamp ?? null,
      shifted: (record, byMs) => ({ ...record, record: { shiftedBy: byMs } }),
      garbled: (peer, what) => void this.garbled.push(`${peer} ${what}`),
    });
    this.exchange.onRecords(async (records) => {
      this.taken.push(...records);
      return records.map((_, i) => this.outcomes[i] ?? "taken");
    });
  }

  goes(name: string, way: "up" | "down"): void {
    if (way === "up") this.up.add(name);
    else this.up.delete(name);
    (way === "up" ? this.#onUp : this.#onDown)(name);
  }

  /** A message of a peer, and all that follows from it. */
  async receives(from: string, kind: string, body: unknown): Promise<void> {
    this.#listeners.get(kind)?.(from, body);
    await Bun.sleep(0);
  }

  /** The peer answers the last part that it was sent. */
  confirms(from: string, ...outcomes: string[]): Promise<void> {
    const { batch } = this.sent.findLast(({ to, kind }) => to === from && kind === "orders")?.body ?? {};
    return this.receives(from, "orders_taken", { batch, outcomes });
  }

  /** The peer says in which buckets its orders differ: in all. */
  compares(from: string, buckets: readonly number[] = Array.from({ length: DIGEST_BUCKETS }, (_, i) => i)) {
    return this.receives(from, "orders_differing", { buckets });
  }

  orders(to: string): Body[] {
    return this.sent.flatMap((message) => (message.to === to && message.kind === "orders" ? [message.body] : []));
  }

  /** Keys of the records of each part that the peer was sent. */
  parts(to: string): string[][] {
    return this.orders(to).map((body) => (body["records"] as SharedRecord[]).map(({ key }) => key));
  }
}

const record = (key: string, ms = 5): SharedRecord => ({
  table: "levers",
  key,
  stamp: { ms, brain: "o" },
  record: { key },
});

let brain = new Brain();
beforeEach(() => {
  brain = new Brain();
});

describe("an order", () => {
  test("is shared once every peer has it on disk", async () => {
    const published = brain.exchange.publish(record("x"));
    expect(brain.exchange.unconfirmedBy("levers", "x")).toEqual(["p", "q"]);
    await brain.confirms("p", "taken");
    expect(brain.exchange.unconfirmedBy("levers", "x")).toEqual(["q"]);
    await brain.confirms("q", "taken");
    expect([await published, brain.exchange.unconfirmedBy("levers", "x")]).toEqual([true, []]);
  });

  test("is not while one is away, at once, and goes there when it is back, with all others", async () => {
    brain.goes("q", "down");
    const published = brain.exchange.publish(record("x"));
    await brain.confirms("p", "taken");
    expect([await published, brain.exchange.lagOf("q").orders]).toEqual([false, 1]);
    brain.records = [record("w"), record("x")];
    brain.goes("q", "up");
    await brain.compares("q");
    expect(brain.parts("q")).toEqual([["x"]]);
    await brain.confirms("q", "taken");
    expect(brain.parts("q")).toEqual([["x"], ["w"]]);
    const [, { batch } = {}] = brain.orders("q");
    await brain.confirms("q", "taken");
    await brain.receives("q", "orders_taken", { batch: Number(batch) - 1, outcomes: ["taken"] });
    expect(brain.exchange.lagOf("q")).toEqual({ orders: 0, sinceMs: null });
  });

  test("is not if the peer goes while it waits, or refuses it", async () => {
    const first = brain.exchange.publish(record("x"));
    await brain.confirms("p", "taken");
    brain.goes("q", "down");
    expect(await first).toBe(false);
    brain.goes("q", "up");
    await brain.confirms("q", "taken");
    const second = brain.exchange.publish(record("y"));
    await brain.confirms("p", "taken");
    await brain.confirms("q", "refused");
    expect([await second, brain.exchange.unconfirmedBy("levers", "y")]).toEqual([false, ["q"]]);
  });

  test("passes those of the time that the peer was away", async () => {
    for (const key of ["v", "w"]) {
      void brain.exchange.publish(record(key));
      brain.goes("q", "down");
    }
    brain.goes("q", "up");
    void brain.exchange.publish(record("x"));
    expect(brain.orders("q").map(({ is_urgent: isUrgent }) => isUrgent)).toEqual([true, undefined, true]);
    expect(brain.parts("q")).toEqual([["v"], ["v", "w"], ["x"]]);
  });

  test("is not kept for a peer that is away once it is forgotten here", () => {
    brain.records = [record("w"), record("x")];
    brain.goes("q", "down");
    for (const each of brain.records) void brain.exchange.publish(each);
    brain.records = [record("w")];
    brain.exchange.tick();
    expect([brain.exchange.lagOf("q").orders, brain.exchange.unconfirmedBy("levers", "x")]).toEqual([1, []]);
  });

  test("is offered again a minute after it was refused, and at once to a peer that comes up", async () => {
    brain.records = [record("x")];
    brain.goes("q", "down");
    const published = brain.exchange.publish(record("x"));
    await brain.confirms("p", "refused");
    expect([await published, brain.exchange.lagOf("p").orders]).toEqual([false, 1]);
    brain.monotonicMs += 59_000;
    brain.exchange.tick();
    expect(brain.parts("p")).toEqual([["x"]]);
    brain.monotonicMs += 1000;
    brain.exchange.tick();
    expect(brain.parts("p")).toEqual([["x"], ["x"]]);
    await brain.confirms("p", "refused");
    brain.goes("p", "up");
    expect(brain.parts("p")).toEqual([["x"], ["x"], ["x"]]);
    await brain.confirms("p", "taken");
    expect(brain.exchange.lagOf("p")).toEqual({ orders: 0, sinceMs: null });
  });

  test("that a caller waits for passes a part that is on its way, whether its disk takes that or not", async () => {
    brain.records = [record("old")];
    brain.goes("p", "up");
    await brain.compares("p");
    const published = brain.exchange.publish(record("x"));
    expect(brain.parts("p")).toEqual([["old"], ["x"]]);
    await brain.confirms("q", "taken");
    await brain.confirms("p", "taken");
    expect(await published).toBe(true);
    expect(brain.orders("p").map(({ is_urgent: isUrgent }) => isUrgent)).toEqual([undefined, true]);
  });

  test("is sent again while the peer's disk does not take it, or it does not answer", async () => {
    brain.records = [record("x")];
    const published = brain.exchange.publish(record("x"));
    await brain.confirms("q", "taken");
    await brain.confirms("p", "unsaved");
    brain.monotonicMs += 4999;
    brain.exchange.tick();
    expect(brain.parts("p")).toEqual([["x"]]);
    for (let i = 0; i < 2; i++) {
      brain.monotonicMs += 5000;
      brain.exchange.tick();
    }
    expect(brain.parts("p")).toEqual([["x"], ["x"], ["x"]]);
    await brain.confirms("p", "taken");
    expect(await published).toBe(true);
  });

  test.each(["before it is sent", "as it is sent"])("goes with the times since a step that is noticed %s", (when) => {
    brain.goes("q", "down");
    void brain.exchange.publish(record("x"));
    brain.records = [{ ...record("x"), record: { times: "of now" } }];
    if (when === "before it is sent") brain.exchange.clockStepped();
    else brain.onTime = () => brain.exchange.clockStepped() as undefined;
    brain.goes("q", "up");
    expect(brain.orders("q").map(({ records }) => records)).toEqual([brain.records]);
  });

  test("is replaced by a newer one of its key while it waits", async () => {
    const first = brain.exchange.publish(record("x", 5));
    const second = brain.exchange.publish(record("x", 6));
    for (const peer of ["p", "q"]) await brain.confirms(peer, "taken");
    expect(brain.exchange.unconfirmedBy("levers", "x")).toEqual(["p", "q"]);
    for (const peer of ["p", "q"]) await brain.confirms(peer, "taken");
    expect(await Promise.all([first, second])).toEqual([true, true]);
  });
});

test("a state larger than a message goes in parts, each after the one before is confirmed", async () => {
  const text = "x".repeat(MESSAGE_BYTES_MAX / 10);
  brain.records = Array.from({ length: 5 }, (_, i) => ({ ...record(`k${i}`), record: { text } }));
  brain.goes("p", "up");
  await brain.compares("p");
  expect(brain.parts("p")).toEqual([["k0", "k1"]]);
  await brain.confirms("p", "taken", "taken");
  await brain.confirms("p", "taken", "taken");
  expect(brain.parts("p")).toEqual([["k0", "k1"], ["k2", "k3"], ["k4"]]);
});

describe("a brain that comes up", () => {
  const many = Array.from({ length: 50 }, (_, i) => record(`k${i}`));
  const digestTo = (peer: string) =>
    brain.sent.findLast(({ to, kind }) => to === peer && kind === "orders_digest")?.body;

  test("gets the orders that it has not, as its answer to the digest says", async () => {
    brain.records = many;
    brain.goes("p", "up");
    expect(brain.parts("p")).toEqual([]);
    const other = new Brain();
    other.records = many.map((each) => (each.key === "k7" ? record("k7", 4) : each)).slice(0, 49);
    await other.receives("p", "orders_digest", digestTo("p"));
    await brain.receives("p", "orders_differing", other.sent[0]?.body);
    expect(brain.parts("p").flat()).toEqual(expect.arrayContaining(["k7", "k49"]));
    expect(brain.parts("p").flat().length).toBeLessThan(10);
  });

  test("gets nothing if it has the same", async () => {
    brain.records = many;
    brain.goes("p", "up");
    await brain.receives("p", "orders_differing", { buckets: [] });
    brain.monotonicMs += 60_000;
    brain.exchange.tick();
    expect(brain.parts("p")).toEqual([]);
  });

  test("has one digest answered, and another one when it comes up again", async () => {
    const buckets = new OrderDigest().texts;
    const answers = () => brain.sent.filter(({ kind }) => kind === "orders_differing").length;
    for (let i = 0; i < 3; i++) await brain.receives("p", "orders_digest", { buckets });
    expect([answers(), brain.garbled]).toEqual([1, ["p orders_digest", "p orders_digest"]]);
    brain.goes("p", "up");
    await brain.receives("p", "orders_digest", { buckets });
    expect(answers()).toBe(2);
  });

  test("gets everything if its build knows no digests", () => {
    brain.records = many;
    brain.goes("p", "up");
    brain.monotonicMs += 5000;
    brain.exchange.tick();
    expect(brain.parts("p").flat()).toHaveLength(50);
  });
});

describe("orders of a peer", () => {
  const batch = (records: readonly unknown[], sentMs = 1000) => ({ batch: 7, sent_ms: sentMs, records });
  const answer = () => brain.sent.findLast(({ kind }) => kind === "orders_taken")?.body;

  test("are answered with what became of each", async () => {
    brain.outcomes = ["taken", "unsaved", "refused"];
    await brain.receives("p", "orders", batch([record("a"), record("b"), record("c")]));
    expect(answer()).toEqual({ batch: 7, outcomes: ["taken", "unsaved", "refused"] });
  });

  test("are taken one part after the other, of each lane", async () => {
    const { promise, resolve } = Promise.withResolvers<readonly TakeOutcome[]>();
    brain.exchange.onRecords(async (records) => {
      brain.taken.push(...records);
      return promise;
    });
    for (const key of ["a", "b", "c"]) await brain.receives("p", "orders", batch([record(key)]));
    await brain.receives("p", "orders", { ...batch([record("u")]), is_urgent: true });
    expect(brain.taken.map(({ key }) => key)).toEqual(["a", "u"]);
    resolve(["taken"]);
    await Bun.sleep(0);
    expect(brain.taken.map(({ key }) => key)).toEqual(["a", "u", "c"]);
  });

  test("are not answered on a later connection, whose process may have given their number to others", async () => {
    const { promise, resolve } = Promise.withResolvers<readonly TakeOutcome[]>();
    brain.exchange.onRecords(() => promise);
    for (const key of ["a", "b"]) await brain.receives("p", "orders", batch([record(key)]));
    for (const way of ["down", "up"] as const) brain.goes("p", way);
    resolve(["taken"]);
    await Bun.sleep(0);
    expect(answer()).toBeUndefined();
  });

  test("are taken after a part that could not be", async () => {
    let isBroken = true;
    brain.exchange.onRecords(async (records) => {
      if (isBroken) throw new Error("boom");
      return records.map(() => "taken");
    });
    await brain.receives("p", "orders", batch([record("a")]));
    expect([answer(), brain.garbled]).toEqual([undefined, ["p orders: Error: boom"]]);
    isBroken = false;
    await brain.receives("p", "orders", batch([record("a")]));
    expect(answer()).toEqual({ batch: 7, outcomes: ["taken"] });
  });

  test("are corrected by the clock that is measured, whatever time they took", async () => {
    brain.skewMs = -3_600_000;
    await brain.receives("p", "orders", batch([record("a"), { ...record("b"), clock: "q" }], -3_609_000));
    expect(brain.taken.map(({ record: one }) => one)).toEqual([{ shiftedBy: 3_600_000 }, { key: "b" }]);
  });

  test("are corrected by what the message says if the clock was set since it was measured", async () => {
    brain.skewMs = 0;
    await brain.receives("p", "orders", batch([record("a")], -3_599_000));
    expect(brain.taken.map(({ record: one }) => one)).toEqual([{ shiftedBy: 3_600_000 }]);
  });

  test("are passed on to the other peer, but for those that are refused here", async () => {
    brain.outcomes = ["taken", "unsaved", "refused"];
    await brain.receives("p", "orders", batch([record("a"), record("b"), record("c")]));
    expect([brain.parts("p").flat(), brain.parts("q").flat()]).toEqual([[], ["a", "b"]]);
  });

  test("have their times corrected where the clocks differ by a second and more", async () => {
    await brain.receives("p", "orders", batch([record("a")], 1999));
    await brain.receives("p", "orders", batch([record("b")], 2000));
    await brain.receives("p", "orders", batch([record("c")], -3_599_000));
    expect(brain.taken.map(({ key, record: one }) => [key, one])).toEqual([
      ["a", { key: "a" }],
      ["b", { shiftedBy: -1000 }],
      ["c", { shiftedBy: 3_600_000 }],
    ]);
  });

  test("that cannot be read are refused one by one, and the others taken", async () => {
    const garbage: unknown[] = [
      7,
      null,
      { ...record("x"), table: "attacks" },
      { ...record("x"), stamp: { ms: -1, brain: "o" } },
    ];
    await brain.receives("p", "orders", batch([...garbage, record("a")]));
    expect(answer()).toEqual({ batch: 7, outcomes: [...garbage.map(() => "refused"), "taken"] });
    expect([brain.taken.map(({ key }) => key), brain.garbled]).toEqual([["a"], ["p 4 orders"]]);
  });

  test.each([
    ["orders", null],
    ["orders", { batch: 1, sent_ms: "now", records: [] }],
    ["orders", { batch: 1, sent_ms: 1, records: Array(10_001).fill(0) }],
    ["orders_taken", { batch: 1, outcomes: ["maybe"] }],
    ["orders_digest", { buckets: ["a"] }],
    ["orders_differing", { buckets: [-1] }],
  ])("in a message that is none are not taken: %s", async (kind, body) => {
    await brain.receives("p", kind, body);
    expect([brain.garbled, brain.sent, brain.taken]).toEqual([[`p ${kind}`], [], []]);
  });

  test("an answer to another part than the last is of no effect", async () => {
    void brain.exchange.publish(record("x"));
    await brain.receives("p", "orders_taken", { batch: 99, outcomes: ["taken"] });
    await brain.receives("stranger", "orders_taken", { batch: 1, outcomes: ["taken"] });
    expect(brain.exchange.unconfirmedBy("levers", "x")).toEqual(["p", "q"]);
  });
});
