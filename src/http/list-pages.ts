/**
 * The pages and filtered views of lists in progress: limited for each token, by shares of tenants, and in total, since
 * every one may be a different view of the whole table. So one caller with many different queries can neither fill the
 * memory nor block other callers.
 */
import { type Callers, type Holder, NO_TENANTS, Shares } from "../access/shares.ts";
import { LIST_PAGES_MAX, LIST_PAGES_PER_TOKEN } from "../limits.ts";
import type { Refusal } from "./refusal.ts";

export class ListPages {
  /** Includes callers that have left: their pages are still computed. */
  readonly #readingByToken = new Map<string, number>();
  readonly #shares: Shares;

  constructor(callers: () => Callers = () => NO_TENANTS) {
    this.#shares = new Shares(callers);
  }

  /** Reads one page, if there is room for it. */
  async read(holder: Holder, page: () => Promise<Blob>): Promise<Blob | Refusal> {
    const refusal = this.#refusal(holder);
    if (refusal !== null) return refusal;
    this.#count(holder, 1);
    try {
      return await page();
    } finally {
      this.#count(holder, -1);
    }
  }

  /** On an open API callers have no names: only the total is limited. */
  #refusal(holder: Holder): Refusal | null {
    const own = this.#readingByToken.get(holder.operator) ?? 0;
    if (holder.operator !== "" && own >= LIST_PAGES_PER_TOKEN) return { kind: "too_many_pages" };
    const overrun = this.#shares.refusal(holder, { capacity: LIST_PAGES_MAX });
    if (overrun === null) return null;
    return overrun === "full" ? { kind: "too_many_pages" } : { kind: "too_many_of_share", what: "pages" };
  }

  #count(holder: Holder, change: 1 | -1): void {
    const { operator } = holder;
    this.#shares.take(holder, change);
    const ofToken = (this.#readingByToken.get(operator) ?? 0) + change;
    if (ofToken === 0) this.#readingByToken.delete(operator);
    else this.#readingByToken.set(operator, ofToken);
  }
}
