/**
 * How callers share what is bounded (docs/interface.md#limit-shares): a part is the administrator's alone, the rest is
 * divided equally among the tenants, and of several tokens of a tenant none takes more than half of its share. A caller
 * without a tenant is the administrator, for whom only the bound itself counts.
 */
import type { Principal } from "./principal.ts";
import type { TokenConfig } from "./token-config.ts";

/** The caller that fills a place. */
export type Holder = Pick<Principal, "operator" | "tenant">;

export const ADMINISTRATOR: Holder = { operator: "", tenant: null };

/** The callers that the configuration knows. */
export interface Callers {
  readonly tenants: number;
  /** Number of tokens. */
  readonly tokensOf: (tenant: string) => number;
}

export const NO_TENANTS: Callers = { tenants: 0, tokensOf: () => 0 };

export function callersOf(tokens: readonly Pick<TokenConfig, "tenant">[]): Callers {
  const byTenant = Map.groupBy(
    tokens.filter(({ tenant }) => tenant !== null),
    ({ tenant }) => tenant,
  );
  return { tenants: byTenant.size, tokensOf: (tenant) => byTenant.get(tenant)?.length ?? 0 };
}

/** The callers of the configuration in force. @param tokens another list when it changes. */
export function callersNow(tokens: () => readonly Pick<TokenConfig, "tenant">[]): () => Callers {
  let known: { readonly of: readonly unknown[]; readonly callers: Callers } | null = null;
  return () => {
    const of = tokens();
    if (known?.of !== of) known = { of, callers: callersOf(of) };
    return known.callers;
  };
}

export interface Room {
  /** Places of all callers together. */
  readonly capacity: number;
  /** Places that no tenant takes. Default: a quarter, rounded up. */
  readonly reserve?: number;
  /** The most that one tenant takes, where that is less than its share. */
  readonly perTenantMax?: number;
}

/** `full`: there is no room for any caller. `over_share`: the caller has taken what is its own. */
export type Overrun = "full" | "over_share";

/** The shares of one tenant and of one of its tokens. At least one, so that none is nothing while there is room. */
export function sharesOf(
  { capacity, reserve = Math.ceil(capacity / 4), perTenantMax = Number.POSITIVE_INFINITY }: Room,
  { tenants, tokensOf }: Callers,
  tenant: string,
): { readonly tenants: number; readonly tenant: number; readonly token: number } {
  const all = Math.max(0, capacity - reserve);
  const own = Math.min(perTenantMax, Math.max(1, Math.floor(all / Math.max(1, tenants))));
  return { tenants: all, tenant: own, token: tokensOf(tenant) > 1 ? Math.ceil(own / 2) : own };
}

/** Counts the places of one table by their holders. */
export class Shares {
  readonly #callers: () => Callers;
  #total = 0;
  #ofTenants = 0;
  readonly #byTenant = new Map<string, number>();
  readonly #byToken = new Map<string, number>();

  /** @param callers of the configuration in force. */
  constructor(callers: () => Callers) {
    this.#callers = callers;
  }

  /** Places taken, by all. */
  get total(): number {
    return this.#total;
  }

  of(tenant: string): number {
    return this.#byTenant.get(tenant) ?? 0;
  }

  /** @param places negative: they are given back. */
  take({ operator, tenant }: Holder, places = 1): void {
    this.#total += places;
    if (tenant === null) return;
    this.#ofTenants += places;
    addTo(this.#byTenant, tenant, places);
    addTo(this.#byToken, tokenKey(tenant, operator), places);
  }

  giveBack(holder: Holder, places = 1): void {
    this.take(holder, -places);
  }

  /** null: there is room for as many more places. */
  refusal({ operator, tenant }: Holder, room: Room, places = 1): Overrun | null {
    if (this.#total + places > room.capacity) return "full";
    if (tenant === null) return null;
    const share = sharesOf(room, this.#callers(), tenant);
    const isWithin =
      this.#ofTenants + places <= share.tenants &&
      this.of(tenant) + places <= share.tenant &&
      (this.#byToken.get(tokenKey(tenant, operator)) ?? 0) + places <= share.token;
    return isWithin ? null : "over_share";
  }
}

function tokenKey(tenant: string, operator: string): string {
  return JSON.stringify([tenant, operator]);
}

function addTo(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
