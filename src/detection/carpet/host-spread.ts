/**
 * Over how many hosts the sampled traffic of a prefix is spread. One window may have fewer samples than there are hosts; so
 * the samples of several windows are compared. Pure. Knows prefixes by their owner's keys only.
 */

/** The rates of one prefix in one window. */
interface SpreadWindow {
  /** The sum of the rates of its hosts, and that of their squares. */
  readonly sum: number;
  readonly squares: number;
  /** The variance of the sum as an estimate; 0: it is exact. */
  readonly variance: number;
}

/** When a pass was, monotonic ms. */
interface Passed {
  readonly nowMs: number;
  readonly windowMs: number;
}

interface Pairs {
  /** Pairs of samples, and those of which both are of one host. */
  all: number;
  ofOneHost: number;
  addedMs: number;
}

/** Expected pairs of one host at the least number of hosts: with these, twice as many hosts are distinguished. */
const EXPECTED_LEAST = 16;
/** After this number of windows, pairs of before count by half: the prefix may have been above a threshold for hours. */
const HALF_LIFE = 64;
/** After this number of windows above no threshold, the pairs of a prefix are forgotten. */
const WINDOWS_KEPT = 16;

export class HostSpread {
  readonly #pairs = new Map<string, Pairs>();
  readonly #capacity: number;
  /** Windows that were judged by themselves only, for want of room. */
  refused = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /**
   * Whether the traffic is spread over at least a number of equal hosts: by the window, or by all its windows together. Of H
   * hosts with equal rates a pair of samples is of one host with the probability 1/H; both numbers of pairs follow without
   * bias from the sums, from which the variances of the estimates are taken (as (Σx)²/Σx² without them). The number that a
   * window alone shows is never too high by that, but of n samples at most n.
   *
   * @param key of the prefix
   */
  isOver(hosts: number, key: string, window: SpreadWindow, { nowMs, windowMs }: Passed): boolean {
    const { sum, squares, variance } = window;
    if (squares > 0 && (sum * sum) / squares >= hosts) return true;
    if (variance === 0 || sum === 0) return false;
    const pairs = this.#of(key);
    if (pairs === null) return false;
    // Windows that overlap have samples in common.
    if (nowMs - pairs.addedMs >= windowMs) {
      const perSample = variance / sum;
      const left = 2 ** ((pairs.addedMs - nowMs) / (windowMs * HALF_LIFE));
      pairs.all = left * pairs.all + (sum * sum - variance) / (2 * perSample * perSample);
      pairs.ofOneHost = left * pairs.ofOneHost + (squares - variance) / (2 * perSample * perSample);
      pairs.addedMs = nowMs;
    }
    return pairs.all / hosts >= EXPECTED_LEAST && pairs.all >= hosts * pairs.ofOneHost;
  }

  /** Keys stand for other prefixes from now on. */
  clear(): void {
    this.#pairs.clear();
  }

  /** Call this after each pass. */
  forget({ nowMs, windowMs }: Passed): void {
    for (const [key, { addedMs }] of this.#pairs) {
      if (nowMs - addedMs > WINDOWS_KEPT * windowMs) this.#pairs.delete(key);
    }
  }

  /** null: there is no room. */
  #of(key: string): Pairs | null {
    const known = this.#pairs.get(key);
    if (known !== undefined) return known;
    if (this.#pairs.size >= this.#capacity) {
      this.refused++;
      return null;
    }
    const made = { all: 0, ofOneHost: 0, addedMs: Number.NEGATIVE_INFINITY };
    this.#pairs.set(key, made);
    return made;
  }
}
