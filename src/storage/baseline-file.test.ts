import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SeasonTable } from "../detection/baseline/baseline-seasons.ts";
import { BaselineTable } from "../detection/baseline/baseline-table.ts";
import { BaselineFile } from "./baseline-file.ts";

let root = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), `floodwall-baselines-${process.pid}-`));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const table = (directions: 1 | 2 = 2, capacity = 20_000) => new BaselineTable({ capacity, directions, seed: 3 });
const file = () => new BaselineFile(mkdtempSync(join(root, "state-")));

function key(n: number): Uint8Array {
  const bytes = new Uint8Array(16).fill(0x20);
  new DataView(bytes.buffer).setUint32(12, n);
  return bytes;
}

function filled(rows: number, directions: 1 | 2 = 2): BaselineTable {
  const made = table(directions);
  for (let n = 0; n < rows; n++) {
    const row = made.findOrAdd(key(n), 0, 1000);
    for (let direction = 0; direction < directions; direction++) {
      made.setLearnedSeconds(row, direction, n + direction);
      for (let i = 0; i < 3; i++) made.setNormal(row, direction, i, n + 0.5 * i + 100 * direction);
    }
  }
  return made;
}

const faultOf = (loading: Promise<number>) =>
  loading.then(
    () => "",
    (cause: unknown) => String(cause),
  );

describe("what is normal", () => {
  test("is restored after a restart, with the time since it was last seen", async () => {
    const kept = file();
    await kept.save(filled(9000), 1500);
    const loaded = table();
    expect(await kept.load(loaded, 10_000)).toBe(9000);
    expect(loaded.count).toBe(9000);
    const row = loaded.find(key(8999), 0);
    expect(loaded.lastTrafficSeconds(row)).toBe(9500);
    expect([loaded.learnedSeconds(row, 0), loaded.learnedSeconds(row, 1)]).toEqual([8999, 9000]);
    expect([loaded.normal(row, 0, 1), loaded.normal(row, 1, 2)]).toEqual([8999.5, 9100]);
  });

  test("is nothing where no file is", async () => {
    expect(await file().load(table(), 0)).toBe(0);
  });

  test("replaces the earlier file as a whole, and leaves no other", async () => {
    const kept = file();
    await kept.save(filled(50), 1000);
    await kept.save(filled(2), 1000);
    expect(await kept.load(table(), 1000)).toBe(2);
    expect(readdirSync(join(kept.path, ".."))).toEqual(["baselines.bin"]);
  });

  test("is replaced by what was learned since the start", async () => {
    const kept = file();
    await kept.save(filled(3), 1000);
    const running = table();
    const row = running.findOrAdd(key(1), 0, 2000);
    running.setNormal(row, 0, 0, 77);
    await kept.load(running, 2000);
    expect(running.normal(running.find(key(1), 0), 0, 0)).toBe(77);
    expect(running.count).toBe(3);
  });

  test.each([
    [1, 2],
    [2, 1],
  ] as const)("of %p directions is restored where there are %p", async (before, after) => {
    const kept = file();
    await kept.save(filled(5, before), 1000);
    const loaded = table(after);
    await kept.load(loaded, 1000);
    expect(loaded.normal(loaded.find(key(4), 0), 0, 0)).toBe(4);
    if (after === 2) expect(loaded.learnedSeconds(loaded.find(key(4), 0), 1)).toBe(0);
  });

  test("takes up no more than there is room for", async () => {
    const kept = file();
    await kept.save(filled(50), 1000);
    const small = table(2, 10);
    await kept.load(small, 1000);
    expect(small.count).toBe(10);
  });

  test("of a file that is cut off is restored as far as it goes, and said so", async () => {
    const kept = file();
    await kept.save(filled(9000), 1000);
    writeFileSync(kept.path, readFileSync(kept.path).subarray(0, -100));
    const loaded = table();
    expect(await faultOf(kept.load(loaded, 1000))).toContain("ends early");
    expect(loaded.count).toBeGreaterThan(8000);
  });

  test("of a file of another kind is refused", async () => {
    const kept = file();
    writeFileSync(kept.path, "something else, long enough for a header");
    expect(await faultOf(kept.load(table(), 0))).toContain("has a version that this build does not know");
  });

  test("cannot become what is no rate", async () => {
    const kept = file();
    await kept.save(filled(1), 1000);
    const bytes = readFileSync(kept.path);
    bytes.writeFloatLE(Number.NaN, 16 + 20 + 4);
    bytes.writeFloatLE(-1, 16 + 20 + 8);
    writeFileSync(kept.path, bytes);
    const loaded = table();
    await kept.load(loaded, 1000);
    expect([loaded.normal(0, 0, 0), loaded.normal(0, 0, 1), loaded.normal(0, 0, 2)]).toEqual([0, 0, 1]);
  });

  test("by hour of the week is there again after months, with the hour that was going on", async () => {
    const kept = file();
    await kept.save(withSeasons(filled(1000), 300), 1500);
    const loaded = withSeasons(table(), 0);
    expect(await kept.load(loaded, 1e7)).toBe(1000);
    expect(loaded.seasons?.count).toBe(300);
    for (const n of [0, 127, 128, 299]) {
      const place = loaded.seasons?.find(loaded.find(key(n), 0)) ?? -1;
      for (const side of [0, 1]) {
        const { hour, state, codes } = memoryOf(loaded, place, side);
        expect([...hour, ...state]).toEqual([n + side, 1, 2, 3, 4, 5, 6, 7]);
        expect(new Set(codes)).toEqual(new Set([(n + side) % 256]));
      }
    }
    expect(loaded.seasons?.find(loaded.find(key(300), 0))).toBe(-1);
  });

  test("without hours of the week is kept as earlier builds kept it, and theirs is restored", async () => {
    const kept = file();
    await kept.save(filled(3), 1000);
    const bytes = readFileSync(kept.path);
    expect([bytes.readUInt32LE(4), bytes.length]).toEqual([1, 16 + 3 * (16 + 4 + 2 * 16)]);
    const loaded = withSeasons(table(), 0);
    expect(await kept.load(loaded, 1000)).toBe(3);
    expect([loaded.count, loaded.seasons?.count]).toEqual([3, 0]);
  });

  test("by hour of the week is left out if it is not configured", async () => {
    const kept = file();
    await kept.save(withSeasons(filled(5), 5), 1000);
    const loaded = table();
    expect(await kept.load(loaded, 1000)).toBe(5);
    expect([loaded.count, loaded.seasons]).toEqual([5, null]);
  });

  test("by hour of the week is replaced by what was learned since the start, within the bound", async () => {
    const kept = file();
    await kept.save(withSeasons(filled(5), 5), 1000);
    const running = withSeasons(table(), 0, 2);
    running.findOrAdd(key(3), 0, 2000);
    const place = running.seasons?.findOrAdd(running.find(key(3), 0), true, () => false) ?? -1;
    memoryOf(running, place, 0).codes.fill(99);
    await kept.load(running, 2000);
    expect(running.seasons?.count).toBe(2);
    expect(memoryOf(running, place, 0).codes[0]).toBe(99);
  });

  test("by hour of the week of a file that is cut off is restored as far as it goes, and said so", async () => {
    const kept = file();
    await kept.save(withSeasons(filled(300), 300), 1000);
    writeFileSync(kept.path, readFileSync(kept.path).subarray(0, -100));
    const loaded = withSeasons(table(), 0);
    expect(await faultOf(kept.load(loaded, 1000))).toContain("ends early");
    expect([loaded.count, loaded.seasons?.count]).toEqual([300, 256]);
  });

  test("by hour of the week of a row that goes to another while it is written is left out", async () => {
    const kept = file();
    const running = withSeasons(filled(300), 300);
    const { seasons } = running;
    if (seasons === null) throw new Error("no seasons");
    // The list is built before the first byte is written.
    const rows = seasons.rows.bind(seasons);
    seasons.rows = () => {
      const listed = rows();
      seasons.release(running.find(key(299), 0));
      return listed;
    };
    await kept.save(running, 1000);
    const loaded = withSeasons(table(), 0);
    await kept.load(loaded, 1000);
    expect([loaded.count, loaded.seasons?.count]).toEqual([300, 299]);
  });
});

/** The first `count` rows have a place, each with bytes of its own. */
function withSeasons(made: BaselineTable, count: number, hosts = 1000): BaselineTable {
  made.seasons = new SeasonTable({ rows: 20_000, directions: made.directions, hosts, groups: 1 });
  for (let n = 0; n < count; n++) {
    const place = made.seasons.findOrAdd(made.find(key(n), 0), true, () => false);
    for (let side = 0; side < made.directions; side++) {
      const { hour, state, codes } = memoryOf(made, place, side);
      hour[0] = n + side;
      state.set([1, 2, 3, 4, 5, 6, 7]);
      codes.fill(n + side);
    }
  }
  return made;
}

function memoryOf({ seasons }: BaselineTable, place: number, side: number) {
  if (seasons === null) throw new Error("no seasons");
  return seasons.memory(place, side);
}
