/** What waits for the disk: it is written in the end, and only as it was decided last. */
import { beforeEach, describe, expect, test } from "bun:test";
import { memoryStore } from "../../test/fixtures/storage/memory-state.ts";
import type { Lever } from "../edge/zones/levers.ts";
import { STATE_ORDERS_MAX } from "../limits.ts";
import type { RecordTable } from "../system/record-table.ts";

const ZONE = "a.example.net";
const lever = (reason: string): Lever => ({ zone: ZONE, mode: "manual", untilMs: 60_000, ttlSeconds: 60, reason });

let memory: ReturnType<typeof memoryStore>;
let table: RecordTable<Lever>;

beforeEach(() => {
  memory = memoryStore();
  table = memory.store.table("levers");
});

const write = (reason: string) => table.write(ZONE, lever(reason), () => null);
const kept = () => memory.file.rows.levers.get(ZONE)?.reason;

describe("a change that the disk refuses", () => {
  test("is written with the next one, and counted until then", async () => {
    await write("a");
    memory.file.isBroken = true;
    expect(await table.save(ZONE, null)).toBe(false);
    expect([kept(), table.unsaved, memory.faults.length]).toEqual(["a", 1, 1]);
    memory.file.isBroken = false;
    await memory.flush();
    expect([kept(), table.unsaved]).toEqual([undefined, 0]);
  });

  test("does not undo an order that came since", async () => {
    await write("a");
    memory.file.isBroken = true;
    table.queue(ZONE, null);
    await memory.flush();
    memory.file.isBroken = false;
    await write("b");
    await memory.flush();
    expect(kept()).toBe("b");
  });

  test("does not bring back what was removed since", async () => {
    await write("a");
    memory.file.isBroken = true;
    table.queue(ZONE, lever("shorter"));
    await memory.flush();
    memory.file.isBroken = false;
    expect(await table.save(ZONE, null)).toBe(true);
    await memory.flush();
    expect(kept()).toBeUndefined();
  });
});

test("an order that the disk refuses is rejected, and is not tried again", async () => {
  memory.file.isBroken = true;
  expect(await write("a").catch(String)).toContain("disk full");
  memory.file.isBroken = false;
  await memory.flush();
  expect([kept(), table.unsaved]).toEqual([undefined, 0]);
});

test("changes that wait are written at once, the newest of each record alone", async () => {
  await write("a");
  for (const reason of ["b", "c"]) table.queue(ZONE, lever(reason));
  table.queue("b.example.net", { ...lever("d"), zone: "b.example.net" });
  await memory.flush();
  expect(memory.file.writes.slice(1).map((changes) => changes.map(({ record }) => record))).toEqual([
    [lever("c"), { ...lever("d"), zone: "b.example.net" }],
  ]);
});

describe("what another brain sends", () => {
  const many = Array.from({ length: STATE_ORDERS_MAX + 1 }, (_, i) => [`z${i}.example.net`, lever("x")] as const);

  test("takes no place of callers who wait", async () => {
    const saved = table.saveAll(many);
    await write("of a caller");
    expect([await saved, kept(), memory.file.rows.levers.size]).toEqual([true, "of a caller", many.length + 1]);
  });

  test("is not saved if the disk refuses it, and is written later", async () => {
    memory.file.isBroken = true;
    expect(await table.saveAll(many.slice(0, 2))).toBe(false);
    memory.file.isBroken = false;
    await memory.flush();
    expect(memory.file.rows.levers.size).toBe(2);
  });
});
