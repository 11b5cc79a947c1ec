/**
 * A disk with a write cache that is lost when the power is cut: what was flushed is there afterwards, and of what was
 * written since, any part. All of it is in memory.
 */

/** What a real disk writes whole or not at all: a physical sector, bytes. */
const SECTOR = 4096;

interface Write {
  readonly offset: number;
  readonly bytes: Buffer;
}

/** Counts of sectors that were written and not flushed. */
export interface Cut {
  readonly unflushed: number;
  readonly dropped: number;
}

export class VolatileDisk {
  /** What a reader sees. */
  readonly #seen: Buffer;
  /** What outlives a cut. */
  readonly #stored: Buffer;
  /** Oldest first. */
  #unflushed: Write[] = [];

  /** @param size in bytes */
  constructor(size: number) {
    this.#seen = Buffer.alloc(size);
    this.#stored = Buffer.alloc(size);
  }

  get size(): number {
    return this.#seen.length;
  }

  /** Writes since the last flush. */
  get unflushed(): number {
    return this.#unflushed.length;
  }

  /** A view: it changes with the disk. */
  read(offset: number, length: number): Buffer {
    return this.#seen.subarray(offset, offset + length);
  }

  write(offset: number, bytes: Uint8Array): void {
    this.#seen.set(bytes, offset);
    this.#unflushed.push({ offset, bytes: Buffer.from(bytes) });
  }

  flush(): void {
    for (const { offset, bytes } of this.#unflushed) this.#stored.set(bytes, offset);
    this.#unflushed = [];
  }

  /** @param isKept drawn for each sector of each write since the last flush: whether the disk had stored it by now */
  cut(isKept: () => boolean): Cut {
    const sectors = this.#unflushed.flatMap(sectorsOf);
    const kept = sectors.filter(isKept);
    for (const { offset, bytes } of kept) this.#stored.set(bytes, offset);
    for (const { offset, bytes } of sectors) {
      this.#seen.set(this.#stored.subarray(offset, offset + bytes.length), offset);
    }
    this.#unflushed = [];
    return { unflushed: sectors.length, dropped: sectors.length - kept.length };
  }
}

function sectorsOf({ offset, bytes }: Write): Write[] {
  const parts: Write[] = [];
  for (let from = 0; from < bytes.length; ) {
    const to = Math.min(bytes.length, from + SECTOR - ((offset + from) % SECTOR));
    parts.push({ offset: offset + from, bytes: bytes.subarray(from, to) });
    from = to;
  }
  return parts;
}
