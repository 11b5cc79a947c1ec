import { expect, test } from "bun:test";
import { attack } from "../../../test/fixtures/views.ts";
import { ENDED_ATTACKS_KEPT } from "../../limits.ts";
import type { Attack } from "./attack.ts";
import { AttackHistory } from "./attack-history.ts";
import { AttackLog } from "./attack-log.ts";

function history(kept: readonly Attack[] | Error) {
  const log = new AttackLog(3);
  const asked: number[] = [];
  const keeper = {
    saveAttack: () => {},
    endedAttacks: async (limit: number) => {
      asked.push(limit);
      if (kept instanceof Error) throw kept;
      return kept;
    },
  };
  return { log, asked, history: new AttackHistory(keeper, log) };
}

const ended = (id: string, endedAt: number) => attack({ id, endedAt });

test("a start restores the last attacks of the earlier process, behind those that have ended since", async () => {
  const { log, asked, history: restored } = history([ended("c", 30), ended("b", 20), ended("a", 10)]);
  log.add(ended("new", 40));
  expect(await restored.restore()).toBe(3);
  expect(log.ended.map(({ id }) => id)).toEqual(["new", "c", "b"]);
  expect(asked).toEqual([ENDED_ATTACKS_KEPT]);
});

test("an attack that is in the log already stays as it is there", async () => {
  const { log, history: restored } = history([ended("a", 10)]);
  log.add(ended("a", 11));
  await restored.restore();
  await restored.restore();
  expect(log.ended.map(({ endedAt }) => endedAt)).toEqual([11]);
});

test("a store that fails leaves the log as it is", async () => {
  const { log, history: restored } = history(new Error("away"));
  log.add(ended("a", 10));
  expect(await restored.restore()).toBe(0);
  expect(log.ended).toHaveLength(1);
});

test("an attack that ends again is in the log once, as it ended last", async () => {
  const { log, history: restored } = history([ended("b", 20), ended("a", 10)]);
  await restored.restore();
  log.add(ended("a", 30));
  expect(log.ended.map(({ id, endedAt }) => [id, endedAt])).toEqual([
    ["a", 30],
    ["b", 20],
  ]);
});
