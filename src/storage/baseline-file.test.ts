import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BaselineTable } from "../detection/baseline-table.ts";
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
  test("is there again after a restart, with how long ago it was heard", async () => {
    const kept = file();
    await kept.save(filled(9000), 1500);
    const loaded = table();
    expect(await kept.load(loaded, 10_000)).toBe(9000);
    expect(loaded.count).toBe(9000);
    const row = loaded.find(key(8999), 0);
    expect(loaded.heardSeconds(row)).toBe(9500);
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

  test("gives way to what was learned since the start", async () => {
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
  ] as const)("of %p directions is taken up where there are %p", async (before, after) => {
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

  test("of a file that is cut off is taken up as far as it goes, and said so", async () => {
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
    expect(await faultOf(kept.load(table(), 0))).toContain("no version that this build knows");
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
});
