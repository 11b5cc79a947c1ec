import { beforeEach, describe, expect, test } from "bun:test";
import { leverStory, MemoryLevers } from "../../../test/fixtures/edge/edge.ts";
import { zonesOf } from "../../../test/fixtures/edge/zones.ts";
import { type LeverOrder, Levers } from "./levers.ts";
import type { Zone } from "./zone.ts";

const NOON = Date.UTC(2026, 2, 1, 12);
const MINUTE_MS = 60_000;
const [A, B, NONE] = zonesOf({
  zones: [
    { name: "a.example.net", origins: ["192.0.2.1:443"] },
    { name: "b.example.net", origins: ["192.0.2.1:443"] },
    { name: "none.example.net", origins: ["192.0.2.1:443"], policy: { mode: "none" } },
  ],
}) as [Zone, Zone, Zone];

let store: MemoryLevers;
let story: unknown[][];
let changes: number;
let levers: Levers;

beforeEach(() => {
  store = new MemoryLevers();
  story = [];
  changes = 0;
  levers = new Levers({ store, onChange: () => changes++, observer: leverStory(story) });
});

const order = (more: Partial<LeverOrder> = {}): LeverOrder => ({
  mode: "manual",
  ttlSeconds: 60,
  reason: "",
  ...more,
});
const words = () => story.map(([word]) => word);

describe("a lever", () => {
  test("is in force until its time, to the millisecond", () => {
    levers.set(A, order(), NOON);
    expect([NOON, NOON + MINUTE_MS - 1, NOON + MINUTE_MS].map((nowMs) => levers.of(A.name, nowMs) !== null)).toEqual([
      true,
      true,
      false,
    ]);
  });

  test("is on disk before the watcher is called", () => {
    const keptWhenTold: boolean[] = [];
    levers = new Levers({
      store,
      onChange: () => keptWhenTold.push(store.kept.has(A.name)),
      observer: leverStory(story),
    });
    levers.set(A, order(), NOON);
    levers.clear(A.name);
    expect(keptWhenTold).toEqual([true, false]);
  });

  test("that cannot be kept is not set, and one whose end cannot be kept stays", () => {
    store.fault = new Error("disk full");
    expect(() => levers.set(A, order(), NOON)).toThrow("disk full");
    expect([levers.all.size, changes, words()]).toEqual([0, 0, []]);
    store.fault = null;
    levers.set(A, order(), NOON);
    store.fault = new Error("disk full");
    expect(() => levers.set(A, order({ mode: "auto" }), NOON)).toThrow("disk full");
    expect(() => levers.clear(A.name)).toThrow("disk full");
    expect([levers.of(A.name, NOON)?.mode, changes]).toEqual(["manual", 1]);
  });

  test("of a zone that decides nothing is refused; clearing where none is changes nothing", () => {
    expect(levers.set(NONE, order(), NOON)).toEqual({ kind: "refused", refusal: "mode_none" });
    levers.clear(A.name);
    expect([changes, words()]).toEqual([0, ["refused"]]);
  });
});

describe("settling", () => {
  test("expires what is past its time, in one write, and nothing else", () => {
    levers.set(A, order(), NOON);
    levers.set(B, order({ ttlSeconds: 120 }), NOON);
    levers.settle(NOON + MINUTE_MS);
    expect([[...levers.all.keys()], [...store.kept.keys()]]).toEqual([[B.name], [B.name]]);
    expect(words()).toEqual(["set", "set", "expired"]);
  });

  test("leaves a lever alone when the clock is slewed back, and shortens it when it was set back", () => {
    levers.set(A, order(), NOON);
    const set = levers.of(A.name, NOON);
    levers.settle(NOON - 900);
    expect(levers.of(A.name, NOON)).toBe(set);
    levers.settle(NOON - 3_600_000);
    const shortened = levers.of(A.name, NOON - 3_600_000);
    expect(shortened?.untilMs).toBe(NOON - 3_600_000 + MINUTE_MS);
    expect(store.kept.get(A.name)).toEqual(shortened ?? undefined);
    expect(words()).toEqual(["set"]);
  });

  test("that the disk refuses holds all the same, and is written with the next one", () => {
    levers.set(A, order(), NOON);
    store.fault = new Error("disk full");
    levers.settle(NOON + MINUTE_MS);
    expect([levers.all.size, store.kept.size, words()]).toEqual([0, 1, ["set", "expired", "fault"]]);
    store.fault = null;
    levers.flush();
    expect([store.kept.size, words().length]).toEqual([0, 3]);
  });

  test("whose write waits does not undo what an operator ordered since", () => {
    levers.set(A, order(), NOON);
    store.fault = new Error("disk full");
    levers.settle(NOON + MINUTE_MS);
    store.fault = null;
    levers.set(A, order({ mode: "auto" }), NOON + MINUTE_MS);
    levers.flush();
    expect(store.kept.get(A.name)?.mode).toBe("auto");
  });

  test("whose write waits does not bring back what an operator cleared since", () => {
    levers.set(A, order(), NOON);
    store.fault = new Error("disk full");
    levers.settle(NOON - 3_600_000);
    store.fault = null;
    levers.clear(A.name);
    levers.flush();
    expect(store.kept.size).toBe(0);
  });
});
