/** The targets of notifications as the routes ask for them. Implemented by the composition root. */
import type { Principal } from "../access/principal.ts";
import type { TenantTargets } from "../targets/tenant-targets.ts";
import type { RouteQuestion, RouteView } from "./wire/notify-route.ts";
import type { NotifyTargetView } from "./wire/notify-target.ts";

export interface NotifyTargets {
  /** In the configuration's order. */
  list(): readonly NotifyTargetView[];
  /** Returns whether there is such a target. */
  test(target: string, by: Pick<Principal, "operator" | "tenant">): boolean;
  /** Which of them an event would get to. */
  route(question: RouteQuestion): RouteView;
  /** Those that tenants set. Rejects with a BackendFault if it cannot be saved. */
  readonly own: Pick<TenantTargets, "set" | "remove">;
}
