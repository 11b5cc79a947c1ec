/** Chosen protection profiles as the service runs them: logs and counts their changes. */
import {
  PROTECTION_REFUSALS,
  type ProtectionObserver,
  Protections,
  type ProtectionsOptions,
} from "../mitigation/protection/protections.ts";
import type { Log } from "../observability/log.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { ProtectionMetrics } from "../observability/protection-metrics.ts";
import type { StateStore } from "../storage/state-store.ts";
import { faultingTable } from "./faults.ts";
import { noticed, type OnOrders, protectionSubject } from "./order-changes.ts";

interface ProtectingOptions extends Pick<ProtectionsOptions, "config" | "onChange" | "callers" | "slots"> {
  readonly state: Pick<StateStore, "table">;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly onOrders: OnOrders;
}

/** Choices that one log line lists; it counts the rest. */
const CHOICES_LOGGED = 20;

export function openProtections({ config, state, log, metrics, onOrders, ...options }: ProtectingOptions): Protections {
  metrics.protection.declare(PROTECTION_REFUSALS);
  const store = faultingTable(state.table("protections"));
  return new Protections({
    ...options,
    config,
    store,
    observer: noticed(observerOf(log, metrics.protection), protectionSubject, onOrders),
  });
}

function observerOf(log: Log, metrics: ProtectionMetrics): ProtectionObserver {
  return {
    began({ prefix, profile, always, operator, tenant }) {
      metrics.changed("chosen");
      log.info({ prefix, profile, always, operator, tenant }, "a protection profile was chosen");
    },
    ended(_end, choices) {
      for (const { prefix, profile } of choices) {
        metrics.changed("removed");
        log.info({ prefix, profile }, "the choice of a protection profile was removed");
      }
    },
    refused: (refusal) => metrics.refused(refusal),
    inactive(choices) {
      const some = choices
        .slice(0, CHOICES_LOGGED)
        .map(({ choice: { prefix, profile }, cause }) => ({ prefix, profile, cause }));
      log.warn(
        { count: choices.length, choices: some },
        "chosen protection profiles are without effect: the configuration does not allow them any more",
      );
    },
  };
}
