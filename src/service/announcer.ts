/** The announcer of routes as the service runs it. */
import { DEFAULT_TIMES, GobgpAnnouncer } from "../bgp/gobgp-announcer.ts";
import { gobgpdExecutable } from "../bgp/speaker/gobgpd-process.ts";
import type { Speaker } from "../bgp/speaker/speaker.ts";
import type { Config } from "../config/config.ts";
import type { Log } from "../observability/log.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Clock } from "../system/clock.ts";
import type { Environment } from "../system/environment.ts";
import type { Timers } from "../system/timers.ts";

interface AnnouncerParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly environment: Environment;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly speaker?: Speaker;
}

/** @param routesUntilMs the end of the last ban with routes. null: no speaker is configured. */
export function openAnnouncer(parts: AnnouncerParts, routesUntilMs: () => number | null): GobgpAnnouncer | null {
  const { config, clock, timers, environment, log, metrics, speaker } = parts;
  if (config.bgp === null) return null;
  return new GobgpAnnouncer({
    config: config.bgp,
    stateDir: config.stateDir,
    clock,
    timers,
    environment,
    log,
    executable: gobgpdExecutable,
    metrics: metrics.mitigation,
    routesUntilMs,
    times: DEFAULT_TIMES,
    ...(speaker === undefined ? {} : { speaker }),
  });
}
