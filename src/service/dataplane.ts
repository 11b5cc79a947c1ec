/** The data plane as the service runs it: logs and counts its changes. */
import { existsSync } from "node:fs";
import type { Config } from "../config/config.ts";
import {
  DATA_PLANE_OPERATIONS,
  DataPlane,
  type DataPlaneObserver,
  type DataPlaneOperation,
  type DataPlaneOptions,
  type FilterOpener,
} from "../dataplane/data-plane.ts";
import { DEFAULT_PIN_PATH } from "../dataplane/dataplane-config.ts";
import type { Attack } from "../detection/attack/attack.ts";
import type { Aim } from "../detection/attack/attack-meters.ts";
import type { DroppedAmount } from "../detection/attack/attack-volume.ts";
import type { BanEngine } from "../mitigation/ban-engine.ts";
import { leftOutInAll, remediesOf } from "../mitigation/rules/room-limit.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Clock } from "../system/clock.ts";
import type { Timers } from "../system/timers.ts";

type Neighbors = Pick<
  DataPlaneOptions,
  "bans" | "filterRules" | "chosen" | "pairs" | "prefixSets" | "putPairs" | "closeSources" | "openSources"
>;

/** Other parts are called only after it is started. */
interface PacketDroppingOptions extends Neighbors {
  readonly config: Config;
  /** Absent: this process cannot reach the kernel. */
  readonly filterOpener?: FilterOpener | null;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly metrics: Metrics;
}

const FAULTS: Readonly<Record<DataPlaneOperation, string>> = {
  open: "the data plane cannot be put in force: nothing is dropped on this machine, detection and routes are not affected; trying again",
  lists: "the kernel refuses the allowlist or the whitelist: the previous ones stay in force",
  sets: "the kernel refuses the named sets of prefixes: the previous ones stay in force",
  rules: "the kernel refuses the rules of bans and of the operator: the previous ones stay in force; trying again",
  close: "the data plane was not closed cleanly: packets may still be dropped on this machine",
};

/** null: none is configured. */
export function openDataPlane(options: PacketDroppingOptions): DataPlane | null {
  const { filterOpener: kernel = null, config, timers, clock, metrics } = options;
  const { bans, filterRules, chosen, pairs, prefixSets, putPairs, closeSources, openSources } = options;
  const { dataplane } = config;
  if (kernel === null) return null;
  if (dataplane === null) {
    warnOfPinnedFilters({ kernel, pinPath: DEFAULT_PIN_PATH, log: options.log });
    return null;
  }
  metrics.dataplane.declare(DATA_PLANE_OPERATIONS);
  return new DataPlane({
    kernel,
    config,
    dataplane,
    ...{ bans, filterRules, chosen, pairs, putPairs, closeSources, openSources },
    ...(prefixSets === undefined ? {} : { prefixSets }),
    every: (ms, fn) => timers.every(ms, fn),
    after: (ms, fn) => timers.after(ms, fn),
    wallMs: () => clock.wallMs(),
    monotonicMs: () => clock.monotonicMs(),
    observer: observerOf(options),
  });
}

/**
 * Without the section this process does not adopt or remove filters that an earlier process left: they could belong to
 * a scrub node's agent that is restarting.
 */
export function warnOfPinnedFilters({ kernel, pinPath, log }: LeftBehindOptions): void {
  if (!existsSync(pinPath)) return;
  try {
    const { state, isOwned, pairs, rules } = kernel.readPinned(pinPath);
    if (state === "missing" || isOwned) return;
    log.warn(
      { pin_path: pinPath, state, pairs, rules },
      "an earlier process left a packet filter in force, until its rules expire: add dataplane with enabled: false and restart to remove it",
    );
  } catch {
    // Without permission or addon, nothing can be read here.
  }
}

interface LeftBehindOptions {
  readonly kernel: Pick<FilterOpener, "readPinned">;
  readonly pinPath: string;
  readonly log: Pick<Log, "warn">;
}

function observerOf({ log, limiter, metrics }: PacketDroppingOptions): DataPlaneObserver {
  return {
    up({ origin, pairs, rules, interfaces }) {
      const attached = interfaces.filter(({ state }) => state === "attached").map(({ name, mode }) => ({ name, mode }));
      log.info({ maps: origin, pairs, rules, attached }, "the data plane is in force");
    },
    down: (end) =>
      log.info(
        {},
        end === "keep"
          ? "the data plane stays in force without this process, until its rules expire"
          : "the data plane is removed from the kernel: nothing is dropped on this machine",
      ),
    fault(operation, cause) {
      metrics.dataplane.failed(operation);
      limiter.pass(`dataplane ${operation}`, (suppressed) => log.error({ cause, suppressed }, FAULTS[operation]));
    },
    interfaceChanged(name, error) {
      if (error === null) log.info({ interface: name }, "the data plane is attached to an interface again");
      else
        log.error({ interface: name, error }, "the data plane is not attached correctly to an interface; trying again");
    },
    leftOut(byLimit) {
      const rules = leftOutInAll(byLimit);
      if (rules === 0) log.info({}, "there is room in the kernel for all rules of bans again");
      else
        log.error({ rules, by_limit: byLimit }, `no room in the kernel for some rules of bans: ${remediesOf(byLimit)}`);
    },
    filterRulesLeftOut(destinations) {
      if (destinations === 0) log.info({}, "there is room in the kernel for all filter rules again");
      else
        log.error(
          { destinations },
          "no room in the kernel for filter rules of some destinations or attacked addresses: use fewer or wider destinations, or raise dataplane.limits.max_dynamic_rules and restart",
        );
    },
  };
}

/**
 * null: not known. Counted by destination where the kernel watches the target; else by the rules of its ban that match by
 * destination. @param attack null: it is not one yet
 */
export function droppedOf(
  { target, direction }: Aim,
  attack: Attack | null,
  { bans, dataPlane }: { readonly bans: Pick<BanEngine, "banOf">; readonly dataPlane: DataPlane | null },
): DroppedAmount | null {
  if (direction === "outgoing" || dataPlane === null) return null;
  const ban = attack === null ? null : bans.banOf(attack);
  const counted = target === null ? null : dataPlane.outcomes.droppedOf(target);
  const byRules = dataPlane.droppedOf(ban);
  if (counted === null) return byRules;
  const { challenged, validated } = byRules ?? {};
  return challenged === undefined ? counted : { ...counted, challenged, validated: validated ?? 0 };
}
