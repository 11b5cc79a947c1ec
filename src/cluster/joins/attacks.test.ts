import { beforeEach, describe, expect, test } from "bun:test";
import { type AttackSubject, isSameSubject, JoinedAttacks } from "./attacks.ts";

const HOST: AttackSubject = { direction: "incoming", target: "192.0.2.1", bits: null };
const prefix = (target: string, bits: string): AttackSubject => ({ direction: "incoming", target, bits });
const own = (id: string, startedAt = 1000, subject = HOST) => ({ id, subject, startedAt });
const foreign = (id: string, startedAt = 1000, { joinedId = id, subject = HOST } = {}) => ({
  ...{ id, joinedId, subject, startedAt },
});

let attacks: JoinedAttacks;
beforeEach(() => {
  attacks = new JoinedAttacks(2);
});

describe("an attack that another brain saw first", () => {
  beforeEach(() => void attacks.putForeign("brain2", [foreign("b", 500)]));

  test("begins with the id that it has there, and shows that start", () => {
    expect(attacks.idFor(HOST, "a")).toBe("b");
    expect(attacks.put(own("b"))).toBe(true);
    expect(attacks.joinedOf("b")).toEqual({ id: "b", startedAt: 500 });
  });

  test("has an id of its own in the other direction, and on another target", () => {
    expect(attacks.idFor({ ...HOST, direction: "outgoing" }, "a")).toBe("a");
    expect(attacks.idFor({ ...HOST, target: "192.0.2.2" }, "a")).toBe("a");
  });

  test("has an id of its own if it is over there, or that brain is out of reach", () => {
    attacks.endForeign("brain2", ["b"]);
    expect(attacks.idFor(HOST, "a")).toBe("a");
    attacks.putForeign("brain2", [foreign("b")]);
    attacks.forget("brain2");
    expect(attacks.idFor(HOST, "a")).toBe("a");
  });

  test("does not get an id again that it had here: it is shown with it", () => {
    attacks.put(own("b"));
    attacks.ended("b");
    expect(attacks.idFor(HOST, "z")).toBe("z");
    attacks.put(own("z", 2000));
    expect(attacks.joinedOf("z")).toEqual({ id: "b", startedAt: 500 });
    expect(attacks.ownIdOf("b")).toBe("z");
    attacks.ended("z");
    expect([attacks.ownIdOf("b"), attacks.ownIdOf("z")]).toEqual(["b", "z"]);
  });
});

describe("attacks that began before the brains knew of each other", () => {
  test.each([
    ["a", "b"],
    ["b", "a"],
  ])("own %s, there %s: the smaller id stays at both", (mine, theirs) => {
    attacks.put(own(mine, 1000));
    attacks.putForeign("brain2", [foreign(theirs, 900)]);
    const there = new JoinedAttacks(2);
    there.put(own(theirs, 900));
    there.putForeign("brain1", [foreign(mine, 1000)]);
    expect([attacks.joinedOf(mine), there.joinedOf(theirs) ?? { id: theirs, startedAt: 900 }]).toEqual([
      { id: "a", startedAt: 900 },
      { id: "a", startedAt: 900 },
    ]);
    expect([attacks.ownIdOf("a"), there.ownIdOf("a")]).toEqual([mine, theirs]);
  });

  test("of three brains all come to the same one, in any order", () => {
    const ids = ["a", "b", "c"];
    const tables = ids.map((id) => {
      const table = new JoinedAttacks(2);
      table.put(own(id));
      return table;
    });
    for (const [i, table] of tables.entries())
      for (const id of ids.toReversed()) if (id !== ids[i]) table.putForeign(id, [foreign(id)]);
    expect(tables.map((table, i) => table.joinedOf(ids[i] as string)?.id ?? ids[i])).toEqual(["a", "a", "a"]);
  });

  test("says which own attacks are shown otherwise", () => {
    attacks.put(own("b"));
    expect(attacks.putForeign("brain2", [foreign("a"), foreign("a")])).toEqual([own("b")]);
    expect(attacks.putForeign("brain2", [foreign("a")])).toEqual([]);
  });
});

test("the name of another attack follows the one that is shown there", () => {
  attacks.putForeign("brain2", [foreign("c", 1000, { joinedId: "a" })]);
  expect(attacks.idFor(HOST, "z")).toBe("a");
});

test("prefixes are one subject where one lies in the other", () => {
  const bits = "110000000000000000000010";
  const wide = prefix("192.0.2.0/23", bits.slice(0, 23));
  expect(isSameSubject(prefix("192.0.2.0/24", bits), wide)).toBe(true);
  expect(isSameSubject(prefix("192.0.3.0/24", `${bits.slice(0, 23)}1`), prefix("192.0.2.0/24", bits))).toBe(false);
  expect(isSameSubject(prefix("c000::/24", bits), wide)).toBe(false);
  expect(isSameSubject({ ...wide, direction: "outgoing" }, wide)).toBe(false);
  attacks.putForeign("brain2", [foreign("b", 1, { subject: wide })]);
  expect(attacks.idFor(prefix("192.0.2.0/24", bits), "z")).toBe("b");
});

test("more attacks of a brain than there is room for are not joined", () => {
  const subject = (i: number) => ({ ...HOST, target: `192.0.2.${i}` });
  attacks.putForeign(
    "brain2",
    [1, 2, 3].map((i) => foreign(`b${i}`, 1, { subject: subject(i) })),
  );
  expect([1, 2, 3].map((i) => attacks.idFor(subject(i), "z"))).toEqual(["b1", "b2", "z"]);
});
