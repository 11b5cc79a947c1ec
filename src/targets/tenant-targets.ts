/**
 * The targets that tenants set, within the kinds and hosts that the configuration allows, each on disk before it is in
 * force. One that the configuration does not allow any more stays, and is without effect until it does.
 */
import { TOKENS_MAX } from "../limits.ts";
import { isHostAllowed } from "../net/host-pattern.ts";
import type { RecordTable } from "../system/record-table.ts";
import { StandingOrders } from "../system/standing-orders.ts";
import {
  placesOf,
  type TargetRecord,
  type TenantTarget,
  type TenantTargetRules,
  tenantTargetId,
  tenantTargetOf,
} from "./tenant-target.ts";

/** Maxima of one tenant, and of all: as many tenants as there may be tokens have all of theirs. */
export const TENANT_TARGETS_PER_TENANT = 8;
export const TENANT_TARGETS_MAX = TENANT_TARGETS_PER_TENANT * TOKENS_MAX;

export type TenantTargetRefusal =
  | "not_of_tenant"
  | "kind_not_allowed"
  | "host_not_allowed"
  | "too_many_of_tenant"
  | "too_many_targets";

interface TenantTargetsOptions {
  readonly store: RecordTable<TargetRecord>;
  readonly stored: Iterable<TargetRecord>;
  /** By the configuration in force; null: tenants may set none. */
  readonly rules: () => TenantTargetRules | null;
  /** A target was set, replaced or removed. @param target null: it is not in force any more. */
  readonly onChange: (id: string, target: TenantTarget | null) => void;
}

export type TargetOrder = Omit<TenantTarget, "id">;

type TargetAnswer =
  | { readonly kind: "done"; readonly target: TenantTarget; readonly isSaved: boolean }
  | { readonly kind: "refused"; readonly refusal: TenantTargetRefusal };

export class TenantTargets {
  readonly #options: TenantTargetsOptions;
  readonly #orders: StandingOrders<TargetRecord, TenantTargetRefusal, "removed">;
  /** The targets that `of` allows; null: not looked yet. */
  #inForce: { readonly of: TenantTargetRules | null; readonly targets: Map<string, TenantTarget> } | null = null;

  constructor(options: TenantTargetsOptions) {
    this.#options = options;
    const observer = { began: () => {}, refused: () => {}, ended: () => {} };
    this.#orders = new StandingOrders({ store: options.store, keyOf: ({ id }) => id, times: null, observer });
    this.#orders.restore(options.stored);
  }

  /** Those that the configuration allows. */
  inForce(): readonly TenantTarget[] {
    const of = this.#options.rules();
    if (this.#inForce?.of === of) return [...this.#inForce.targets.values()];
    const allowed = [...this.#orders.all.values()]
      .map(tenantTargetOf)
      .filter((target) => target !== null)
      .filter((target) => this.#notAllowed(target) === null);
    this.#inForce = { of, targets: new Map(allowed.map((target) => [target.id, target])) };
    return allowed;
  }

  all(): readonly TargetRecord[] {
    return [...this.#orders.all.values()];
  }

  /** Sets a target, or replaces that of its name. Rejects with the store's error: then nothing changed. */
  async set(order: TargetOrder): Promise<TargetAnswer> {
    const target: TenantTarget = { id: tenantTargetId(order.tenant, order.name), ...order };
    const outcome = await this.#orders.place<TenantTargetRefusal>({
      decide: () => {
        const refusal = this.#notAllowed(target) ?? this.#overBound(target);
        if (refusal !== null) return { kind: "refused", refusal };
        return { kind: "begins", key: target.id, record: target, basis: [] };
      },
      takeEffect: () => this.#changed(target.id, target),
    });
    return outcome.kind === "refused" ? outcome : { kind: "done", target, isSaved: outcome.isSaved };
  }

  /** null: there is none of this id. Otherwise whether its end is on disk. */
  async remove(id: string): Promise<{ readonly isSaved: boolean } | null> {
    const target = this.#orders.get(id);
    if (target === null) return null;
    const saved = this.#orders.endSaved("removed", [target]);
    this.#changed(id, null);
    return { isSaved: await saved };
  }

  #changed(id: string, target: TenantTarget | null): void {
    // A reload while it was written may have changed the rules.
    const isInForce = target !== null && this.#notAllowed(target) === null;
    if (isInForce) this.#inForce?.targets.set(id, target);
    else this.#inForce?.targets.delete(id);
    this.#options.onChange(id, isInForce ? target : null);
  }

  #notAllowed(target: TenantTarget): TenantTargetRefusal | null {
    const rules = this.#options.rules();
    if (rules === null || !rules.kinds.has(target.kind)) return "kind_not_allowed";
    if (target.url === undefined) return null;
    const url = URL.parse(target.url);
    return url !== null && isHostAllowed(url, placesOf(target.tenant, rules).hosts) ? null : "host_not_allowed";
  }

  #overBound({ id, tenant }: TenantTarget): TenantTargetRefusal | null {
    const all = this.#orders.all;
    if (all.has(id)) return null;
    const own = [...all.values()].filter((other) => other.tenant === tenant);
    if (own.length >= TENANT_TARGETS_PER_TENANT) return "too_many_of_tenant";
    return all.size >= TENANT_TARGETS_MAX ? "too_many_targets" : null;
  }
}
