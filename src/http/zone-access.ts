/**
 * Refuses tenants access to zones of others, whether these exist or not. Refusals are counted, and logged once a minute
 * for each token (docs/interface.md#edge-history-reading). The route chooses the answer.
 */
import type { Principal } from "../access/principal.ts";
import type { Zone } from "../edge/zones/zone.ts";

interface ZoneAccessOptions {
  readonly metrics: { zoneRefused(route: ZoneRoute): void };
  readonly log: { warn(fields: object, message: string): void };
  /** Lets a repeated warning through once a minute. */
  readonly limiter: { pass(key: string, say: (suppressed: number) => void): void };
}

type ZoneRoute = "edge_history" | "edge_lever";

export class ZoneAccess {
  readonly #options: ZoneAccessOptions;

  constructor(options: ZoneAccessOptions) {
    this.#options = options;
  }

  /**
   * Whether the caller may see and change the zone; refusals are counted. `zone`: null: there is none, so it has no
   * owner.
   */
  allows(route: ZoneRoute, principal: Principal, zone: Pick<Zone, "tenant"> | null): boolean {
    const { operator: token_name, tenant } = principal;
    if (tenant === null || (zone !== null && zone.tenant === tenant)) return true;
    const { metrics, log, limiter } = this.#options;
    metrics.zoneRefused(route);
    limiter.pass(`zone: ${route} ${token_name}`, (suppressed) =>
      log.warn({ token_name, tenant, route, suppressed }, "a token requested a zone of another tenant"),
    );
    return false;
  }
}
