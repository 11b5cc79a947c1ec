/** `floodwall serve`: runs the service from its configuration file to its exit code, and handles signals. */
import { warningLines } from "../config/check.ts";
import type { Config } from "../config/config.ts";
import type { LoadedConfig } from "../config/load/load.ts";
import { unsetVariables } from "../config/load/secrets.ts";
import { loadAtStart } from "../config/load/start.ts";
import { needsOf } from "../machine/needs.ts";
import { Limiter } from "../observability/limiter.ts";
import { openLog } from "../observability/log.ts";
import { type ConfigProblem, describeProblem } from "../schema/problem.ts";
import { composeService, isStartFault } from "../service/compose.ts";
import { firstLines } from "../service/config-reader.ts";
import { ServiceEnvironment } from "../service/environment.ts";
import { FileFaults } from "../service/file-faults.ts";
import { readKeptZones } from "../service/kept-zones.ts";
import { logWarnings } from "../service/reloader.ts";
import { systemClock } from "../system/clock.ts";
import type { Environment } from "../system/environment.ts";
import { startedAgainOnFailure } from "../system/failed-starts.ts";
import type { FileFault } from "../system/file-fault.ts";
import { raisePriority } from "../system/priority.ts";
import { makeFilesPrivate } from "../system/private-folder.ts";
import { processSignals, stopSignal } from "../system/signals.ts";
import { dropUselessCapabilities } from "./rights.ts";

/** Resolves with the exit code, once a signal has stopped the service or it could not start. */
export function serve(configPath: string): Promise<number> {
  return startedAgainOnFailure((isUp) => run(configPath, isUp));
}

async function run(configPath: string, isUp: () => void): Promise<number> {
  makeFilesPrivate();
  const log = openLog({ level: "info", clock: systemClock });
  const limiter = new Limiter(systemClock);
  const environment = new ServiceEnvironment({ clock: systemClock, log, limiter });
  const { loaded, zonesProblems, settingsProblems } = loadAtStart(configPath, readKeptZones);
  if (loaded.kind === "valid") environment.follow(loaded.config.api.envFile);
  const problems = startProblems(configPath, loaded, environment);
  if (loaded.kind === "invalid" || problems.length > 0) {
    for (const problem of problems) console.error(problem);
    return 1;
  }
  const { api, bgp, telemetry } = loaded.config;
  const bgpPort = bgp?.speaker === "managed" ? (bgp.listen?.port ?? 0) : 0;
  const flowPorts = (telemetry?.listen ?? []).map(({ port }) => port);
  dropUselessCapabilities(needsOf(loaded.config), [api.port, bgpPort, ...flowPorts], log);
  const warnings = warningLines(configPath, loaded, (name) => environment.read(name));
  const warned = firstLines(configPath, warnings);
  logWarnings(log, warned);
  try {
    // First, since child processes inherit it.
    const nice = raisePriority();
    const faults = new FileFaults({ log, wallMs: () => systemClock.wallMs() });
    faults.replace("zones", zonesFaults(configPath, loaded.config, zonesProblems));
    faults.replace("hostgroup_settings", settingsFaults(configPath, settingsProblems));
    const { config } = loaded;
    const service = await composeService({ config, configPath, warned, log, limiter, environment, faults, nice });
    let isStopping = false;
    // Kept until the end: without a handler, SIGHUP would kill a stopping service before it has saved its state and
    // withdrawn its routes.
    processSignals.on("SIGHUP", () => {
      if (!isStopping) service.reload();
    });
    service.start();
    isUp();
    await stopSignal();
    log.info({}, "stopping");
    isStopping = true;
    await service.stop();
    log.info({}, "stopped; bans in force are kept, and the next start restores them");
    return 0;
  } catch (cause) {
    if (!isStartFault(cause)) throw cause;
    console.error(`floodwall: ${cause.message}`);
    return 1;
  }
}

function startProblems(configPath: string, loaded: LoadedConfig, environment: Environment): string[] {
  if (loaded.kind === "invalid") return loaded.problems.map((problem) => describeProblem(configPath, problem));
  // They may come from a file that is of others, and is looked at again.
  if (loaded.config.api.envFile !== null) return [];
  return unsetVariables(loaded.config, (name) => environment.read(name)).map(({ name, path }) =>
    describeProblem(configPath, {
      ...loaded.placeOf(path),
      rule: `the environment variable ${name} is not set`,
    }),
  );
}

function zonesFaults(configPath: string, { edge }: Config, problems: readonly ConfigProblem[]): FileFault[] {
  if (problems.length === 0) return [];
  const effect = edge?.areZonesKnown
    ? "the last good zones stay in use; a reload takes the corrected file"
    : "edge nodes get no document and keep their last one; a reload takes the corrected file";
  const [first] = firstLines(
    configPath,
    problems.map((problem) => describeProblem(configPath, problem)),
  );
  return [{ key: "edge.zones_file", error: first ?? "", effect }];
}

function settingsFaults(configPath: string, problems: readonly ConfigProblem[]): FileFault[] {
  if (problems.length === 0) return [];
  const [first] = firstLines(
    configPath,
    problems.map((problem) => describeProblem(configPath, problem)),
  );
  const effect =
    "what the API set for these hostgroups is not in force, but for their never-banned addresses; set it again, or mend the configuration and reload";
  return [{ key: "state_dir", error: first ?? "", effect }];
}
