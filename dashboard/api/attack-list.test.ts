import { expect, test } from "bun:test";
import { type AttacksWire, attackToWire } from "../../src/http/wire/attack.ts";
import { ATTACKS_PAGE_MAX } from "../../src/limits.ts";
import { attack, NOON } from "../../test/fixtures/views.ts";
import { readAttacks } from "./attack-list.ts";

const wire = (id: string, endedAt: number | null = null) =>
  attackToWire({ attack: attack({ id, endedAt }), ban: null });

test("all pages of attacks are one list, the latest last, and one that ended meanwhile is over", async () => {
  const pages: Record<string, AttacksWire> = {
    [`limit=${ATTACKS_PAGE_MAX}`]: { active: [wire("a3"), wire("a2")], recent: [], total: 4, next: "active,1,a2" },
    [`limit=${ATTACKS_PAGE_MAX}&after=active%2C1%2Ca2`]: {
      active: [wire("a1")],
      recent: [wire("a2", NOON), wire("a0", NOON)],
      total: 4,
    },
  };
  const answer = await readAttacks(async (path) => {
    const data = pages[path.split("?")[1] ?? ""];
    if (data === undefined) throw new Error(path);
    return { kind: "answer", data };
  });
  if (answer.kind !== "answer") throw new Error(answer.kind);
  const { active, recent } = answer.data;
  expect([active, recent].map((list) => list.map(({ id }) => id))).toEqual([
    ["a1", "a3"],
    ["a2", "a0"],
  ]);
});

test("a page that cannot be read is the answer", async () => {
  const failure = { kind: "unreachable" } as const;
  expect(await readAttacks(async () => failure)).toEqual(failure);
});
