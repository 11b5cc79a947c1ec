/**
 * The digest that brains compare before they send each other orders: these lie in buckets by their names, and of each
 * bucket there is a hash of all names and stamps in it. Only buckets that differ are sent.
 */
import type { SharedRecord } from "./order-exchange.ts";
import { stampedName } from "./stamped-order.ts";

export const DIGEST_BUCKETS = 1024;
/** Two hashes of 32 bits each. */
const SEEDS = [1, 2] as const;

type Digested = Pick<SharedRecord, "table" | "key" | "stamp" | "clock">;

export class OrderDigest {
  readonly #hashes = SEEDS.map(() => new Uint32Array(DIGEST_BUCKETS));

  /** In any order: hashes of one bucket are joined by exclusive or. */
  add(order: Digested): void {
    const { stamp, clock = "" } = order;
    const name = stampedName(order);
    const bucket = bucketOf(name);
    // Times of a clock that is not known are to be corrected by a brain that knows it.
    const text = `${stamp.ms} ${stamp.brain} ${clock} ${name}`;
    for (const [i, seed] of SEEDS.entries()) {
      const hashes = this.#hashes[i] as Uint32Array;
      hashes[bucket] = ((hashes[bucket] ?? 0) ^ Bun.hash.xxHash32(text, seed)) >>> 0;
    }
  }

  /** By bucket. */
  get texts(): string[] {
    return Array.from({ length: DIGEST_BUCKETS }, (_, bucket) =>
      this.#hashes.map((hashes) => (hashes[bucket] ?? 0).toString(36)).join("."),
    );
  }

  /** Buckets that are not as those of another brain. */
  differing(texts: readonly string[]): number[] {
    return this.texts.flatMap((text, bucket) => (text === texts[bucket] ? [] : [bucket]));
  }
}

export function bucketOf(name: string): number {
  return Bun.hash.xxHash32(name, 0) % DIGEST_BUCKETS;
}
