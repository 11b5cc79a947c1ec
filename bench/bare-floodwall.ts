/** The whole service without listener and history, in the process of a bench. */

import { join } from "node:path";
import { loadAddon } from "../src/dataplane/addon.ts";
import { openLog } from "../src/observability/log.ts";
import type { Metrics } from "../src/observability/metrics.ts";
import { Floodwall } from "../src/service/floodwall.ts";
import { StateDatabase } from "../src/storage/state-database.ts";
import type { StateStore } from "../src/storage/state-store.ts";
import { systemClock } from "../src/system/clock.ts";
import { systemTimers } from "../src/system/timers.ts";
import { configOf } from "../test/fixtures/config/parsed-config.ts";
import { localStore } from "../test/fixtures/storage/memory-state.ts";

/**
 * @param text its configuration; the state goes into the directory.
 * @param state default: a database that is written in the event loop.
 */
export function bareFloodwall(
  text: string,
  directory: string,
  metrics: Metrics,
  state: StateStore = localStore(new StateDatabase(join(directory, "state")), systemTimers),
): Floodwall {
  const config = configOf(`${text}\nstate_dir: ${directory}/state\n`);
  return new Floodwall({
    config,
    configPath: "",
    state,
    native: loadAddon(),
    clock: systemClock,
    timers: systemTimers,
    environment: { read: () => null },
    log: openLog({ level: "error", clock: systemClock }),
    metrics,
    hasRuleThread: true,
  });
}
