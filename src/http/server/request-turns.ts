/**
 * Bounds the time that requests take in one turn of the event loop: they run one after the other, and those over the
 * bound in the next turns, so that timers and other sockets have their turn under any load of requests. Who calls is
 * found out first; then tenants take turns, and every other turn is the administrator's. What waits is bounded by the
 * connections, each of which has one request in progress.
 */
import { FairQueue, type Tenant } from "../../access/fair-queue.ts";
import type { Clock } from "../../system/clock.ts";
import type { Soon } from "../../system/soon.ts";

/** One request is never cut; what takes longer runs in slices of its own. */
export const REQUEST_TURN_MS = 2;

interface TurnOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly nextTurn: () => Promise<void>;
  /** Runs `fn` in this turn, after all promises that are settled were followed. */
  readonly afterPromises: (fn: () => void) => void;
}

export class RequestTurns {
  readonly #options: TurnOptions;
  /** Their callers are not known yet. */
  #arrived: (() => void)[] = [];
  /** The first in `#arrived` that was not begun. */
  #first = 0;
  readonly #known = new FairQueue<() => void>();
  /** The end of the time of this turn; null: no request has run in it. */
  #endMs: number | null = null;
  /** The promises of one that was begun, and what they run at once, are not over. */
  #isFollowed = false;

  constructor(options: TurnOptions) {
    this.#options = options;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#arrived.length - this.#first + this.#known.size;
  }

  /**
   * Runs `work` of a request that has come, now if there is time and none waits, else in this turn or a later one. Its time
   * counts until it waits for something outside. Throws, or rejects, as `work` does.
   */
  run<T>(work: () => Soon<T>): Soon<T> {
    if (this.#mayBegin()) return this.#beginNow(work);
    return new Promise((resolve, reject) => {
      this.#arrived.push(() => void settled(work).then(resolve, reject));
    });
  }

  /** The same for what follows, once its caller is known. */
  runFor<T>(tenant: Tenant, work: () => Soon<T>): Soon<T> {
    if (this.#mayBegin()) return this.#beginNow(work);
    return new Promise((resolve, reject) => {
      this.#known.push(tenant, () => void settled(work).then(resolve, reject));
    });
  }

  /** For what goes on after something outside has answered, such as a disk. */
  async goOn(): Promise<void> {
    await this.run(() => Promise.resolve());
  }

  #mayBegin(): boolean {
    return this.waiting === 0 && !this.#isFollowed && this.#hasTime();
  }

  #beginNow<T>(work: () => Soon<T>): Soon<T> {
    const result = work();
    if (result instanceof Promise) this.#follow();
    return result;
  }

  /** The library may hand over several requests before it follows the promises of the first. */
  #follow(): void {
    this.#isFollowed = true;
    this.#options.afterPromises(() => {
      this.#isFollowed = false;
      this.#beginNext();
    });
  }

  #beginNext(): void {
    if (this.#isFollowed || this.waiting === 0 || !this.#hasTime()) return;
    this.#follow();
    const begin = this.#first < this.#arrived.length ? this.#arrived[this.#first++] : this.#known.shift();
    if (this.#first === this.#arrived.length) {
      this.#arrived = [];
      this.#first = 0;
    }
    begin?.();
  }

  #hasTime(): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#endMs !== null) return nowMs < this.#endMs;
    this.#endMs = nowMs + REQUEST_TURN_MS;
    void this.#options.nextTurn().then(() => {
      this.#endMs = null;
      this.#beginNext();
    });
    return true;
  }
}

async function settled<T>(work: () => Soon<T>): Promise<T> {
  return work();
}
