/**
 * Keeps tenants from zones that are not theirs, whether there are such zones or not: counted, and told once a minute a
 * token (docs/interface.md#edge-history-reading). What such a caller is answered is the route's matter.
 */
import type { Principal } from "../access/principal.ts";
import type { Zone } from "../edge/zone.ts";

export interface ZoneAccessOptions {
  readonly metrics: { zoneRefused(route: ZoneRoute): void };
  readonly log: { warn(fields: object, message: string): void };
  /** Lets a repeated warning through once a minute. */
  readonly limiter: { pass(key: string, say: (suppressed: number) => void): void };
}

export type ZoneRoute = "edge_history" | "edge_lever";

export class ZoneAccess {
  readonly #options: ZoneAccessOptions;

  constructor(options: ZoneAccessOptions) {
    this.#options = options;
  }

  /** Whether the caller may see and change the zone; a no is counted. `zone`: null: there is none, which is no tenant's. */
  allows(route: ZoneRoute, principal: Principal, zone: Pick<Zone, "tenant"> | null): boolean {
    const { operator: token_name, tenant } = principal;
    if (tenant === null || (zone !== null && zone.tenant === tenant)) return true;
    const { metrics, log, limiter } = this.#options;
    metrics.zoneRefused(route);
    limiter.pass(`zone: ${route} ${token_name}`, (suppressed) =>
      log.warn({ token_name, tenant, route, suppressed }, "a token asked for a zone that is not its tenant's"),
    );
    return false;
  }
}
