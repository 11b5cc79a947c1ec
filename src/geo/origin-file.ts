/**
 * One file in MaxMind's format (MaxMind DB 2.0), in memory: looks up the record of an address. Knows the format, not
 * the meaning of records.
 */
import { readFileSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Reader, type Response } from "mmdb-lib";
import { ORIGIN_FILE_BYTES_MAX } from "../limits.ts";
import { addressFamily, addressFromBytes, type IpAddress } from "../net/address.ts";
import { type PrefixColumns, PrefixColumnsWriter } from "../net/prefix-columns.ts";
import { messageOf } from "../system/error-message.ts";
import { walkOriginTree } from "./origin-tree.ts";

/** The file is unusable; the message names it and the remedy. */
export class OriginFileError extends Error {
  override readonly name = "OriginFileError";
}

/** Precedes the metadata, which start at most this many bytes before the end of the file. */
const METADATA_MARKER = Buffer.from("\xab\xcd\xefMaxMind.com", "latin1");
const METADATA_BYTES_MAX = 128 * 1024;
/** Between the search tree and the data, bytes. */
const SEPARATOR_BYTES = 16;
const REMEDY = "download it again (.mmdb, unpacked), or remove the key";

export class OriginFile {
  readonly #reader: Reader<Response>;
  readonly #path: string;
  readonly #bytes: Buffer;
  readonly #holdsIpv6: boolean;

  private constructor(path: string, bytes: Buffer, reader: Reader<Response>) {
    this.#reader = reader;
    this.#path = path;
    this.#bytes = bytes;
    this.#holdsIpv6 = reader.metadata.ipVersion === 6;
  }

  /** Throws OriginFileError. */
  static openSync(path: string): OriginFile {
    return OriginFile.of(
      path,
      readableFile(path, () => readFileSync(path)),
    );
  }

  /** Rejects with OriginFileError. Checking the tree blocks the event loop, reading the disk does not. */
  static async open(path: string): Promise<OriginFile> {
    const bytes = readableFile(path, () => readFile(path).catch((cause: unknown) => unreadable(path, cause)));
    return OriginFile.of(path, await bytes);
  }

  /** From bytes that were read. Throws OriginFileError with this path. */
  static of(path: string, bytes: Buffer): OriginFile {
    if (!bytes.subarray(Math.max(0, bytes.length - METADATA_BYTES_MAX)).includes(METADATA_MARKER)) {
      throw new OriginFileError(`${path} is not a MaxMind DB file, or is truncated: ${REMEDY}`);
    }
    try {
      const reader = new Reader<Response>(bytes);
      const fault = metadataFault(reader.metadata, bytes.length);
      if (fault !== null) throw new Error(fault);
      return new OriginFile(path, bytes, reader);
    } catch (cause) {
      throw new OriginFileError(`${path} is damaged (${messageOf(cause)}): ${REMEDY}`);
    }
  }

  /** For example `GeoLite2-ASN`. */
  get kind(): string {
    return String(this.#reader.metadata.databaseType);
  }

  /** The prefixes whose record is wanted. Throws OriginFileError when the tree is damaged, or there are more than `most`. */
  prefixesWhere(isWanted: (record: unknown) => boolean, most: number): PrefixColumns {
    const { nodeCount, ipVersion, recordSize } = this.#reader.metadata;
    const writer = new PrefixColumnsWriter();
    // Many prefixes have the same record.
    const answers = new Map<number, boolean>();
    try {
      walkOriginTree({ bytes: this.#bytes, nodeCount, ipVersion, recordSize }, (address, length, data) => {
        let answer = answers.get(data);
        if (answer === undefined) {
          answer = isWanted(this.find(addressFromBytes(address)));
          answers.set(data, answer);
        }
        if (!answer) return;
        if (writer.count === most) throw new OriginFileError(`${this.#path} has more than ${most} such prefixes`);
        writer.addBytes(address, length);
      });
    } catch (cause) {
      if (cause instanceof OriginFileError) throw cause;
      throw new OriginFileError(`${this.#path} is damaged (${messageOf(cause)}): ${REMEDY}`);
    }
    return writer.columns();
  }

  /** null: no record, or the file is damaged there. */
  find(address: IpAddress): unknown {
    if (!this.#holdsIpv6 && addressFamily(address) === 6) return null;
    try {
      return this.#reader.get(address);
    } catch {
      return null;
    }
  }
}

function readableFile<T>(path: string, read: () => T): T {
  try {
    const stats = statSync(path);
    // Reading a pipe would block forever.
    if (!stats.isFile()) throw new OriginFileError(`${path} is not a file: ${REMEDY}`);
    if (stats.size > ORIGIN_FILE_BYTES_MAX) {
      throw new OriginFileError(`${path} is larger than ${ORIGIN_FILE_BYTES_MAX} bytes: take a smaller edition`);
    }
    return read();
  } catch (cause) {
    if (cause instanceof OriginFileError) throw cause;
    return unreadable(path, cause);
  }
}

function unreadable(path: string, cause: unknown): never {
  throw new OriginFileError(`${path} cannot be read (${messageOf(cause)}): ${REMEDY}`);
}

/** null: the described tree fits into the file. */
function metadataFault(metadata: Reader<Response>["metadata"], fileBytes: number): string | null {
  const { binaryFormatMajorVersion, ipVersion, nodeCount, searchTreeSize } = metadata;
  if (binaryFormatMajorVersion !== 2) return `format ${String(binaryFormatMajorVersion)}, and 2 is read`;
  if (ipVersion !== 4 && ipVersion !== 6) return `IP version ${String(ipVersion)}`;
  if (!Number.isInteger(nodeCount) || nodeCount < 1 || !Number.isInteger(searchTreeSize)) return "no search tree";
  return searchTreeSize + SEPARATOR_BYTES > fileBytes ? "its search tree is truncated" : null;
}
