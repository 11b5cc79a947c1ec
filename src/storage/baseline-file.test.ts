import { describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { knownOf, learnedRates } from "../../test/fixtures/baselines.ts";
import { folder } from "../../test/fixtures/folders.ts";
import type { LearnedRates } from "../detection/baseline/learned-rates.ts";
import { BaselineFile } from "./baseline-file.ts";

const root = folder("baselines");

const table = (directions: 1 | 2 = 2, capacity = 20_000) => learnedRates({ capacity, directions });
const file = () => new BaselineFile(mkdtempSync(join(root, "state-")));

function key(n: number): Uint8Array {
  const bytes = new Uint8Array(16).fill(0x20);
  new DataView(bytes.buffer).setUint32(12, n);
  return bytes;
}

/** Rows as they are in a file: key, seconds of silence, and for each direction the learned seconds and three rates. */
function rowsInFile(rows: number, directions: 1 | 2, silentSeconds: number): Uint8Array {
  const bytes = new Uint8Array(rows * (20 + 16 * directions));
  const view = new DataView(bytes.buffer);
  for (let n = 0; n < rows; n++) {
    const at = n * (20 + 16 * directions);
    bytes.set(key(n), at);
    view.setUint32(at + 16, silentSeconds, true);
    for (let direction = 0; direction < directions; direction++) {
      const values = [n + direction, ...[0, 1, 2].map((i) => n + 0.5 * i + 100 * direction)];
      for (const [i, value] of values.entries()) view.setFloat32(at + 20 + 16 * direction + 4 * i, value, true);
    }
  }
  return bytes;
}

/** With traffic at second 1000. */
function filled(rows: number, directions: 1 | 2 = 2, capacity = 20_000): LearnedRates {
  const made = table(directions, capacity);
  made.takeRows(rowsInFile(rows, directions, 0), directions, 1000);
  return made;
}

function silentSeconds(rates: LearnedRates, row: number, nowSeconds: number): number {
  const bytes = new Uint8Array(20 + 16 * rates.stats().directions);
  rates.copyRows(row, nowSeconds, bytes);
  return new DataView(bytes.buffer).getUint32(16, true);
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
    expect(loaded.stats().count).toBe(9000);
    expect(silentSeconds(loaded, 8999, 10_000)).toBe(500);
    expect(knownOf(loaded, key(8999), 0)).toEqual({ seconds: 8999, normal: [8999, 8999.5, 9000] });
    expect(knownOf(loaded, key(8999), 1)).toEqual({ seconds: 9000, normal: [9099, 9099.5, 9100] });
  });

  test("is restored of a file as every build has written it, byte by byte", async () => {
    const kept = file();
    const header = new DataView(new ArrayBuffer(16));
    for (const [i, word] of [0x4c425746, 1, 2, 3].entries()) header.setUint32(4 * i, word, true);
    const bytes = Buffer.concat([new Uint8Array(header.buffer), rowsInFile(3, 2, 500)]);
    writeFileSync(kept.path, bytes);
    const loaded = table();
    expect(await kept.load(loaded, 10_000)).toBe(3);
    expect(knownOf(loaded, key(2), 1)).toEqual({ seconds: 3, normal: [102, 102.5, 103] });
    await kept.save(loaded, 10_000);
    expect(readFileSync(kept.path)).toEqual(bytes);
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
    learn(running, 1, 2000, 77);
    await kept.load(running, 2000);
    expect(knownOf(running, key(1))?.normal[0]).toBe(77);
    expect(running.stats().count).toBe(3);
  });

  test.each([
    [1, 2],
    [2, 1],
  ] as const)("of %p directions is restored where there are %p", async (before, after) => {
    const kept = file();
    await kept.save(filled(5, before), 1000);
    const loaded = table(after);
    await kept.load(loaded, 1000);
    expect(knownOf(loaded, key(4))?.normal[0]).toBe(4);
    if (after === 2) expect(knownOf(loaded, key(4), 1)?.seconds).toBe(0);
  });

  test("takes up no more than there is room for", async () => {
    const kept = file();
    await kept.save(filled(50), 1000);
    const small = table(2, 10);
    await kept.load(small, 1000);
    expect(small.stats().count).toBe(10);
  });

  test("of a file that is cut off is restored as far as it goes, and said so", async () => {
    const kept = file();
    await kept.save(filled(9000), 1000);
    writeFileSync(kept.path, readFileSync(kept.path).subarray(0, -100));
    const loaded = table();
    expect(await faultOf(kept.load(loaded, 1000))).toContain("ends early");
    expect(loaded.stats().count).toBeGreaterThan(8000);
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
    expect(knownOf(loaded, key(0))?.normal).toEqual([0, 0, 1]);
  });

  test("by hour of the week is there again after months, with the hour that was going on", async () => {
    const kept = file();
    await kept.save(withSeasons(filled(1000), 300), 1500);
    const loaded = withSeasons(table(), 0);
    expect(await kept.load(loaded, 1e7)).toBe(1000);
    expect(loaded.stats().seasons?.count).toBe(300);
    const rows = loaded.seasonRows();
    const bytes = new Uint8Array(rows.length * SEASON_BYTES);
    loaded.copySeasons(rows, bytes);
    expect(Buffer.from(bytes)).toEqual(Buffer.from(seasonsInFile(300)));
  });

  test("without hours of the week is kept as earlier builds kept it, and theirs is restored", async () => {
    const kept = file();
    await kept.save(filled(3), 1000);
    const bytes = readFileSync(kept.path);
    expect([bytes.readUInt32LE(4), bytes.length]).toEqual([1, 16 + 3 * (16 + 4 + 2 * 16)]);
    const loaded = withSeasons(table(), 0);
    expect(await kept.load(loaded, 1000)).toBe(3);
    expect([loaded.stats().count, loaded.stats().seasons?.count]).toEqual([3, 0]);
  });

  test("by hour of the week is left out if it is not configured", async () => {
    const kept = file();
    await kept.save(withSeasons(filled(5), 5), 1000);
    const loaded = table();
    expect(await kept.load(loaded, 1000)).toBe(5);
    expect([loaded.stats().count, loaded.stats().seasons]).toEqual([5, null]);
  });

  test("by hour of the week is replaced by what was learned since the start, within the bound", async () => {
    const kept = file();
    await kept.save(withSeasons(filled(5), 5), 1000);
    const running = withSeasons(table(), 0, 2);
    learn(running, 3, 2000, 77);
    const own = seasonsInFile(4)
      .subarray(3 * SEASON_BYTES)
      .fill(99, 16 + 32, 16 + 32 + 504);
    running.takeSeasons(own, 2, 0);
    await kept.load(running, 2000);
    const kept3 = new Uint8Array(SEASON_BYTES);
    running.copySeasons(Uint32Array.of(0), kept3);
    expect(running.stats().seasons?.count).toBe(2);
    expect(Buffer.from(kept3)).toEqual(Buffer.from(own));
  });

  test("by hour of the week of a file that is cut off is restored as far as it goes, and said so", async () => {
    const kept = file();
    await kept.save(withSeasons(filled(300), 300), 1000);
    writeFileSync(kept.path, readFileSync(kept.path).subarray(0, -100));
    const loaded = withSeasons(table(), 0);
    expect(await faultOf(kept.load(loaded, 1000))).toContain("ends early");
    expect([loaded.stats().count, loaded.stats().seasons?.count]).toEqual([300, 256]);
  });

  test("by hour of the week of a row that goes to another while it is written is left out", async () => {
    const kept = file();
    // Full, so that another key takes a row.
    const running = withSeasons(filled(300, 2, 300), 300);
    const racing = new Proxy(running, {
      get: (of, name: keyof LearnedRates) => {
        if (name !== "seasonRows") return (of[name] as () => unknown).bind(of);
        return () => {
          // The list is built before the first byte is written.
          const listed = of.seasonRows();
          learn(of, 500, 5000, 1);
          return listed;
        };
      },
    });
    await kept.save(racing, 5000);
    const loaded = withSeasons(table(), 0);
    await kept.load(loaded, 5000);
    expect([loaded.stats().count, loaded.stats().seasons?.count]).toEqual([300, 299]);
  });
});

const SEASON_BYTES = 16 + 2 * (32 + 504);

/** Of two directions: key, and for each direction the hour, seven numbers, and the codes. */
function seasonsInFile(count: number): Uint8Array {
  const bytes = new Uint8Array(count * SEASON_BYTES);
  const view = new DataView(bytes.buffer);
  for (let n = 0; n < count; n++) {
    bytes.set(key(n), n * SEASON_BYTES);
    for (const side of [0, 1]) {
      const at = n * SEASON_BYTES + 16 + side * (32 + 504);
      view.setUint32(at, n + side, true);
      for (let i = 1; i < 8; i++) view.setFloat32(at + 4 * i, i, true);
      bytes.fill(n + side, at + 32, at + 32 + 504);
    }
  }
  return bytes;
}

/** The first `count` rows have a place, each with bytes of its own. */
function withSeasons(made: LearnedRates, count: number, hosts = 1000): LearnedRates {
  made.addSeasons(hosts, 1);
  made.takeSeasons(seasonsInFile(count), 2, 0);
  return made;
}

/** One second of traffic. */
function learn(rates: LearnedRates, n: number, nowSeconds: number, pps: number): void {
  const rule = { warmupSeconds: 0, halfLifeSeconds: 60, factor: 3, floor: Float64Array.of(1, 1, 1), isSeasonal: false };
  rates.setGroups([{ isWhole: false, rule }]);
  rates.learn(key(n), 0, 0, Float64Array.of(pps, 0, 0), nowSeconds, 1);
}
