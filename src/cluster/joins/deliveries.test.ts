import { beforeEach, describe, expect, spyOn, test } from "bun:test";
import { Deliveries, type Entry, MARK_MS, OFFER_AFTER_MS, OFFERS_OF_TICK, type Said } from "./deliveries.ts";
import { faultKey, hashedId, SAME_FAULT_MS } from "./event-keys.ts";

const AGE_MS = 900_000;
const at = (nowMs: number, holds: boolean, others: readonly string[] = ["a"]) => ({ nowMs, holds, others });
const never = () => false;
const one = { key: "attack_started a 1", target: "hook" };
const entry = { ...one, event: "e" };

let table: Deliveries<string>;
beforeEach(() => {
  table = new Deliveries({ own: "b", entriesMax: 3, marksMax: 3, ageMaxMs: AGE_MS });
});

describe("the holder", () => {
  test("sends, says so, and knows the event from then on", () => {
    expect(table.add(entry, 0, true)).toBe("send");
    expect(table.maySend(one, 1, true)).toBe(true);
    expect(table.sent([one], 2)).toEqual({ word: "done", deliveries: [one], to: null });
    expect([table.add(entry, 3, true), table.maySend(one, 3, true), table.size]).toEqual(["known", false, 0]);
    const left = { ...one, leftMs: MARK_MS - 1 };
    expect(table.marked(3)).toEqual({ word: "done", deliveries: [left], to: null });
    expect(table.add(entry, 2 + MARK_MS, true)).toBe("send");
  });

  test("sends nothing more once it has lost the lease, and again when it has it", () => {
    table.add(entry, 0, true);
    expect([table.maySend(one, 1, false), table.maySend(one, 2, true)]).toEqual([false, false]);
    expect(table.tick(at(3, true), never).send).toMatchObject([entry]);
    expect(table.maySend(one, 4, true)).toBe(true);
  });

  test("sends nothing that another one has sent meanwhile", () => {
    table.add(entry, 0, true);
    table.take("b", "done", [one], at(1, true));
    expect([table.maySend(one, 2, true), table.add(entry, 3, true)]).toEqual([false, "known"]);
  });

  test("leaves to another one what it does not have, and takes it over when that is gone", () => {
    const answer = table.take("b", "offered", [one], at(0, true));
    expect(answer.say).toEqual([{ word: "granted", deliveries: [one], to: "b" }]);
    expect(table.add(entry, 1, true)).toBe("kept");
    expect(table.tick(at(2, true), never).send).toEqual([]);
    expect(table.tick(at(3, true), (brain) => brain === "b").send).toMatchObject([entry]);
  });

  test("grants nothing that it has, and says of what it has sent that it is done", () => {
    table.add(entry, 0, true);
    expect(table.take("b", "offered", [one], at(1, true)).say).toEqual([]);
    table.sent([one], 2);
    expect(table.take("b", "offered", [one], at(3, true)).say).toEqual([{ word: "done", deliveries: [one], to: "b" }]);
  });

  test("grants one event to one brain", () => {
    table.take("b", "offered", [one], at(0, true));
    expect(table.take("c", "offered", [one], at(1, true)).say).toEqual([]);
    expect(table.take("b", "offered", [one], at(1, true)).say).toHaveLength(1);
  });

  test("grants it to another one when that is gone, or is back without it", () => {
    const offeredBy = (brain: string) => table.take(brain, "offered", [one], at(2, true)).say.length;
    table.take("b", "offered", [one], at(0, true));
    table.tick(at(1, true), (brain) => brain === "b");
    expect([offeredBy("c"), offeredBy("b")]).toEqual([1, 0]);
    table.forgetGrants("c");
    expect(offeredBy("b")).toBe(1);
    table.add(entry, 3, true);
    table.forgetGrants("b");
    expect(table.tick(at(4, true), never).send).toMatchObject([entry]);
  });
});

describe("another brain", () => {
  test("keeps the event until it is done", () => {
    expect(table.add(entry, 0, false)).toBe("kept");
    expect(table.maySend(one, 1, false)).toBe(false);
    table.take("a", "done", [one], at(2, false));
    expect([table.size, table.tick(at(3, true), never).send]).toEqual([0, []]);
  });

  test("does not keep what was done before it happened here", () => {
    table.take("a", "done", [one], at(0, false));
    expect(table.add(entry, 1, false)).toBe("known");
  });

  test("sends it when it holds the lease", () => {
    table.add(entry, 0, false);
    expect(table.tick(at(1, true), never).send).toMatchObject([entry]);
    expect(table.tick(at(2, true), never).send).toEqual([]);
  });

  test("sends what the holder gives up", () => {
    table.add(entry, 0, false);
    expect(table.take("a", "given_up", [one], at(1, false)).send).toMatchObject([entry]);
    expect(table.maySend(one, 2, false)).toBe(true);
  });

  test("offers what the holder says nothing of, and sends what it is granted, once", () => {
    table.add(entry, 0, false);
    expect(table.tick(at(OFFER_AFTER_MS - 1, false), never).say).toEqual([]);
    const offer = { word: "offered", deliveries: [one], to: null } as const;
    expect(table.tick(at(OFFER_AFTER_MS, false), never).say).toEqual([offer]);
    expect(table.tick(at(OFFER_AFTER_MS + 1, false), never).say).toEqual([]);
    expect(table.take("a", "granted", [one], at(OFFER_AFTER_MS + 2, false)).send).toMatchObject([entry]);
    expect(table.take("a", "granted", [one], at(OFFER_AFTER_MS + 3, false)).send).toEqual([]);
    // Both of the others may offer; without the lease there is no answer.
    expect(table.take("c", "offered", [one], at(OFFER_AFTER_MS + 4, false)).say).toEqual([]);
  });

  test("offers it again after ever longer pauses, at once to a brain that comes up", () => {
    table.add(entry, 0, false);
    const offered: number[] = [];
    const until = (fromMs: number, toMs: number) => {
      for (let ms = fromMs; ms < toMs; ms += 500) if (table.tick(at(ms, false), never).say.length > 0) offered.push(ms);
    };
    until(0, 250_000);
    expect(offered).toEqual([500, 2500, 6500, 14_500, 30_500, 62_500, 126_500, 190_500]);
    table.forgetGrants("a");
    until(250_000, 252_500);
    expect(offered.slice(8)).toEqual([250_000, 252_000]);
  });

  test("offers a bounded number a tick, all of them in turns", () => {
    const count = 3 * OFFERS_OF_TICK;
    const many = new Deliveries<string>({ own: "b", entriesMax: count, marksMax: 3, ageMaxMs: AGE_MS });
    for (let i = 0; i < count; i++) many.add({ ...entry, key: `k ${i}` }, 0, false);
    const offers = [500, 750, 1000, 1250].flatMap((ms) => many.tick(at(ms, false), never).say);
    expect(offers.map(({ deliveries }) => deliveries.length)).toEqual(Array(3).fill(OFFERS_OF_TICK));
    expect(new Set(offers.flatMap(({ deliveries }) => deliveries.map(({ key }) => key))).size).toBe(count);
  });

  test("gives an old event up", () => {
    table.add(entry, 0, false);
    expect(table.tick(at(AGE_MS, false), never).tooOld).toBe(0);
    expect(table.tick(at(AGE_MS + 1, false), never).tooOld).toBe(1);
    expect(table.size).toBe(0);
  });
});

describe("an event of which only the hash is left after a restart", () => {
  const restored = { key: hashedId(one.key), target: "hook", event: "e" };

  test("is known if it is done", () => {
    table.take("a", "done", [one], at(0, false));
    expect(table.add(restored, 1, true)).toBe("known");
    expect(table.add({ ...restored, target: "other" }, 1, true)).toBe("send");
  });

  test("is not granted by the holder that has it", () => {
    table.add(entry, 0, true);
    expect(table.take("b", "offered", [restored], at(1, true)).say).toEqual([]);
    table.sent([one], 2);
    const { say } = table.take("b", "offered", [{ key: restored.key, target: "hook" }], at(3, true));
    expect(say).toMatchObject([{ word: "done" }]);
  });

  test("is done at a brain that has it under its key, and is not offered by it", () => {
    table.add(entry, 0, false);
    table.take("a", "done", [{ key: restored.key, target: "hook" }], at(1, false));
    expect([table.size, table.tick(at(OFFER_AFTER_MS, false), never).say]).toEqual([0, []]);
    expect(table.marked(1).deliveries).toMatchObject([one]);
  });

  test("is found without a look at all that is known", () => {
    const many = new Deliveries({ own: "b", entriesMax: 20_000, marksMax: 3, ageMaxMs: AGE_MS });
    for (let i = 0; i < 20_000; i++) many.add({ ...one, key: `k ${i}`, event: "e" }, 0, true);
    const hash = spyOn(Bun.CryptoHasher.prototype, "digest");
    many.take("b", "offered", [{ key: restored.key, target: "hook" }], at(1, true));
    expect(hash.mock.calls.length).toBeLessThan(5);
    hash.mockRestore();
  });

  test("is sent by the holder, and otherwise kept for it", () => {
    expect(table.add(restored, 0, false)).toBe("kept");
    expect(table.tick(at(1, true), never).send).toMatchObject([restored]);
  });
});

describe("what the holder gives up", () => {
  const all = ["a", "b", "c", "d"] as const;
  /** By brain; messages between them arrive at once. `begun` are those that send it. */
  const begunBy = (having: readonly string[], giver: string) => {
    const tables = new Map(
      all.map((own) => [own, new Deliveries<string>({ own, entriesMax: 9, marksMax: 9, ageMaxMs: AGE_MS })]),
    );
    const others = (own: string) => all.filter((name) => name !== own);
    for (const own of having) tables.get(own as "a")?.add(entry, 0, false);
    const begun: string[] = [];
    const say = (from: string, said: readonly Said[]) => {
      for (const { word, deliveries, to } of said) {
        for (const name of to === null ? others(from) : [to as "a"]) {
          const { send, say: more } = tables.get(name)?.take(from, word, deliveries, at(1, false, others(name))) ?? {
            send: [],
            say: [],
          };
          begun.push(...send.map(() => name));
          say(name, more);
        }
      }
    };
    const table = tables.get(giver as "a");
    table?.add(entry, 0, true);
    say(giver, [table?.gaveUp([one], others(giver), 1) as Said]);
    const offers = (own: string) =>
      tables.get(own as "a")?.tick(at(1 + OFFER_AFTER_MS, false, others(own)), never).say ?? [];
    const answered = having.flatMap((own) =>
      offers(own).flatMap(({ word, deliveries }) => table?.take(own, word, deliveries, at(9000, true)).say ?? []),
    );
    return { begun, granted: answered.map(({ to }) => to) };
  };

  test.each([
    ["is sent by one of those that have it", ["b", "c", "d"], "a", ["b"]],
    ["whichever gives it up", ["a", "b", "c"], "d", ["a"]],
    ["is passed on by those that do not have it", ["d"], "a", ["d"]],
    ["and to none that has given it up", ["c", "d"], "b", ["c"]],
  ])("%s", (_, having, giver, begun) => {
    expect(begunBy(having, giver)).toEqual({ begun, granted: [] });
  });

  test("waits for the brain that has it later", () => {
    expect(begunBy([], "a")).toEqual({ begun: [], granted: [] });
  });
});

describe("a fault that comes and goes within a minute", () => {
  const named = (key: string) => ({ key, target: "hook", event: key });
  const [lost, found] = ["scrub_node_lost", "scrub_node_found"].map((kind) => named(faultKey(kind, "s1"))) as [
    Entry<string>,
    Entry<string>,
  ];
  const pairOf = () => {
    const [a, b] = ["a", "b"].map(
      (own) => new Deliveries<string>({ own, entriesMax: 9, marksMax: 9, ageMaxMs: AGE_MS }),
    ) as [Deliveries<string>, Deliveries<string>];
    return { a, b };
  };

  test("is sent each time by the holder, and by no other", () => {
    const { a, b } = pairOf();
    for (const [i, event] of [lost, found, lost, found].entries()) {
      const nowMs = i * 3000;
      // The other brain sees it before, or after.
      if (i < 2) expect(b.add(event, nowMs, false)).toBe("kept");
      expect(a.add(event, nowMs, true)).toBe("send");
      expect(a.maySend(event, nowMs, true)).toBe(true);
      b.take("a", "done", a.sent([event], nowMs).deliveries, at(nowMs, false));
      if (i >= 2) expect(b.add(event, nowMs, false)).toBe("known");
      expect(b.size).toBe(0);
    }
  });

  test("is not sent twice for a brain that sees it only after it is over", () => {
    const { a, b } = pairOf();
    for (const event of [lost, found]) {
      a.add(event, 0, true);
      b.take("a", "done", a.sent([event], 0).deliveries, at(0, false));
    }
    expect([b.add(lost, 5000, false), b.add(found, 8000, false)]).toEqual(["known", "known"]);
  });

  test("is remembered no longer by a brain that gets to know it when its connection begins", () => {
    const { a, b } = pairOf();
    a.add(lost, 0, true);
    a.sent([lost], 0);
    for (const nowMs of [20_000, 40_000, SAME_FAULT_MS - 1])
      b.take("a", "done", a.marked(nowMs).deliveries, at(nowMs, false));
    expect(b.add(lost, SAME_FAULT_MS + 1, false)).toBe("kept");
  });
});

describe("an attack that is shown with another id since", () => {
  const key = (id: string) => ({ key: `attack_started ${id} 1`, target: "hook" });

  test("is not sent again by the brain that had that id for it", () => {
    const [a, b] = ["a", "b"].map(
      (own) => new Deliveries<string>({ own, entriesMax: 9, marksMax: 9, ageMaxMs: AGE_MS }),
    ) as [Deliveries<string>, Deliveries<string>];
    a.add({ ...key("x"), event: "e" }, 0, true);
    b.take("a", "done", a.sent([key("x")], 0).deliveries, at(0, false));
    b.add({ ...key("w"), event: "e" }, 0, false);
    const said = a.renamed(new Map([["x", "w"]]), 1);
    expect(said).toEqual({ word: "done", deliveries: [key("w")], to: null });
    expect(a.take("b", "offered", [key("w")], at(2, true)).say).toEqual([
      { word: "done", deliveries: [key("w")], to: "b" },
    ]);
    b.take("a", "done", said?.deliveries ?? [], at(2, false));
    expect([b.size, b.tick(at(9000, true), never).send]).toEqual([0, []]);
  });

  test("and is sent once if it waits still", () => {
    table.add({ ...key("x"), event: "e" }, 0, true);
    expect(table.renamed(new Map([["x", "w"]]), 1)).toBeNull();
    expect([table.maySend(key("x"), 1, true), table.maySend(key("w"), 1, true), table.size]).toEqual([false, true, 1]);
  });
});

describe("bounds", () => {
  const named = (key: string) => ({ key, target: "hook", event: key });

  test("over the room an event is dropped", () => {
    expect(["1", "2", "3", "4"].map((key) => table.add(named(key), 0, false))).toMatchObject([
      "kept",
      "kept",
      "kept",
      "dropped",
    ]);
  });

  test("the oldest mark is forgotten first", () => {
    for (const key of ["1", "2", "3", "4"]) table.take("a", "done", [named(key)], at(0, false));
    expect(["1", "2", "3", "4"].map((key) => table.add(named(key), 1, false))).toMatchObject([
      "kept",
      "known",
      "known",
      "known",
    ]);
  });

  test("a fault that comes back is another event, after a minute", () => {
    const fault = named(faultKey("scrub_node_fault", "s1"));
    table.take("a", "done", [fault], at(0, false));
    expect([table.add(fault, SAME_FAULT_MS - 1, false), table.add(fault, SAME_FAULT_MS, false)]).toMatchObject([
      "known",
      "kept",
    ]);
  });
});
