/** Reads what a set is made of: its file, as prefixes. Knows nothing of what they are for. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { stat } from "node:fs/promises";
import { OriginFile, OriginFileError } from "../geo/origin-file.ts";
import { ORIGIN_FILE_BYTES_MAX } from "../limits.ts";
import { NAMED_PREFIXES_MAX } from "../native/constants.ts";
import { type PrefixColumns, PrefixColumnsWriter } from "../net/prefix-columns.ts";
import { bogons } from "../net/special-purpose.ts";
import { messageOf } from "../system/error-message.ts";
import { PrefixListError, parsePrefixList } from "./prefix-list.ts";
import type { PrefixSetConfig, PrefixSetSource } from "./prefix-set-config.ts";
import { columnsFault } from "./prefix-width.ts";
import { type SetSize, sizeOf } from "./set-size.ts";

/** Bytes of a plain list. */
export const PREFIX_LIST_BYTES_MAX = 128 * 1024 * 1024;

/** The source of a set is unusable; the message names the file and the remedy. */
export class PrefixSetError extends Error {
  override readonly name = "PrefixSetError";
}

export interface SetContent {
  readonly columns: PrefixColumns;
  /** SHA-256 of the file, in hexadecimal; of a built-in set, of its prefixes. */
  readonly hash: string;
  readonly size: SetSize;
  /** null: no file. */
  readonly file: ReadFile | null;
}

/** The file as it was read. */
interface ReadFile {
  /** As stampOf() gives it. */
  readonly stamp: string;
  /** When it was written. Wall time. */
  readonly changedMs: number;
}

/** A text that differs when a file was changed or replaced; "": it cannot be looked at. */
export function stampOf(path: string): Promise<string> {
  return stat(path, { bigint: true }).then(stampText, () => "");
}

function stampText({ dev, ino, size, mtimeNs, ctimeNs }: Stamped): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}

interface Stamped {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** Blocks: about a second for a million prefixes. Throws PrefixSetError. */
export function readPrefixSet({ name, source, checks }: PrefixSetConfig): SetContent {
  const { bytes, file } = source.kind === "builtin" ? { bytes: null, file: null } : readWhole(source);
  const columns = columnsOf(source, checks.shortest, bytes);
  if (columns.lengths.length === 0) throw new PrefixSetError(emptyText(name, source));
  const hash = new Bun.CryptoHasher("sha256").update(bytes ?? columns.addresses).digest("hex");
  return { columns, hash, size: sizeOf(columns), file };
}

type FileSource = Exclude<PrefixSetSource, { kind: "builtin" }>;

function columnsOf(
  source: PrefixSetSource,
  shortest: PrefixSetConfig["checks"]["shortest"],
  bytes: Buffer | null,
): PrefixColumns {
  if (source.kind === "builtin" || bytes === null) {
    const writer = new PrefixColumnsWriter();
    for (const prefix of bogons()) writer.add(prefix);
    return writer.columns();
  }
  try {
    if (source.kind === "list") return parsePrefixList(bytes, { most: NAMED_PREFIXES_MAX, shortest });
    const isWanted = wantedRecords(source);
    const columns = OriginFile.of(source.path, bytes).prefixesWhere(isWanted, NAMED_PREFIXES_MAX);
    const fault = columnsFault(columns, shortest);
    if (fault !== null) throw new PrefixSetError(`${source.path}: ${fault}`);
    return columns;
  } catch (cause) {
    if (cause instanceof PrefixListError) throw new PrefixSetError(`${source.path}: ${cause.message}`);
    if (cause instanceof OriginFileError) throw new PrefixSetError(cause.message);
    throw cause;
  }
}

function wantedRecords({ countries, autonomousSystems }: Extract<PrefixSetSource, { kind: "mmdb" }>) {
  const [places, systems] = [new Set<unknown>(countries), new Set<unknown>(autonomousSystems)];
  return (record: unknown) => {
    const { country, autonomous_system_number: system } = fieldsOf(record);
    return places.has(fieldsOf(country)["iso_code"]) || systems.has(system);
  };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function emptyText(name: string, source: PrefixSetSource): string {
  const path = source.kind === "builtin" ? name : source.path;
  return source.kind === "mmdb"
    ? `${path} has no prefix of these countries or autonomous systems: take a file of their kind, or correct them`
    : `${path} has no prefix: a set without any is more often a failed download than wanted; remove the set if it is`;
}

/** The bytes and the stamp are of one open file, which did not change meanwhile. */
function readWhole(source: FileSource): { readonly bytes: Buffer; readonly file: ReadFile } {
  const { path, kind } = source;
  const most = kind === "list" ? PREFIX_LIST_BYTES_MAX : ORIGIN_FILE_BYTES_MAX;
  let opened: number;
  try {
    // Opening a pipe would wait for its writer.
    opened = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    throw new PrefixSetError(`${path} cannot be read (${messageOf(cause)}): restore it, or remove the set`);
  }
  try {
    const stats = fstatSync(opened, { bigint: true });
    if (!stats.isFile()) throw new PrefixSetError(`${path} is not a file: name one`);
    if (stats.size > most) throw new PrefixSetError(`${path} is larger than ${most} bytes: take a smaller one`);
    const bytes = bytesOf(opened, Number(stats.size));
    const stamp = stampText(stats);
    if (stampText(fstatSync(opened, { bigint: true })) !== stamp) {
      throw new PrefixSetError(`${path} is being written: write another file, and rename it to this one`);
    }
    return { bytes, file: { stamp, changedMs: Number(stats.mtimeMs) } };
  } catch (cause) {
    if (cause instanceof PrefixSetError) throw cause;
    throw new PrefixSetError(`${path} cannot be read (${messageOf(cause)}): restore it, or remove the set`);
  } finally {
    closeSync(opened);
  }
}

function bytesOf(file: number, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  let at = 0;
  while (at < size) {
    const read = readSync(file, bytes, at, size - at, at);
    if (read === 0) break;
    at += read;
  }
  return bytes.subarray(0, at);
}
