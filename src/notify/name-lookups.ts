/**
 * Looks up the names of targets that tenants set. A name whose servers do not answer is given up after a deadline of its own;
 * its place is taken until the system has given it up, too, so tenants have shares of the places. One lookup of a name is
 * for all who wait for it.
 */
import type { Tenant } from "../access/fair-queue.ts";
import { type Callers, Shares } from "../access/shares.ts";
import { within } from "../system/deadline.ts";
import type { Timers } from "../system/timers.ts";

/** Less than a delivery may take, ms. */
export const LOOKUP_MS = 5000;
/** Names that are looked up at once. */
export const LOOKUPS_MAX = 64;

interface NameLookupsOptions {
  /** All addresses of a name. Rejects if it has none. */
  readonly lookup: (name: string) => Promise<readonly string[]>;
  readonly timers: Pick<Timers, "after">;
  readonly callers: () => Callers;
}

export class NameLookups {
  readonly #options: NameLookupsOptions;
  readonly #shares: Shares;
  readonly #running = new Map<string, Promise<readonly string[]>>();

  constructor(options: NameLookupsOptions) {
    this.#options = options;
    this.#shares = new Shares(options.callers);
  }

  /**
   * Rejects if the name has no addresses, if they are not known in time, or if too many lookups are in progress.
   * @param tenant whose place it takes; null: of the service.
   */
  resolve(name: string, tenant: Tenant): Promise<readonly string[]> {
    const running = this.#running.get(name) ?? this.#begin(name, tenant);
    return within(running, LOOKUP_MS, this.#options.timers, () => {
      throw new Error("its addresses are not known in time");
    });
  }

  async #begin(name: string, tenant: Tenant): Promise<readonly string[]> {
    const holder = { operator: "", tenant };
    if (this.#shares.refusal(holder, { capacity: LOOKUPS_MAX }) !== null) throw new Error("too many lookups");
    this.#shares.take(holder);
    const running = this.#options.lookup(name);
    this.#running.set(name, running);
    try {
      return await running;
    } finally {
      this.#running.delete(name);
      this.#shares.giveBack(holder);
    }
  }
}
