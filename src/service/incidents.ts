/** Incidents as the service runs them: logs and counts what becomes of them. */
import { randomUUIDv7 } from "bun";
import { callersNow } from "../access/shares.ts";
import { Tenancy } from "../access/tenancy.ts";
import type { Config } from "../config/config.ts";
import type { Attack } from "../detection/attack/attack.ts";
import type { OwnerOf } from "../incident/incident-attacks.ts";
import type { IncidentObserver } from "../incident/incident-options.ts";
import { Incidents } from "../incident/incidents.ts";
import { WORK_REFUSALS } from "../incident/work.ts";
import type { IncidentMetrics } from "../observability/incident-metrics.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { StateStore } from "../storage/state-store.ts";
import { faultingTable } from "./faults.ts";

interface IncidentOptions {
  readonly state: Pick<StateStore, "table">;
  /** In force. */
  readonly present: () => Config;
  readonly attacks: () => Iterable<Attack>;
  readonly wallMs: () => number;
  readonly limiter: Limiter;
  readonly log: Log;
  readonly metrics: IncidentMetrics;
}

export function openIncidents({ state, present, attacks, wallMs, ...observing }: IncidentOptions): Incidents {
  observing.metrics.declare(WORK_REFUSALS);
  return new Incidents({
    store: faultingTable(state.table("incidents")),
    newId: randomUUIDv7,
    ownerOf: tenancyNow(present),
    linkMbps: () => present().capture?.linkMbps ?? null,
    callers: callersNow(() => present().api.callers),
    ...{ attacks, wallMs },
    observer: observerOf(observing),
  });
}

/** Made once for each configuration. */
function tenancyNow(present: () => Config): OwnerOf {
  let known: { readonly of: Config; readonly tenancy: Tenancy } | null = null;
  return (attack) => {
    const of = present();
    if (known?.of !== of) known = { of, tenancy: new Tenancy(of) };
    return known.tenancy.ownerOf(attack);
  };
}

function observerOf({ log, limiter, metrics }: Pick<IncidentOptions, "log" | "limiter" | "metrics">): IncidentObserver {
  return {
    opened({ id, tenant, group, direction, kind }) {
      metrics.opened();
      log.info({ id, tenant, group, direction, kind }, "an incident began");
    },
    dropped({ id, tenant, group, kind, attacks }) {
      metrics.dropped();
      limiter.pass("incident dropped", (suppressed) =>
        log.warn(
          { id, tenant, group, kind, attacks, suppressed },
          "too many incidents: the oldest closed one is forgotten",
        ),
      );
    },
    unplaced({ id }) {
      metrics.unplaced();
      limiter.pass("incident unplaced", (suppressed) =>
        log.warn({ attack: id, suppressed }, "too many incidents are open: the attack is in none"),
      );
    },
    worked: () => metrics.worked(),
    refused: (refusal) => metrics.refused(refusal),
  };
}
