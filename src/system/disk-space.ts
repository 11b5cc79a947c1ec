/** The room on the disk of a folder or a file. */
import { statfs } from "node:fs/promises";

export interface DiskSpace {
  /** Bytes: all, and those that this process may still write. */
  readonly bytes: number;
  readonly freeBytes: number;
}

/** null: it cannot be read, or the file system has no bound. */
export async function diskSpace(path: string): Promise<DiskSpace | null> {
  try {
    const { blocks, bavail, bsize } = await statfs(path);
    return blocks === 0 ? null : { bytes: blocks * bsize, freeBytes: bavail * bsize };
  } catch {
    return null;
  }
}
