/**
 * Keeps baselines over a restart: one file in `state_dir`, replaced as a whole, so that a reader finds the old or the
 * new file. Baselines can be learned again, so an unreadable file is ignored and is no reason to stop.
 */
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { SEASON_IDLE_SECONDS } from "../detection/baseline/baselines.ts";
import type { LearnedRates } from "../detection/baseline/learned-rates.ts";
import type { BaselineKeeper } from "../detection/baseline/learning-loop.ts";
import { inTurn, openIfThere, replaceFile } from "../system/stored-file.ts";
import { BASE_TRIO } from "../traffic/rates.ts";

/**
 * "FWBL" and a version, little endian; then directions and number of rows; then the rows. In version 2 the number of
 * seasonal baselines follows, and these. Without any the file has version 1, which earlier builds can read.
 */
const MAGIC = 0x4c425746;
const VERSION = 1;
const SEASONS_VERSION = 2;
const HEADER_BYTES = 16;
/** Rows written or read in one slice: well under a millisecond, including the first access to the memory. */
const SLICE_ROWS = 1024;
/** Seasonal baselines are ten times as large. */
const SLICE_SEASONS = 128;
/**
 * Bytes of a row: key, seconds since the host was last seen, and for each direction the learned seconds and the base
 * trio. Of a seasonal baseline: key, and for each direction 1 + the last hour with traffic since the epoch, seconds of
 * traffic in it, their mean and the normal at its start, and the codes of 168 hours. The addon reads and writes them.
 */
const rowBytes = (directions: number) => 16 + 4 + directions * 4 * (1 + BASE_TRIO);
const seasonBytes = (directions: number) => 16 + directions * (4 * (2 + 2 * BASE_TRIO) + 168 * BASE_TRIO);

export class BaselineFile implements BaselineKeeper {
  readonly path: string;

  constructor(stateDir: string) {
    this.path = join(stateDir, "baselines.bin");
  }

  save(rates: LearnedRates, nowSeconds: number): Promise<void> {
    return inTurn(() => replaceFile(this.path, (file) => write(file, rates, nowSeconds)));
  }

  /** Rows that are known already do not change. */
  async load(rates: LearnedRates, nowSeconds: number): Promise<number> {
    const file = await openIfThere(this.path);
    if (file === null) return 0;
    try {
      const header = await readWords(file, HEADER_BYTES);
      const [magic, version, directions = 0, count = 0] = header;
      const isKnown = magic === MAGIC && (version === VERSION || version === SEASONS_VERSION);
      if (!isKnown || (directions !== 1 && directions !== 2)) {
        throw new Error(`${this.path} has a version that this build does not know: the baselines are learned again`);
      }
      for (let row = 0; row < count; row += SLICE_ROWS) {
        const rows = Math.min(SLICE_ROWS, count - row);
        rates.takeRows(await read(file, rows * rowBytes(directions)), directions, nowSeconds);
      }
      if (version === SEASONS_VERSION) await loadSeasons(file, rates, directions, nowSeconds);
      return count;
    } finally {
      await file.close();
    }
  }
}

async function write(file: FileHandle, rates: LearnedRates, nowSeconds: number): Promise<void> {
  const { count, directions } = rates.stats();
  const seasons = rates.seasonRows();
  const version = seasons.length === 0 ? VERSION : SEASONS_VERSION;
  await file.write(words(MAGIC, version, directions, count));
  for (let row = 0; row < count; row += SLICE_ROWS) {
    const bytes = new Uint8Array(Math.min(SLICE_ROWS, count - row) * rowBytes(directions));
    rates.copyRows(row, nowSeconds, bytes);
    await file.write(bytes);
  }
  if (version === SEASONS_VERSION) await file.write(words(seasons.length));
  for (let i = 0; i < seasons.length; i += SLICE_SEASONS) {
    const rows = seasons.subarray(i, i + SLICE_SEASONS);
    const bytes = new Uint8Array(rows.length * seasonBytes(directions));
    rates.copySeasons(rows, bytes);
    await file.write(bytes);
  }
}

async function loadSeasons(
  file: FileHandle,
  rates: LearnedRates,
  directions: number,
  nowSeconds: number,
): Promise<void> {
  // Seasonal baselines are not configured any more.
  if (rates.stats().seasons === null) return;
  const [count = 0] = await readWords(file, 4);
  const idleSeconds = Math.max(0, nowSeconds - SEASON_IDLE_SECONDS);
  for (let i = 0; i < count; i += SLICE_SEASONS) {
    const seasons = Math.min(SLICE_SEASONS, count - i);
    rates.takeSeasons(await read(file, seasons * seasonBytes(directions)), directions, idleSeconds);
  }
}

/** Numbers as words of 32 bits, little endian. */
export function words(...values: number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 * values.length));
  for (const [i, value] of values.entries()) view.setUint32(4 * i, value, true);
  return new Uint8Array(view.buffer);
}

async function readWords(file: FileHandle, bytes: number): Promise<number[]> {
  const view = new DataView((await read(file, bytes)).buffer);
  return Array.from({ length: bytes / 4 }, (_, i) => view.getUint32(4 * i, true));
}

async function read(file: FileHandle, bytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const buffer = new Uint8Array(bytes);
  for (let filled = 0; filled < bytes; ) {
    const { bytesRead } = await file.read(buffer, filled, bytes - filled);
    if (bytesRead === 0) throw new Error("the file of baselines ends early: the remaining ones are learned again");
    filled += bytesRead;
  }
  return buffer;
}
