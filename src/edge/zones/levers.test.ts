import { beforeEach, describe, expect, test } from "bun:test";
import { leverCalls } from "../../../test/fixtures/edge/edge.ts";
import { zonesOf } from "../../../test/fixtures/edge/zones.ts";
import { memoryStore } from "../../../test/fixtures/storage/memory-state.ts";
import { LEVERS_MAX } from "../../limits.ts";
import { type Lever, type LeverOrder, Levers } from "./levers.ts";
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

let memory: ReturnType<typeof memoryStore>;
let kept: ReadonlyMap<string, Lever>;
let calls: unknown[][];
let changes: number;
let levers: Levers;

beforeEach(() => {
  memory = memoryStore();
  kept = memory.file.rows.levers;
  calls = [];
  changes = 0;
  levers = leversOf();
});

const isConfigured = (zone: string) => !zone.startsWith("removed");

function leversOf(before: Iterable<Lever> = []): Levers {
  const store = memory.store.table("levers");
  return new Levers({ store, isConfigured, onChange: () => changes++, observer: leverCalls(calls) }, before);
}

/** As many as there may be. */
const full = (nameOf: (i: number) => string) =>
  Array.from({ length: LEVERS_MAX }, (_, i): Lever => {
    return { zone: nameOf(i), mode: "manual", untilMs: NOON + (1 + i) * MINUTE_MS, ttlSeconds: 86_400, reason: "" };
  });

const order = (more: Partial<LeverOrder> = {}): LeverOrder => ({
  mode: "manual",
  ttlSeconds: 60,
  reason: "",
  ...more,
});
const words = () => calls.map(([word]) => word);

describe("a lever", () => {
  test("is in force until its time, to the millisecond", async () => {
    await levers.set(A, order(), NOON);
    expect([NOON, NOON + MINUTE_MS - 1, NOON + MINUTE_MS].map((nowMs) => levers.of(A.name, nowMs) !== null)).toEqual([
      true,
      true,
      false,
    ]);
  });

  test("of a zone that decides nothing is refused; clearing where none is changes nothing", async () => {
    expect(await levers.set(NONE, order(), NOON)).toEqual({ kind: "refused", refusal: "mode_none" });
    await levers.clear(A.name);
    expect([changes, words()]).toEqual([0, ["refused"]]);
  });
});

test("levers of removed zones are replaced by those of configured zones, the first to end first", async () => {
  levers = leversOf(full((i) => `removed${i}.example.net`));
  expect((await levers.set(A, order(), NOON)).kind).toBe("set");
  expect([levers.all.size, levers.all.has("removed0.example.net"), levers.all.has(A.name)]).toEqual([
    LEVERS_MAX,
    false,
    true,
  ]);
  expect(words()).toEqual(["cleared", "set"]);
  // A change of one that there is needs no room.
  await levers.set(A, order({ mode: "auto" }), NOON);
  expect(levers.all.size).toBe(LEVERS_MAX);
});

test("with a lever on as many configured zones as there can be, a further one is refused", async () => {
  levers = leversOf(full((i) => `z${i}.example.net`));
  expect(await levers.set(A, order(), NOON)).toEqual({ kind: "refused", refusal: "too_many_levers" });
});

describe("settling", () => {
  test("expires what is past its time, in one write, and nothing else", async () => {
    await levers.set(A, order(), NOON);
    await levers.set(B, order({ ttlSeconds: 120 }), NOON);
    levers.settle(NOON + MINUTE_MS);
    await memory.flush();
    expect([[...levers.all.keys()], [...kept.keys()]]).toEqual([[B.name], [B.name]]);
    expect(words()).toEqual(["set", "set", "expired"]);
  });

  test("leaves a lever alone when the clock is slewed back, and shortens it when it was set back", async () => {
    await levers.set(A, order(), NOON);
    const set = levers.of(A.name, NOON);
    levers.settle(NOON - 900);
    expect(levers.of(A.name, NOON)).toBe(set);
    levers.settle(NOON - 3_600_000);
    await memory.flush();
    const shortened = levers.of(A.name, NOON - 3_600_000);
    expect(shortened?.untilMs).toBe(NOON - 3_600_000 + MINUTE_MS);
    expect(kept.get(A.name)).toEqual(shortened ?? undefined);
    expect(words()).toEqual(["set"]);
  });
});
