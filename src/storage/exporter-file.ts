/**
 * Keeps what exporters of flow telemetry said over a restart: one file in `state_dir`, replaced as a whole. They say it
 * again, so a damaged file is set aside and is no reason to stop. Does not know what it is that they said.
 */

import { readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { inTurn, replaceFile } from "../system/stored-file.ts";
import type { ExporterKeeper, SavedExporters } from "../telemetry/exporter-memory.ts";
import { words } from "./baseline-file.ts";

/**
 * "FWXP" and a version, little endian; the number of ports; of each the length of its name, its name, the length of what
 * its exporters said, and that; then the SHA-256 of all before.
 */
const MAGIC = 0x50585746;
const VERSION = 1;
const HEADER_BYTES = 12;
const DIGEST_BYTES = 32;
const FILE_BYTES_MAX = 256 * 1024 * 1024;

export class ExporterFile implements ExporterKeeper {
  readonly path: string;

  constructor(stateDir: string) {
    this.path = join(stateDir, "exporters.bin");
  }

  save(saved: SavedExporters): Promise<void> {
    return inTurn(() => replaceFile(this.path, (file) => file.writeFile(fileOf(saved))));
  }

  /** Blocks, since it must be known before the first datagram. Throws for a damaged file. */
  load(): SavedExporters {
    try {
      const { size } = statSync(this.path, { throwIfNoEntry: false }) ?? { size: null };
      if (size === null) return new Map();
      if (size > FILE_BYTES_MAX) throw new Error(`it has ${size} bytes, more than ${FILE_BYTES_MAX}`);
      return savedIn(readFileSync(this.path));
    } catch (cause) {
      const aside = `${this.path}.damaged`;
      renameSync(this.path, aside);
      throw new Error(`${this.path} is damaged and was moved to ${aside}`, { cause });
    }
  }
}

function fileOf(saved: SavedExporters): Uint8Array {
  const parts = [words(MAGIC, VERSION, saved.size)];
  for (const [name, bytes] of saved) {
    const letters = new TextEncoder().encode(name);
    parts.push(words(letters.length), letters, words(bytes.length), bytes);
  }
  const content = Buffer.concat(parts);
  return Buffer.concat([content, digestOf(content)]);
}

function savedIn(file: Buffer): SavedExporters {
  const content = file.subarray(0, Math.max(0, file.length - DIGEST_BYTES));
  if (content.length < HEADER_BYTES || !digestOf(content).equals(file.subarray(content.length))) {
    throw new Error("its check sum is wrong");
  }
  let at = 0;
  const number = () => {
    at += 4;
    return content.readUInt32LE(at - 4);
  };
  const take = (length: number) => {
    at += length;
    return content.subarray(at - length, at);
  };
  if (number() !== MAGIC || number() !== VERSION) throw new Error("this build does not know its version");
  const saved = new Map<string, Uint8Array>();
  for (let count = number(); count > 0; count--) {
    const name = take(number()).toString();
    saved.set(name, new Uint8Array(take(number())));
  }
  return saved;
}

function digestOf(content: Uint8Array): Buffer {
  return Buffer.from(new Bun.CryptoHasher("sha256").update(content).digest());
}
