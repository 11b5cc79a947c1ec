/** The disk of `make powercut` must lose what was not flushed, and nothing else. */
import { expect, test } from "bun:test";
import { VolatileDisk } from "./volatile-disk.ts";

const SECTOR = 4096;
const sector = (value: number, length = SECTOR) => new Uint8Array(length).fill(value);
const valuesOf = (disk: VolatileDisk) => [0, 1, 2, 3].map((i) => disk.read(i * SECTOR, 1)[0]);

function writtenDisk(): VolatileDisk {
  const disk = new VolatileDisk(4 * SECTOR);
  disk.write(0, sector(1, 2 * SECTOR));
  disk.flush();
  disk.write(SECTOR, sector(2, 2 * SECTOR));
  disk.write(SECTOR, sector(3));
  return disk;
}

test("a reader sees what was written, flushed or not", () => {
  expect(valuesOf(writtenDisk())).toEqual([1, 3, 2, 0]);
});

test("a cut loses what was not flushed", () => {
  const disk = writtenDisk();
  expect(disk.cut(() => false)).toEqual({ unflushed: 3, dropped: 3 });
  expect(valuesOf(disk)).toEqual([1, 1, 0, 0]);
  expect(disk.cut(() => false)).toEqual({ unflushed: 0, dropped: 0 });
});

test("a cut may keep any sector of any write, also an older write of the same sector", () => {
  const disk = writtenDisk();
  const kept = [true, false, false].values();
  expect(disk.cut(() => kept.next().value === true)).toEqual({ unflushed: 3, dropped: 2 });
  expect(valuesOf(disk)).toEqual([1, 2, 0, 0]);
});

test("a write that begins within a sector is divided where sectors are", () => {
  const disk = new VolatileDisk(4 * SECTOR);
  disk.write(SECTOR - 512, sector(4, 1024));
  const kept = [false, true].values();
  expect(disk.cut(() => kept.next().value === true)).toEqual({ unflushed: 2, dropped: 1 });
  expect([disk.read(SECTOR - 1, 2)[0], disk.read(SECTOR - 1, 2)[1]]).toEqual([0, 4]);
});

test("what was flushed outlives every cut, and the disk goes on from there", () => {
  const disk = writtenDisk();
  disk.flush();
  disk.write(3 * SECTOR, sector(5));
  disk.cut(() => false);
  expect(valuesOf(disk)).toEqual([1, 3, 2, 0]);
  disk.write(3 * SECTOR, sector(6));
  disk.flush();
  disk.cut(() => false);
  expect(valuesOf(disk)).toEqual([1, 3, 2, 6]);
});
