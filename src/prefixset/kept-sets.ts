/** The last good prefixes of each set, kept in `state_dir` over restarts. */
import { NAMED_PREFIXES_MAX } from "../native/constants.ts";
import { ADDRESS_BYTES } from "../net/address.ts";
import { KeptFiles } from "../system/kept-file.ts";
import type { PrefixSetConfig } from "./prefix-set-config.ts";
import { columnsFault } from "./prefix-width.ts";
import type { SetContent } from "./set-content.ts";
import { sizeOf } from "./set-size.ts";

export interface KeepSets {
  /** null: nothing good is kept. */
  read(config: PrefixSetConfig): SetContent | null;
  /** Rejects if it cannot be written. */
  keep(config: PrefixSetConfig, content: SetContent): Promise<void>;
  /** Removes those of all other sets. */
  retain(sets: readonly PrefixSetConfig[]): Promise<void>;
}

const HASH_BYTES = 64;
const TIME_BYTES = 8;
const ROW_BYTES = ADDRESS_BYTES + 1;
const BYTES_MAX = HASH_BYTES + TIME_BYTES + NAMED_PREFIXES_MAX * ROW_BYTES;

export class KeptSets implements KeepSets {
  readonly #files: KeptFiles;

  constructor(stateDir: string) {
    this.#files = new KeptFiles(stateDir, "prefix-sets", BYTES_MAX);
  }

  read(config: PrefixSetConfig): SetContent | null {
    if (config.source.kind === "builtin") return null;
    const bytes = this.#files.read(config.name, sourceOf(config));
    const rows = bytes === null ? 0 : (bytes.length - HASH_BYTES - TIME_BYTES) / ROW_BYTES;
    if (bytes === null || rows < 1 || !Number.isInteger(rows)) return null;
    const from = HASH_BYTES + TIME_BYTES;
    const lengthsAt = from + rows * ADDRESS_BYTES;
    const columns = {
      addresses: new Uint8Array(bytes.subarray(from, lengthsAt)),
      lengths: new Uint8Array(bytes.subarray(lengthsAt)),
    };
    // The bound may be another one since.
    if (columnsFault(columns, config.checks.shortest) !== null) return null;
    const hash = bytes.toString("latin1", 0, HASH_BYTES);
    // No file has this stamp: the newest one is read as soon as it is there.
    const file = { stamp: "", changedMs: bytes.readDoubleLE(HASH_BYTES) };
    return { columns, hash, size: sizeOf(columns), file };
  }

  keep(config: PrefixSetConfig, { columns, hash, file }: SetContent): Promise<void> {
    const time = Buffer.alloc(TIME_BYTES);
    time.writeDoubleLE(file?.changedMs ?? 0);
    const parts = [Buffer.from(hash, "latin1"), time, columns.addresses, columns.lengths];
    return this.#files.keep(config.name, sourceOf(config), Buffer.concat(parts));
  }

  retain(sets: readonly PrefixSetConfig[]): Promise<void> {
    return this.#files.retain(sets.flatMap(({ name, source }) => (source.kind === "builtin" ? [] : [name])));
  }
}

function sourceOf({ source }: PrefixSetConfig): string {
  return JSON.stringify(source);
}
