/** The announcer as the service runs it. */
import { DEFAULT_TIMES, GobgpAnnouncer } from "../bgp/gobgp-announcer.ts";
import { gobgpdExecutable } from "../bgp/speaker/gobgpd-process.ts";
import { endManagedGobgpd } from "../bgp/speaker/managed-speaker.ts";
import type { Speaker } from "../bgp/speaker/speaker.ts";
import type { Config } from "../config/config.ts";
import { routesUntilMs } from "../mitigation/announced-routes.ts";
import type { Ban } from "../mitigation/ban.ts";
import type { Log } from "../observability/log.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Clock } from "../system/clock.ts";
import type { Environment } from "../system/environment.ts";
import type { Timers } from "../system/timers.ts";

interface AnnouncingOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly environment: Environment;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Default: the BGP speaker of the configuration. */
  readonly speaker?: Speaker;
  /** Active ones. */
  readonly bans: () => Iterable<Ban>;
}

/** null: none is configured. */
export function openAnnouncer(options: AnnouncingOptions): GobgpAnnouncer | null {
  const { config, clock, timers, environment, log, metrics, speaker, bans } = options;
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
    routesUntilMs: () => routesUntilMs(bans()),
    times: DEFAULT_TIMES,
    ...(speaker === undefined ? {} : { speaker }),
  });
}

/** Stops the gobgpd of an earlier configuration, whose routes no one would withdraw any more. */
export async function endGobgpdLeftBehind(
  { stateDir }: Pick<Config, "stateDir">,
  { timers, log }: Pick<AnnouncingOptions, "timers" | "log">,
): Promise<void> {
  try {
    const pid = await endManagedGobgpd({ stateDir, timers });
    if (pid !== null) log.warn({ pid }, "bgp.speaker is not managed any more: the gobgpd left running was ended");
  } catch (cause) {
    log.error({ cause }, "the gobgpd left running cannot be ended: its routes stay announced");
  }
}
