/**
 * Keeps baselines over a restart: one file in `state_dir`, replaced as a whole, so that a reader finds the old or the
 * new file. Baselines can be learned again, so an unreadable file is ignored and is no reason to stop.
 */
import { type FileHandle, open, rename } from "node:fs/promises";
import { join } from "node:path";
import { SEASON_IDLE_SECONDS, SLOT_BYTES, STATE_WORDS } from "../detection/baseline/baseline-seasons.ts";
import type { BaselineTable } from "../detection/baseline/baseline-table.ts";
import type { BaselineKeeper } from "../detection/baseline/learning-loop.ts";
import { inTurn } from "../system/stored-file.ts";
import { BASE_TRIO } from "../traffic/rates.ts";

/**
 * "FWBL" and a version, little endian; then directions and number of rows; then the rows. In version 2 the number of
 * seasonal baselines follows, and these. Without any the file has version 1, which earlier builds can read.
 */
const MAGIC = 0x4c425746;
const VERSION = 1;
const SEASONS_VERSION = 2;
const HEADER_BYTES = 16;
/** Rows written or read in one slice: a millisecond or two, including the first access to the memory. */
const SLICE_ROWS = 1024;
/** Seasonal baselines are ten times as large. */
const SLICE_SEASONS = 128;

type Directions = BaselineTable["directions"];

export class BaselineFile implements BaselineKeeper {
  readonly path: string;

  constructor(stateDir: string) {
    this.path = join(stateDir, "baselines.bin");
  }

  save(table: BaselineTable, nowSeconds: number): Promise<void> {
    return inTurn(() => this.#save(table, nowSeconds));
  }

  /** Rows that the table has already are not changed. */
  async load(table: BaselineTable, nowSeconds: number): Promise<number> {
    const file = await openIfThere(this.path);
    if (file === null) return 0;
    try {
      const header = await read(file, HEADER_BYTES);
      const [magic, version, directions, count = 0] = [0, 4, 8, 12].map((at) => header.getUint32(at, true));
      const isKnown = magic === MAGIC && (version === VERSION || version === SEASONS_VERSION);
      if (!isKnown || (directions !== 1 && directions !== 2)) {
        throw new Error(`${this.path} has a version that this build does not know: the baselines are learned again`);
      }
      for (let row = 0; row < count; row += SLICE_ROWS) {
        const rows = Math.min(SLICE_ROWS, count - row);
        takeRows(table, await read(file, rows * rowBytes(directions)), directions, nowSeconds);
      }
      if (version === SEASONS_VERSION) await loadSeasons(file, table, directions, nowSeconds);
      return count;
    } finally {
      await file.close();
    }
  }

  async #save(table: BaselineTable, nowSeconds: number): Promise<void> {
    const unfinished = `${this.path}.new`;
    const file = await open(unfinished, "w", 0o600);
    try {
      const { count, directions } = table;
      const seasons = table.seasons?.rows() ?? [];
      const version = seasons.length === 0 ? VERSION : SEASONS_VERSION;
      await file.write(words(MAGIC, version, directions, count));
      for (let row = 0; row < count; row += SLICE_ROWS) {
        await file.write(rowsToBytes(table, row, Math.min(count, row + SLICE_ROWS), nowSeconds));
      }
      if (version === SEASONS_VERSION) await file.write(words(seasons.length));
      for (let i = 0; i < seasons.length; i += SLICE_SEASONS) {
        await file.write(seasonsToBytes(table, seasons.slice(i, i + SLICE_SEASONS)));
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, this.path);
  }
}

/** Key, seconds since the host was last seen, and for each direction the learned seconds and the base trio. */
function rowBytes(directions: Directions): number {
  return 16 + 4 + directions * 4 * (1 + BASE_TRIO);
}

function rowsToBytes(table: BaselineTable, from: number, to: number, nowSeconds: number): Uint8Array {
  const { directions } = table;
  const bytes = new DataView(new ArrayBuffer((to - from) * rowBytes(directions)));
  let at = 0;
  for (let row = from; row < to; row++) {
    table.copyKey(row, bytes, at);
    bytes.setUint32(at + 16, Math.max(0, nowSeconds - table.lastTrafficSeconds(row)), true);
    at += 20;
    for (let direction = 0; direction < directions; direction++) {
      bytes.setFloat32(at, table.learnedSeconds(row, direction), true);
      for (let i = 0; i < BASE_TRIO; i++) bytes.setFloat32(at + 4 * (i + 1), table.normal(row, direction, i), true);
      at += 4 * (1 + BASE_TRIO);
    }
  }
  return new Uint8Array(bytes.buffer);
}

function takeRows(table: BaselineTable, bytes: DataView, directions: Directions, nowSeconds: number): void {
  const keys = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.byteLength; at += rowBytes(directions)) {
    if (table.find(keys, at) >= 0) continue;
    const row = table.findOrAdd(keys, at, nowSeconds);
    if (row < 0) return;
    table.setLastTraffic(row, nowSeconds - bytes.getUint32(at + 16, true));
    for (let direction = 0; direction < Math.min(directions, table.directions); direction++) {
      const from = at + 20 + direction * 4 * (1 + BASE_TRIO);
      table.setLearnedSeconds(row, direction, number(bytes, from));
      for (let i = 0; i < BASE_TRIO; i++) table.setNormal(row, direction, i, number(bytes, from + 4 * (i + 1)));
    }
  }
}

/** Key, and for each direction the hour, the remaining state and the codes. */
function seasonBytes(directions: Directions): number {
  return 16 + directions * (4 * STATE_WORDS + SLOT_BYTES);
}

/** A baseline whose row was reused while the file was written gets a key of zeros, which matches no host. */
function seasonsToBytes(table: BaselineTable, rows: readonly number[]): Uint8Array {
  const { seasons, directions } = table;
  const bytes = new Uint8Array(rows.length * seasonBytes(directions));
  const view = new DataView(bytes.buffer);
  for (const [i, row] of rows.entries()) {
    const place = seasons?.find(row) ?? -1;
    if (seasons === null || place < 0) continue;
    let at = i * seasonBytes(directions);
    table.copyKey(row, view, at);
    at += 16;
    for (let side = 0; side < directions; side++) {
      const { hour, state, codes } = seasons.memory(place, side);
      view.setUint32(at, hour[0] as number, true);
      for (const [word, value] of state.entries()) view.setFloat32(at + 4 * (word + 1), value, true);
      bytes.set(codes, at + 4 * STATE_WORDS);
      at += 4 * STATE_WORDS + SLOT_BYTES;
    }
  }
  return bytes;
}

async function loadSeasons(
  file: FileHandle,
  table: BaselineTable,
  directions: Directions,
  nowSeconds: number,
): Promise<void> {
  // Seasonal baselines are not configured any more.
  if (table.seasons === null) return;
  const count = (await read(file, 4)).getUint32(0, true);
  for (let i = 0; i < count; i += SLICE_SEASONS) {
    const seasons = Math.min(SLICE_SEASONS, count - i);
    takeSeasons(table, await read(file, seasons * seasonBytes(directions)), directions, nowSeconds);
  }
}

function takeSeasons(table: BaselineTable, view: DataView, directions: Directions, nowSeconds: number): void {
  const { seasons } = table;
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const isIdle = (row: number) => table.lastTrafficSeconds(row) < nowSeconds - SEASON_IDLE_SECONDS;
  for (let from = 0; from < bytes.length; from += seasonBytes(directions)) {
    const row = table.find(bytes, from);
    if (seasons === null || row < 0 || seasons.find(row) >= 0) continue;
    const place = seasons.findOrAdd(row, table.isHost(row), isIdle);
    for (let side = 0; place >= 0 && side < Math.min(directions, table.directions); side++) {
      const at = from + 16 + side * (4 * STATE_WORDS + SLOT_BYTES);
      const { hour, state, codes } = seasons.memory(place, side);
      hour[0] = view.getUint32(at, true);
      for (let word = 0; word < state.length; word++) state[word] = number(view, at + 4 * (word + 1));
      codes.set(bytes.subarray(at + 4 * STATE_WORDS, at + 4 * STATE_WORDS + SLOT_BYTES));
    }
  }
}

function words(...values: number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 * values.length));
  for (const [i, value] of values.entries()) view.setUint32(4 * i, value, true);
  return new Uint8Array(view.buffer);
}

/** The file may have been changed: invalid numbers become values with which limits are still correct. */
function number(bytes: DataView, at: number): number {
  const value = bytes.getFloat32(at, true);
  return value >= 0 && value < Number.POSITIVE_INFINITY ? value : 0;
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, "r");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw cause;
  }
}

async function read(file: FileHandle, bytes: number): Promise<DataView> {
  const buffer = new Uint8Array(bytes);
  for (let filled = 0; filled < bytes; ) {
    const { bytesRead } = await file.read(buffer, filled, bytes - filled);
    if (bytesRead === 0) throw new Error("the file of baselines ends early: the remaining ones are learned again");
    filled += bytesRead;
  }
  return new DataView(buffer.buffer);
}
