/** Maintenance windows as the service runs them: logs their changes. */
import type { Config } from "../config/config.ts";
import { MaintenanceWindows, opensAt, type WindowObserver } from "../mitigation/maintenance/maintenance-windows.ts";
import { windowText } from "../mitigation/maintenance/window.ts";
import type { Log } from "../observability/log.ts";
import type { StateStore } from "../storage/state-store.ts";
import type { Clock } from "../system/clock.ts";
import { faultingTable } from "./faults.ts";
import { noticed, type OnOrders, windowSubject } from "./order-changes.ts";

interface MaintenanceParts {
  readonly config: Config;
  readonly state: StateStore;
  readonly clock: Pick<Clock, "wallMs">;
  readonly log: Log;
  readonly onChange: () => void;
  readonly onOrders: OnOrders;
}

export function openMaintenance({
  config,
  state,
  clock,
  log,
  onChange,
  onOrders,
}: MaintenanceParts): MaintenanceWindows {
  return new MaintenanceWindows(
    {
      configured: config.maintenance,
      store: faultingTable(state.table("maintenance")),
      wallMs: () => clock.wallMs(),
      onChange,
      observer: noticed(observerOf(log), windowSubject, onOrders),
    },
    state.stored.maintenance,
  );
}

function observerOf(log: Log): WindowObserver {
  return {
    began: (order) => {
      const { name, window, expiresAt, operator } = order;
      const about = { name, what: windowText(window), expires_at: expiresAt, operator };
      const at = opensAt(order);
      if (at === null) log.info(about, "maintenance window opened");
      else log.info({ ...about, opens_at: at }, "maintenance window scheduled");
    },
    refused: (refusal) => log.info({ reason: refusal }, "maintenance window refused"),
    ended: (end, orders) => {
      for (const { name } of orders) log.info({ name, reason: end }, "maintenance window closed");
    },
  };
}
