import { describe, expect, test } from "bun:test";
import { PASS_READERS_MAX } from "../limits.ts";
import { nextTurn } from "../system/timers.ts";
import { ListReader } from "./list-reader.ts";
import { SLICE_MS, SlicedWork, TablePass } from "./table-pass.ts";

/** A table of numbers in which reading an item takes `itemMs`, and a test controls the turns. */
function world(items: () => Iterable<number>, itemMs = SLICE_MS) {
  let nowMs = 0;
  let passes = 0;
  const turns: (() => void)[] = [];
  const pass = new TablePass<number>(
    () => {
      passes++;
      return items();
    },
    {
      clock: {
        monotonicMs: () => {
          nowMs += itemMs;
          return nowMs;
        },
      },
      nextTurn: () => new Promise((resolve) => turns.push(resolve)),
    },
  );
  const read = (view: string, isVisible: (item: number) => boolean = () => true) =>
    pass.read(view, () => new ListReader("items", (item) => (isVisible(item) ? { item } : null)));
  /** Runs waiting passes, turn by turn, until none waits. */
  const finish = async () => {
    for (let calm = 0; calm < 20; ) {
      const turn = turns.shift();
      turn?.();
      calm = turn === undefined ? calm + 1 : 0;
      await Promise.resolve();
    }
  };
  return { read, finish, turns, passes: () => passes, pass };
}

async function itemsOf(answer: Promise<Blob>): Promise<number[]> {
  const { items } = (await (await answer).json()) as { items: { item: number }[] };
  return items.map(({ item }) => item);
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

describe("a pass over a table", () => {
  test.each([0, 1, 63, 64, 65, 1000])("shows all of %d items, each once and in order", async (count) => {
    const { read, finish } = world(() => numbers(count));
    const answer = read("all");
    await finish();
    expect(await itemsOf(answer)).toEqual(numbers(count));
  });

  test("lets other work run after each slice", async () => {
    const { read, turns, finish } = world(() => numbers(10), SLICE_MS);
    const answer = read("all");
    expect(turns).toHaveLength(1);
    await finish();
    expect(await itemsOf(answer)).toHaveLength(10);
  });

  test("over a small table takes no turn at all", async () => {
    const { read, turns } = world(() => numbers(10), 0);
    expect(await itemsOf(read("all"))).toEqual(numbers(10));
    expect(turns).toHaveLength(0);
  });

  test("never answers with what was before the question: who comes late shares the next pass", async () => {
    let table = numbers(2);
    const { read, finish, passes } = world(() => table);
    const early = read("all");
    table = numbers(5);
    const late = [read("all"), read("all")];
    await finish();
    expect(await itemsOf(early)).toEqual(numbers(2));
    expect(await itemsOf(late[0] as Promise<Blob>)).toEqual(numbers(5));
    expect(await late[1]).toBe(await late[0]);
    expect(passes()).toBe(2);
  });

  test("serves different views at once, and none sees what is another's", async () => {
    const { read, finish, passes } = world(() => numbers(9));
    const first = read("first");
    const odd = read("odd", (item) => item % 2 === 1);
    const even = read("even", (item) => item % 2 === 0);
    await finish();
    expect(await itemsOf(first)).toHaveLength(9);
    expect(await itemsOf(odd)).toEqual([1, 3, 5, 7]);
    expect(await itemsOf(even)).toEqual([0, 2, 4, 6, 8]);
    expect(passes()).toBe(2);
  });

  test.each([
    [PASS_READERS_MAX, 2],
    [PASS_READERS_MAX + 1, 3],
  ])("serves a limited number of views: %d of them after the first take %d passes in all", async (views, expected) => {
    const { read, finish, passes } = world(() => numbers(3));
    const answers = [
      read("first"),
      ...Array.from({ length: views }, (_, i) => read(`view ${i}`, (item) => item === i % 3)),
    ];
    await finish();
    expect(await itemsOf(answers[0] as Promise<Blob>)).toHaveLength(3);
    for (const [i, answer] of answers.slice(1).entries()) expect(await itemsOf(answer)).toEqual([i % 3]);
    expect(passes()).toBe(expected);
  });

  test.each([0, 3])("that fails after %d items rejects for its callers, and the next one starts again", async (at) => {
    let isBroken = true;
    function* broken() {
      yield* numbers(at);
      if (isBroken) throw new Error("the packet counter is closed");
    }
    const { read, finish } = world(broken);
    const failing = Promise.allSettled([read("all"), read("all"), read("other")]);
    await finish();
    for (const failure of await failing) {
      expect(failure).toMatchObject({ status: "rejected", reason: { message: "the packet counter is closed" } });
    }
    isBroken = false;
    const fresh = read("all");
    await finish();
    expect(await itemsOf(fresh)).toEqual(numbers(at));
  });

  test("asks who may see what when it begins, not when it was requested", async () => {
    let allowed = 0;
    const { pass, finish } = world(() => numbers(3));
    const make = () => {
      const limit = allowed;
      return new ListReader<number>("items", (item) => (item < limit ? { item } : null));
    };
    const first = pass.read("mine", make);
    const second = pass.read("mine", make);
    allowed = 2;
    await finish();
    expect(await itemsOf(first)).toEqual([]);
    expect(await itemsOf(second)).toEqual([0, 1]);
  });
});

test("the answers of many views are written in several turns", async () => {
  const { pass, turns, finish } = world(() => [1], SLICE_MS);
  const makeReader = () => ({
    see: () => {},
    *answer() {
      for (let i = 0; i < 3; i++) yield;
      return new Blob(["x"]);
    },
  });
  const answers = Array.from({ length: 3 }, (_, i) => pass.read(`view ${i}`, makeReader));
  let taken = 0;
  const shift = turns.shift.bind(turns);
  turns.shift = () => {
    taken += turns.length > 0 ? 1 : 0;
    return shift();
  };
  await finish();
  await Promise.all(answers);
  expect(taken).toBeGreaterThan(3 * 3);
});

test("sliced work of several callers is done one after the other, and an error is of its own caller", async () => {
  let nowMs = 0;
  const slicing = { clock: { monotonicMs: () => nowMs }, nextTurn };
  const sliced = new SlicedWork(slicing);
  const perTurn = [0];
  function* work(fails: boolean): Generator<undefined, string> {
    for (let i = 0; i < 4; i++) {
      nowMs += 1;
      perTurn.push((perTurn.pop() ?? 0) + 1);
      yield;
    }
    if (fails) throw new Error("of the first");
    return "done";
  }
  let isOver = false;
  const marks = (async () => {
    for (; !isOver; perTurn.push(0)) await nextTurn();
  })();
  const all = [true, false, false].map((fails) => sliced.run(work(fails)).catch(String));
  expect(await Promise.all(all)).toEqual(["Error: of the first", "done", "done"]);
  isOver = true;
  await marks;
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(2 * SLICE_MS);
});
