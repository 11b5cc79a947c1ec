/**
 * The pages of hosts in progress: limited for each token and in total, since every page may be a different view of the
 * whole table. So one caller with many different queries can neither fill the memory nor block other callers.
 */
import type { Principal } from "../../access/principal.ts";
import { HOSTS_PAGES_MAX, HOSTS_PAGES_PER_TOKEN } from "../../limits.ts";
import type { HostView } from "../backend.ts";
import type { Refusal } from "../refusal.ts";
import type { TablePass } from "../table-pass.ts";
import { HostsPage } from "./hosts-page.ts";
import { type HostsPageQuery, pageKey } from "./hosts-query.ts";
import type { VisibleGroups } from "./hosts-snapshots.ts";

/** A requested page. */
export interface PageRequest {
  readonly principal: Pick<Principal, "operator" | "tenant">;
  readonly page: HostsPageQuery;
  /** What the page was read from. */
  readonly query: URLSearchParams;
  /** Read when the page is started. */
  readonly groups: () => VisibleGroups;
}

export class HostsPages {
  readonly #pass: Pick<TablePass<HostView>, "read">;
  /** Includes callers that have left: their pages are still computed. */
  readonly #readingByToken = new Map<string, number>();
  #reading = 0;

  constructor(pass: Pick<TablePass<HostView>, "read">) {
    this.#pass = pass;
  }

  async read({ principal, page, query, groups }: PageRequest): Promise<Blob | Refusal> {
    const { operator, tenant } = principal;
    if (this.#isFull(operator)) return { kind: "too_many_pages" };
    this.#count(operator, 1);
    try {
      return await this.#pass.read(pageKey(tenant, query), () => new HostsPage(page, groups()));
    } finally {
      this.#count(operator, -1);
    }
  }

  /** On an open API callers have no names: only the total is limited. */
  #isFull(operator: string): boolean {
    if (this.#reading >= HOSTS_PAGES_MAX) return true;
    return operator !== "" && (this.#readingByToken.get(operator) ?? 0) >= HOSTS_PAGES_PER_TOKEN;
  }

  #count(operator: string, change: 1 | -1): void {
    this.#reading += change;
    const ofToken = (this.#readingByToken.get(operator) ?? 0) + change;
    if (ofToken === 0) this.#readingByToken.delete(operator);
    else this.#readingByToken.set(operator, ofToken);
  }
}
