/**
 * The pages of hosts that are being read: bounded for each token and in all, since every one may be another view of the
 * whole table. So one caller with ever new questions neither fills the memory nor holds up those of the others.
 */
import type { Principal } from "../../access/principal.ts";
import { HOSTS_PAGES_MAX, HOSTS_PAGES_PER_TOKEN } from "../../limits.ts";
import type { HostView } from "../backend.ts";
import type { Refusal } from "../refusal.ts";
import type { TablePass } from "../table-pass.ts";
import { HostsPage } from "./hosts-page.ts";
import { type HostsPageQuery, pageKey } from "./hosts-query.ts";
import type { VisibleGroups } from "./hosts-snapshots.ts";

/** A page that was asked for. */
export interface PageQuestion {
  readonly principal: Pick<Principal, "operator" | "tenant">;
  readonly page: HostsPageQuery;
  /** What the page was read from. */
  readonly query: URLSearchParams;
  /** Read when the page begins to be made. */
  readonly groups: () => VisibleGroups;
}

export class HostsPages {
  readonly #pass: Pick<TablePass<HostView>, "read">;
  /** Also of callers who have left: their pages are made all the same. */
  readonly #readingByToken = new Map<string, number>();
  #reading = 0;

  constructor(pass: Pick<TablePass<HostView>, "read">) {
    this.#pass = pass;
  }

  async read({ principal, page, query, groups }: PageQuestion): Promise<Blob | Refusal> {
    const { operator, tenant } = principal;
    if (this.#isFull(operator)) return { kind: "too_many_pages" };
    this.#count(operator, 1);
    try {
      return await this.#pass.read(pageKey(tenant, query), () => new HostsPage(page, groups()));
    } finally {
      this.#count(operator, -1);
    }
  }

  /** On an open API nobody has a name: there the total alone counts. */
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
