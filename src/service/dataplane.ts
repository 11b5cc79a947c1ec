/** The data plane as the service runs it: what becomes of it is told to log and metrics. */
import { existsSync } from "node:fs";
import type { Config } from "../config/config.ts";
import { DEFAULT_PIN_PATH } from "../config/sections/dataplane.ts";
import {
  DATA_PLANE_OPERATIONS,
  DataPlane,
  type DataPlaneObserver,
  type DataPlaneOperation,
  type DataPlaneOptions,
  type FilterOpener,
} from "../dataplane/data-plane.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Clock } from "../system/clock.ts";
import type { Timers } from "../system/timers.ts";

type Neighbors = Pick<DataPlaneOptions, "bans" | "pairs" | "putPairs" | "closeSources" | "openSources">;

/** What it asks of other parts is asked once it is started. */
export interface PacketDroppingOptions extends Neighbors {
  readonly config: Config;
  /** Absent: this process has no way to the kernel. */
  readonly filterOpener?: FilterOpener | null;
  readonly timers: Timers;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly metrics: Metrics;
}

const FAULTS: Readonly<Record<DataPlaneOperation, string>> = {
  open: "the data plane cannot be put in force: nothing is dropped on this machine, detection and routes go on; trying again",
  lists: "the kernel refuses the allowlist or the whitelist: those before stay in force",
  rules: "the kernel refuses the rules of bans: those before stay in force; trying again",
  close: "the data plane was not closed cleanly: packets may still be dropped on this machine",
};

/** null: none is configured. */
export function openDataPlane(options: PacketDroppingOptions): DataPlane | null {
  const { filterOpener: kernel = null, config, timers, clock, metrics } = options;
  const { bans, pairs, putPairs, closeSources, openSources } = options;
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
    ...{ bans, pairs, putPairs, closeSources, openSources },
    every: (ms, fn) => timers.every(ms, fn),
    after: (ms, fn) => timers.after(ms, fn),
    monotonicMs: () => clock.monotonicMs(),
    observer: observerOf(options),
  });
}

/**
 * Without the section nobody here adopts or removes what a process before this one kept in force, nor may: it could be that
 * of a scrub node's agent that is about to come back.
 */
export function warnOfPinnedFilters({ kernel, pinPath, log }: LeftBehindOptions): void {
  if (!existsSync(pinPath)) return;
  try {
    const { state, isOwned, pairs, rules } = kernel.readPinned(pinPath);
    if (state === "missing" || isOwned) return;
    log.warn(
      { pin_path: pinPath, state, pairs, rules },
      "a process before this one left packet dropping in force, until what it holds lapses: add dataplane with enabled: false and restart to remove it",
    );
  } catch {
    // Whoever may not look, or has no addon, drops nothing here either.
  }
}

export interface LeftBehindOptions {
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
          ? "the data plane stays in force without this process, until what it holds lapses"
          : "the data plane is out of the kernel: nothing is dropped on this machine",
      ),
    fault(operation, cause) {
      metrics.dataplane.failed(operation);
      limiter.pass(`dataplane ${operation}`, (suppressed) => log.error({ cause, suppressed }, FAULTS[operation]));
    },
    interfaceChanged(name, error) {
      if (error === null) log.info({ interface: name }, "the data plane is back on an interface");
      else log.error({ interface: name, error }, "the data plane is not right on an interface; trying again");
    },
    leftOut(rules) {
      if (rules === 0) log.info({}, "there is room in the kernel for all rules of bans again");
      else
        log.error({ rules }, "no room in the kernel for some rules of bans: raise dataplane.limits.max_dynamic_rules");
    },
  };
}
