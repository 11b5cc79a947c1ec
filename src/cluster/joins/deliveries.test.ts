import { beforeEach, describe, expect, test } from "bun:test";
import { Deliveries, MARK_MS, OFFER_AFTER_MS } from "./deliveries.ts";
import { faultKey, hashedId, SAME_FAULT_MS } from "./event-keys.ts";

const AGE_MS = 900_000;
const at = (nowMs: number, holds: boolean) => ({ nowMs, holds });
const never = () => false;
const one = { key: "attack_started a 1", target: "hook" };
const entry = { ...one, event: "e" };

let table: Deliveries<string>;
beforeEach(() => {
  table = new Deliveries({ entriesMax: 3, marksMax: 3, ageMaxMs: AGE_MS });
});

describe("the holder", () => {
  test("sends, says so, and knows the event from then on", () => {
    expect(table.add(entry, 0, true)).toBe("send");
    expect(table.maySend(one, 1, true)).toBe(true);
    expect(table.sent([one], 2)).toEqual({ word: "done", deliveries: [one], to: null });
    expect([table.add(entry, 3, true), table.maySend(one, 3, true), table.size]).toEqual(["known", false, 0]);
    expect(table.marked(3)).toEqual({ word: "done", deliveries: [one], to: null });
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

  test("is sent by the holder, and otherwise kept for it", () => {
    expect(table.add(restored, 0, false)).toBe("kept");
    expect(table.tick(at(1, true), never).send).toMatchObject([restored]);
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
