/** The diversions by the scrubbing hook, kept in `state_dir`. */
import { randomUUID } from "node:crypto";
import { callersNow } from "../access/shares.ts";
import type { Config } from "../config/config.ts";
import { diversionFile } from "../divert/diversion-file.ts";
import { Diversions } from "../divert/diversions.ts";
import { askHook } from "../divert/hook.ts";
import type { Ban } from "../mitigation/ban.ts";
import type { Log } from "../observability/log.ts";
import type { Clock } from "../system/clock.ts";
import { type Environment, processEnvironment } from "../system/environment.ts";
import type { Timers } from "../system/timers.ts";

interface DiversionParts {
  readonly config: Pick<Config, "stateDir">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly environment?: Environment;
}

/** @param present the configuration in force @param banOf an active one */
export function openDiversions(
  { config, clock, timers, log, environment = processEnvironment }: DiversionParts,
  present: () => Pick<Config, "diversionHook" | "api">,
  banOf: (prefix: string) => Ban | undefined,
): Diversions {
  const file = diversionFile(config.stateDir);
  const stored = file.load((error, moved_to) =>
    log.error({ error, moved_to }, "diversions cannot be read: end those of the scrubbing center by hand"),
  );
  const surroundings = { environment, wallMs: () => clock.wallMs(), timers };
  return new Diversions(
    {
      ...{ clock, timers, log, newId: randomUUID },
      hook: () => present().diversionHook,
      ask: (hook, request) => askHook(hook, request, surroundings),
      expiryOf: (bans) => {
        const times = bans.flatMap((prefix) => banOf(prefix)?.expiresAt ?? []);
        return times.length === 0 ? null : Math.max(...times);
      },
      callers: callersNow(() => present().api.callers),
      save: (diversions) => file.save(diversions),
    },
    stored,
  );
}
