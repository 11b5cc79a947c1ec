/**
 * The largest of very many keys with bounded memory (Misra and Gries 1982, with weights and in batches): of a key at most
 * the share 1/capacity of all weight is missing, and of one that has less it may be all.
 */

interface KeyCounts {
  readonly key: string;
  /** At most what was added of it. */
  readonly packets: number;
  readonly bytes: number;
}

interface Counts {
  packets: number;
  bytes: number;
}

export class LargestKeys {
  readonly #capacity: number;
  readonly #counts = new Map<string, Counts>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** `bytes` is the weight. */
  add(key: string, packets: number, bytes: number): void {
    const known = this.#counts.get(key);
    if (known !== undefined) {
      known.packets += packets;
      known.bytes += bytes;
      return;
    }
    this.#counts.set(key, { packets, bytes });
    if (this.#counts.size > 2 * this.#capacity) this.#reduce();
  }

  /** Largest first; empties it. */
  take(count: number): KeyCounts[] {
    const largest = [...this.#counts]
      .sort(([, a], [, b]) => b.bytes - a.bytes)
      .slice(0, count)
      .map(([key, counts]) => ({ key, ...counts }));
    this.#counts.clear();
    return largest;
  }

  /** Takes from each key what the first one beyond the capacity has: from more keys than fit, so not often much. */
  #reduce(): void {
    const sorted = [...this.#counts.values()].map(({ bytes }) => bytes).sort((a, b) => b - a);
    const least = sorted[this.#capacity] ?? 0;
    for (const [key, counts] of this.#counts) {
      if (counts.bytes <= least) {
        this.#counts.delete(key);
        continue;
      }
      counts.packets *= 1 - least / counts.bytes;
      counts.bytes -= least;
    }
  }
}
