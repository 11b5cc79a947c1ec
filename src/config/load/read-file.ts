/** Reads a file of the configuration, whole and with a bound. */
import { closeSync, openSync, readSync } from "node:fs";
import type { ConfigProblem } from "../../schema/problem.ts";
import { messageOf } from "../../system/error-message.ts";

/** Bytes of a configuration file. */
export const CONFIG_BYTES_MAX = 16 * 1024 * 1024;

export interface InvalidFile {
  readonly kind: "invalid";
  readonly problems: readonly ConfigProblem[];
}

/** The bytes of a file, or why it cannot be read. */
export type ReadConfigFile = { readonly kind: "bytes"; readonly bytes: Uint8Array } | InvalidFile;

export function readConfigFile(path: string, bytesMax = CONFIG_BYTES_MAX + 1): ReadConfigFile {
  try {
    return { kind: "bytes", bytes: readBounded(path, bytesMax) };
  } catch (fault) {
    return { kind: "invalid", problems: [{ line: null, path: [], rule: `cannot be read: ${messageOf(fault)}` }] };
  }
}

/** Reads to the end or to the limit, so that devices and pipes work and none can fill the memory. */
function readBounded(path: string, bound: number): Uint8Array {
  const file = openSync(path, "r");
  try {
    const chunks: Buffer[] = [];
    for (let total = 0; total < bound; ) {
      const chunk = Buffer.allocUnsafe(Math.min(1 << 20, bound - total));
      const count = readSync(file, chunk);
      if (count === 0) break;
      chunks.push(chunk.subarray(0, count));
      total += count;
    }
    return Buffer.concat(chunks);
  } finally {
    closeSync(file);
  }
}
