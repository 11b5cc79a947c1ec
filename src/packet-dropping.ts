/** The data plane as the service runs it: what becomes of it is told to log and metrics. */
import type { Config } from "./config/config.ts";
import {
  DATA_PLANE_OPERATIONS,
  DataPlane,
  type DataPlaneObserver,
  type DataPlaneOperation,
  type FilterOpener,
} from "./dataplane/data-plane.ts";
import type { Floodwall } from "./floodwall.ts";
import type { Limiter } from "./observability/limiter.ts";
import type { Log } from "./observability/log.ts";
import type { Metrics } from "./observability/metrics.ts";
import type { Clock } from "./system/clock.ts";
import type { Timers } from "./system/timers.ts";

export interface PacketDroppingOptions {
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

/**
 * null: none is configured.
 * @param service whose parts are asked once the data plane is started.
 */
export function openDataPlane(
  service: Pick<Floodwall, "bans" | "sourceBlocks" | "packetPath">,
  options: PacketDroppingOptions,
): DataPlane | null {
  const { filterOpener: kernel = null, config, timers, clock, metrics } = options;
  const { dataplane } = config;
  if (kernel === null || dataplane === null) return null;
  metrics.dataplane.declare(DATA_PLANE_OPERATIONS);
  return new DataPlane({
    kernel,
    config,
    dataplane,
    bans: () => service.bans.active.values(),
    pairs: () => service.sourceBlocks.size,
    putPairs: () => service.sourceBlocks.kernelCame(),
    closeSources: (interfaces) => service.packetPath?.closeInline(interfaces),
    openSources: () => service.packetPath?.openSources(),
    every: (ms, fn) => timers.every(ms, fn),
    after: (ms, fn) => timers.after(ms, fn),
    monotonicMs: () => clock.monotonicMs(),
    observer: observerOf(options),
  });
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
