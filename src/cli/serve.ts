/**
 * `floodwall serve`: the composition root. Builds all parts, starts them in order and stops them in reverse; what can fail
 * for a plain reason fails here, before anything outside is touched, with a message that says what to do.
 */

import { signalReloadEvent } from "../audit/automatic-audit.ts";
import { fileProblems, warningLines } from "../config/check.ts";
import type { Config } from "../config/config.ts";
import { type LoadedConfig, loadConfig } from "../config/load/load.ts";
import { describeProblem } from "../config/load/problem.ts";
import { unsetVariables } from "../config/load/secrets.ts";
import { AddonError, loadAddon } from "../dataplane/addon.ts";
import { openKernelFilter, readPinnedStatus } from "../dataplane/kernel-filter.ts";
import type { OriginOf } from "../detection/attack/sample-origins.ts";
import { OriginFileError } from "../geo/origin-file.ts";
import { openOrigins, originFindings } from "../geo/origins.ts";
import type { Dashboard } from "../http/routes/dashboard.ts";
import { readDashboard } from "../http/server/dashboard-files.ts";
import { hostPort, ListenError } from "../http/server/listen-error.ts";
import { HttpServer } from "../http/server/server.ts";
import { needsOf } from "../machine/needs.ts";
import { Limiter } from "../observability/limiter.ts";
import { type Log, openLog } from "../observability/log.ts";
import { Metrics } from "../observability/metrics.ts";
import { UpdateCheck } from "../release/update-check.ts";
import { type History, RunningService } from "../service/backend.ts";
import { linesTold } from "../service/config-reader.ts";
import { EdgeChannel, type EdgeChannelOptions } from "../service/edge.ts";
import { ServiceEnvironment } from "../service/environment.ts";
import { Floodwall } from "../service/floodwall.ts";
import { MachineWatch } from "../service/machine-watch.ts";
import { logWarnings } from "../service/reloader.ts";
import { Reporting } from "../service/reporting.ts";
import { ClearanceFile, ClearanceFileError } from "../storage/clearance-file.ts";
import { HistoryStore } from "../storage/history-store.ts";
import { historyDriver } from "../storage/open-history.ts";
import { StateDatabase, StateDatabaseError } from "../storage/state-database.ts";
import { StoredAuditTrail } from "../storage/stored-audit-trail.ts";
import { systemClock } from "../system/clock.ts";
import type { Environment } from "../system/environment.ts";
import { raisePriority } from "../system/priority.ts";
import { processSignals } from "../system/signals.ts";
import { nextTurn, systemTimers } from "../system/timers.ts";
import { VERSION } from "../version.ts";

/** Resolves with the exit code, once a signal has stopped the service or it could not start. */
export async function serve(configPath: string): Promise<number> {
  const log = openLog({ level: "info", clock: systemClock });
  const limiter = new Limiter(systemClock);
  const environment = new ServiceEnvironment({ clock: systemClock, log, limiter });
  const loaded = loadConfig(configPath);
  if (loaded.kind === "valid") environment.follow(loaded.config.api.envFile);
  const problems = startProblems(configPath, loaded, environment);
  if (loaded.kind === "invalid" || problems.length > 0) {
    for (const problem of problems) console.error(problem);
    return 1;
  }
  const warnings = warningLines(configPath, loaded, (name) => environment.read(name));
  logWarnings(log, linesTold(configPath, warnings));
  try {
    // First: what is started after has it too.
    const nice = raisePriority();
    const machine = new MachineWatch({ loadAddon, log, timers: systemTimers });
    const looked = machine.look(needsOf(loaded.config), "start");
    const originOf = await openOrigins(loaded.config.samples);
    const assembled = assemble(loaded.config, configPath, { log, limiter, environment, originOf, machine, nice });
    // Before packets are captured, and before anybody asks.
    await looked;
    assembled.start();
    await stopSignal();
    log.info({}, "stopping");
    await assembled.stop();
    log.info({}, "stopped; bans in force are kept and taken up by the next start");
    return 0;
  } catch (cause) {
    if (!isPlainFault(cause)) throw cause;
    console.error(`floodwall: ${cause.message}`);
    return 1;
  }
}

/** Of this machine's kernel. */
const filterOpener = { open: openKernelFilter, readPinned: readPinnedStatus };

interface Assembled {
  start(): void;
  stop(): Promise<void>;
}

interface Surroundings {
  readonly log: Log;
  readonly limiter: Limiter;
  readonly environment: ServiceEnvironment;
  readonly originOf: OriginOf | null;
  readonly machine: MachineWatch;
  /** The priority that the process got. */
  readonly nice: number;
}

function assemble(config: Config, configPath: string, surroundings: Surroundings): Assembled {
  const { log, limiter, environment, originOf, machine, nice } = surroundings;
  const metrics = new Metrics(VERSION);
  const native = config.capture === null ? null : loadAddon();
  const state = new StateDatabase(config.stateDir);
  const parts = { clock: systemClock, timers: systemTimers, log, metrics };
  const driver = historyDriver(config.storage, { environment, clock: systemClock });
  const history = driver === null ? null : new HistoryStore({ driver, ...parts, metrics: metrics.storage });
  const edge = openEdge(config, { ...parts, state, history, limiter });
  const openReload = (next: Config) => edge.prepare(next).then(() => openOrigins(next.samples));
  const opened = { state, native, filterOpener, originOf, openReload, environment };
  const floodwall = new Floodwall({ config, configPath, ...opened, ...parts });
  followReloads(floodwall, { environment, edge, machine });
  const audit = new StoredAuditTrail(history);
  const updates = new UpdateCheck({
    config: config.updateCheck,
    version: VERSION,
    random: Math.random,
    limiter,
    ...parts,
  });
  const service = new RunningService(floodwall, VERSION, {
    edge,
    history: history === null ? null : historyAnswers(history),
    availableUpdate: () => updates.available,
    machineProblems: () => machine.problems,
  });
  const http = new HttpServer({
    ...config.api,
    service,
    tokens: () => floodwall.config.api.tokens,
    secrets: environment.secrets,
    audit,
    limiter,
    dashboard: dashboardOf(() => floodwall.config.api.dashboard, log),
    ...parts,
  });
  const { events: feed } = http;
  const reporting = new Reporting({
    floodwall,
    service,
    feed,
    history,
    audit,
    updates,
    environment,
    limiter,
    ...parts,
  });
  let endReloads = () => {};
  const start = () => {
    // The port first: a second service on this machine is refused before it announces anything.
    http.start();
    reporting.start();
    floodwall.start();
    edge.start();
    service.ready = true;
    endReloads = reloadBySignal(floodwall, audit, log);
    const listen = hostPort(config.api.host, http.port);
    log.info({ version: VERSION, listen, dry_run: config.dryRun, nice }, "floodwall is up");
  };
  const stop = async () => {
    endReloads();
    floodwall.reloader.stop();
    await http.stop();
    edge.stop();
    await reporting.stopReading();
    await floodwall.stop();
    await reporting.stop();
  };
  return { start, stop };
}

/** Returns what has SIGHUP change nothing any more. */
function reloadBySignal(floodwall: Floodwall, audit: StoredAuditTrail, log: Log): () => void {
  let isStopping = false;
  const reload = async () => {
    const outcome = await floodwall.reload();
    const problems = outcome.kind === "invalid" ? outcome.problems : [];
    await audit.record(signalReloadEvent({ problems, dryRun: floodwall.config.dryRun }, systemClock.wallMs()));
  };
  // Stays to the end: without a handler SIGHUP would kill a service that is stopping, before it has saved and withdrawn.
  processSignals.on("SIGHUP", () => {
    if (!isStopping) reload().catch((cause: unknown) => log.error({ cause }, "a reload failed"));
  });
  return () => {
    isStopping = true;
  };
}

interface Followers extends Pick<Surroundings, "environment" | "machine"> {
  readonly edge: EdgeChannel;
}

function followReloads(floodwall: Floodwall, { environment, edge, machine }: Followers): void {
  floodwall.onReloaded(({ api }) => environment.follow(api.envFile));
  floodwall.onReloaded((next) => edge.reconfigure(next.edge));
  floodwall.onReloaded((next) => void machine.look(needsOf(next), "running"));
}

type EdgeParts = Pick<EdgeChannelOptions, "state" | "history" | "limiter" | "clock" | "timers" | "log"> & {
  readonly metrics: Metrics;
};

function openEdge(config: Config, { metrics, ...parts }: EdgeParts): EdgeChannel {
  const masters = new ClearanceFile(config.stateDir);
  const edge = new EdgeChannel({ ...parts, config, masters, nextTurn, metrics: metrics.edge });
  metrics.beforeScrape(() => edge.fillMetrics());
  return edge;
}

/** Without the page the service does all else. */
function dashboardOf(isShown: () => boolean, log: Log): Dashboard | null {
  const files = readDashboard();
  if (files === null && isShown()) log.warn({}, "the dashboard is not built, and not served: run `make dashboard`");
  return files === null ? null : { files, isShown };
}

function historyAnswers(history: HistoryStore): History {
  return {
    trafficPoints: (question) => history.ask("trafficPoints", question),
    auditEvents: (question) => history.ask("auditEvents", question),
    endedAttack: (id) => history.ask("endedAttack", { id }),
    edge: {
      points: (question) => history.ask("edgePoints", question),
      sources: (question) => history.ask("edgeSources", question),
      events: (question) => history.ask("edgeEvents", question),
    },
  };
}

function startProblems(configPath: string, loaded: LoadedConfig, environment: Environment): string[] {
  if (loaded.kind === "invalid") return loaded.problems.map((problem) => describeProblem(configPath, problem));
  const files = fileProblems(configPath, loaded, ({ samples }) => originFindings(samples));
  const variables = unsetVariables(loaded.config, (name) => environment.read(name)).map(({ name, path }) =>
    describeProblem(configPath, {
      line: loaded.lineOf(path),
      path,
      rule: `the environment variable ${name} is not set`,
    }),
  );
  return [...files, ...variables];
}

function isPlainFault(cause: unknown): cause is Error {
  return (
    cause instanceof ListenError ||
    cause instanceof StateDatabaseError ||
    cause instanceof ClearanceFileError ||
    cause instanceof AddonError ||
    cause instanceof OriginFileError
  );
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    processSignals.on("SIGTERM", resolve);
    processSignals.on("SIGINT", resolve);
  });
}
