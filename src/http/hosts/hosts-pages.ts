/**
 * The pages of hosts in progress: limited for each token, by shares of tenants, and in total, since every page may be a different view of the
 * whole table. So one caller with many different queries can neither fill the memory nor block other callers.
 */
import type { Principal } from "../../access/principal.ts";
import { type Callers, type Holder, NO_TENANTS, Shares } from "../../access/shares.ts";
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
  /** The snapshot from which the page was read. */
  readonly query: URLSearchParams;
  /** Read when the page is started. */
  readonly groups: () => VisibleGroups;
}

export class HostsPages {
  readonly #pass: Pick<TablePass<HostView>, "read">;
  /** Includes callers that have left: their pages are still computed. */
  readonly #readingByToken = new Map<string, number>();
  readonly #shares: Shares;

  constructor(pass: Pick<TablePass<HostView>, "read">, callers: () => Callers = () => NO_TENANTS) {
    this.#pass = pass;
    this.#shares = new Shares(callers);
  }

  async read({ principal, page, query, groups }: PageRequest): Promise<Blob | Refusal> {
    const { tenant } = principal;
    const refusal = this.#refusal(principal);
    if (refusal !== null) return refusal;
    this.#count(principal, 1);
    try {
      return await this.#pass.read(pageKey(tenant, query), () => new HostsPage(page, groups()), tenant);
    } finally {
      this.#count(principal, -1);
    }
  }

  /** On an open API callers have no names: only the total is limited. */
  #refusal(holder: Holder): Refusal | null {
    const own = this.#readingByToken.get(holder.operator) ?? 0;
    if (holder.operator !== "" && own >= HOSTS_PAGES_PER_TOKEN) return { kind: "too_many_pages" };
    const overrun = this.#shares.refusal(holder, { capacity: HOSTS_PAGES_MAX });
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
