/**
 * Builds the running service from its parts and defines the order in which they start and stop. Expected failures
 * happen while it is built, before anything outside is changed.
 */
import type { AuditTrail } from "../audit/audit-event.ts";
import { signalReloadEvent } from "../audit/automatic-audit.ts";
import { InstanceFileError } from "../bgp/instance.ts";
import type { Config } from "../config/config.ts";
import { AddonError, loadAddon } from "../dataplane/addon.ts";
import { openKernelFilter, readPinnedStatus } from "../dataplane/kernel-filter.ts";
import type { OriginOf } from "../detection/attack/sample-origins.ts";
import type { Dashboard } from "../http/routes/dashboard.ts";
import type { LimitConnections } from "../http/server/connection-cap.ts";
import { readDashboard } from "../http/server/dashboard-files.ts";
import { hostPort, ListenError } from "../http/server/listen-error.ts";
import { RequestTurns } from "../http/server/request-turns.ts";
import { HttpServer } from "../http/server/server.ts";
import { needsOf } from "../machine/needs.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import { Metrics } from "../observability/metrics.ts";
import { UpdateCheck } from "../release/update-check.ts";
import { ClearanceFile, ClearanceFileError } from "../storage/clearance-file.ts";
import { HistoryStore } from "../storage/history-store.ts";
import { historyDriver } from "../storage/open-history.ts";
import type { OpenedState } from "../storage/state-calls.ts";
import { StateDatabaseError } from "../storage/state-database.ts";
import { StateStore } from "../storage/state-store.ts";
import { StateThread } from "../storage/state-thread.ts";
import { type Clock, systemClock } from "../system/clock.ts";
import { afterPromises, nextTurn, systemTimers, type Timers } from "../system/timers.ts";
import { VERSION } from "../version.ts";
import { auditTrailOf } from "./audit-trail.ts";
import { ServiceBackend } from "./backend.ts";
import { Cluster } from "./cluster.ts";
import { EdgeChannel, type EdgeChannelOptions } from "./edge.ts";
import type { ServiceEnvironment } from "./environment.ts";
import type { FileFaults } from "./file-faults.ts";
import { Floodwall } from "./floodwall.ts";
import { ForeignFiles } from "./foreign-files.ts";
import { openSharedLinks } from "./guest-links.ts";
import { MachineWatch } from "./machine-watch.ts";
import { Reporting } from "./reporting.ts";
import { type OpenedSignIn, openSignIn, type SignInParts } from "./sign-in.ts";
import { trafficRecorder } from "./traffic-recorder.ts";

interface ComposedService {
  /** Throws the errors that isStartFault() recognizes, most often because a port is in use. */
  start(): void;
  stop(): Promise<void>;
  /** A reload by signal: it is audited, and its failure is logged. */
  reload(): void;
}

interface ServiceOptions {
  readonly config: Config;
  readonly configPath: string;
  /** Warnings of the configuration that are in the log. */
  readonly warned: readonly string[];
  readonly log: Log;
  readonly limiter: Limiter;
  readonly environment: ServiceEnvironment;
  readonly faults: FileFaults;
  /** The priority that the process got. */
  readonly nice: number;
}

/** Opens the filter of this machine's kernel. */
const filterOpener = { open: openKernelFilter, readPinned: readPinnedStatus };

/**
 * Resolves when everything is built and the machine check has finished or timed out. Rejects with the errors that
 * isStartFault() recognizes, or with a bug.
 */
export async function composeService(options: ServiceOptions): Promise<ComposedService> {
  const { config, configPath, warned, log, limiter, environment, faults } = options;
  const machine = new MachineWatch({ loadAddon, log, timers: systemTimers });
  const looked = machine.look(needsOf(config), "start");
  const metrics = new Metrics(VERSION);
  metrics.collectProcess();
  const native = config.capture === null ? null : loadAddon();
  // The work after a disk's answer shares the time of requests.
  const turns = new RequestTurns({ clock: systemClock, nextTurn, afterPromises });
  const goOn = () => turns.goOn();
  const { state, damage } = await openState(config, goOn);
  const parts = { clock: systemClock, timers: systemTimers, log, metrics };
  const clustered = { state, limiter, environment, random: Math.random, version: VERSION };
  const cluster = Cluster.open(config, { ...clustered, ...parts });
  const driver = historyDriver(config.storage, { environment, clock: systemClock });
  const history = driver === null ? null : new HistoryStore({ driver, goOn, ...parts, metrics: metrics.storage });
  const trail = auditTrailOf(history, cluster);
  const agreement = cluster?.etcd?.slots ?? null;
  const edge = await openEdge(config, { ...parts, state, history, limiter, faults, agreement });
  const files = await ForeignFiles.open(config, { kernel: filterOpener, limiter, faults, environment, ...parts });
  const openReload = (next: Config) => prepareReload(next, edge, files);
  const opened = {
    state,
    goOn,
    native,
    filterOpener,
    ...files.inUse,
    openReload,
    environment,
    ...cluster?.joins.engines,
  };
  const floodwall = new Floodwall({ config, configPath, warned, hasRuleThread: true, ...opened, ...parts });
  followReloads(floodwall, { environment, edge, machine, files, faults });
  const people = signInOf(floodwall, { state, environment, audit: trail, faults, limiter, ...parts });
  const releases = { config: config.updateCheck, version: VERSION, random: Math.random };
  const updates = new UpdateCheck({ ...releases, limiter, ...parts });
  const recorder = trafficRecorder({ floodwall, history, lease: cluster?.lease ?? null, limiter, ...parts });
  const backend = new ServiceBackend(floodwall, VERSION, {
    edge,
    sharedLinks: openSharedLinks(config.stateDir, { api: () => floodwall.config.api, ...parts }),
    signIn: people.signIn,
    history,
    recorder,
    availableUpdate: () => updates.available,
    machineProblems: () => machine.problems,
    notifyTargets: () => reporting.targets,
    cluster,
    ...files.views,
  });
  const http = openHttp({ floodwall, files, backend, trail, turns, ...parts }, options);
  const shared = {
    feed: http.events,
    tenancy: () => backend.tenancy(),
    ...{ history, trail, recorder, updates, stateDamage: damage, faults, edge, cluster },
  };
  const reporting: Reporting = new Reporting({ floodwall, ...shared, environment, limiter, ...parts });
  const running = { floodwall, backend, http, reporting, files, edge, cluster, people };
  const reload = () => {
    reloadAudited(floodwall, trail).catch((cause: unknown) => log.error({ cause }, "a reload failed"));
  };
  // Before packets are captured and requests are answered.
  await looked;
  return { ...lifecycleOf(running, options), reload };
}

interface HttpParts {
  readonly floodwall: Floodwall;
  readonly files: ForeignFiles;
  readonly backend: ServiceBackend;
  readonly trail: AuditTrail | null;
  readonly turns: RequestTurns;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly metrics: Metrics;
}

function openHttp(
  { floodwall, files, backend, trail, ...parts }: HttpParts,
  { config, environment, limiter }: Pick<ServiceOptions, "config" | "environment" | "limiter">,
): HttpServer {
  const api = () => floodwall.config.api;
  const http: HttpServer = new HttpServer({
    ...{ ...config.api, brain: config.cluster?.name ?? null, backend },
    tokens: () => api().tokens,
    callers: () => api().callers,
    metricsToken: () => api().metricsToken,
    secrets: environment.secrets,
    audit: trail,
    limiter,
    dashboard: dashboardOf(() => api().dashboard, parts.log),
    limitConnections: connectionLimiter(parts.log),
    onTls: (error) => files.tlsRead(error, http.isOpen),
    ...parts,
  });
  return http;
}

interface Running {
  readonly floodwall: Floodwall;
  readonly backend: ServiceBackend;
  readonly http: HttpServer;
  readonly reporting: Reporting;
  readonly files: ForeignFiles;
  readonly edge: EdgeChannel;
  readonly cluster: Cluster | null;
  readonly people: ReturnType<typeof signInOf>;
}

function lifecycleOf(
  { floodwall, backend, http, reporting, files, edge, cluster, people }: Running,
  { config, log, nice }: Pick<ServiceOptions, "config" | "log" | "nice">,
): Pick<ComposedService, "start" | "stop"> {
  const start = () => {
    // The port first: a second service on this machine is refused before it announces anything.
    http.start();
    reporting.start();
    floodwall.start();
    for (const part of [files, edge, people]) part.start();
    cluster?.start(floodwall, edge);
    backend.ready = true;
    const listen = hostPort(config.api.host, http.port);
    log.info({ version: VERSION, listen, dry_run: config.dryRun, nice }, "floodwall is up");
  };
  const stop = async () => {
    floodwall.reloader.stop();
    await http.stop();
    cluster?.stopOrders();
    for (const part of [edge, files, people]) part.stop();
    await reporting.stopReading();
    await floodwall.stop(() => reporting.stopNotifying());
    await reporting.stop();
    await cluster?.stop();
  };
  return { start, stop };
}

async function openState(
  { stateDir }: Config,
  goOn: () => Promise<void>,
): Promise<Pick<OpenedState, "damage"> & { readonly state: StateStore }> {
  const file = new StateThread(stateDir);
  const { stored, damage } = await file.open();
  return { state: new StateStore({ file, stored, timers: systemTimers, goOn }), damage };
}

/** All that may fail. */
async function prepareReload(next: Config, edge: EdgeChannel, files: ForeignFiles): Promise<OriginOf | null> {
  await edge.prepare(next);
  return files.prepare(next);
}

const NOTHING_CHANGED = { changed: [], changes: [] };

async function reloadAudited(floodwall: Floodwall, audit: AuditTrail | null): Promise<void> {
  const outcome = await floodwall.reload();
  const problems = outcome.kind === "invalid" ? outcome.problems : [];
  const { changed, changes } = outcome.kind === "invalid" ? NOTHING_CHANGED : outcome;
  const { dryRun } = floodwall.config;
  await audit?.recordAudit(signalReloadEvent({ problems, changed, changes, dryRun }, systemClock.wallMs()));
}

interface Followers {
  readonly environment: ServiceEnvironment;
  readonly machine: MachineWatch;
  readonly edge: EdgeChannel;
  readonly files: ForeignFiles;
  readonly faults: FileFaults;
}

function followReloads(floodwall: Floodwall, { environment, edge, machine, files, faults }: Followers): void {
  floodwall.onReloaded(({ api }) => environment.follow(api.envFile));
  floodwall.onReloaded(() => faults.replace("hostgroup_settings", []));
  files.setUsers(() => floodwall.packetPath?.users() ?? null);
  floodwall.onReloaded((next) => files.reloaded(next));
  floodwall.onReloaded((next) => edge.reconfigure(next.edge));
  floodwall.onReloaded((next) => void machine.look(needsOf(next), "running"));
}

/** It follows reloads. */
function signInOf(floodwall: Floodwall, parts: Omit<SignInParts, "api" | "isDryRun">): OpenedSignIn {
  const running = { api: () => floodwall.config.api, isDryRun: () => floodwall.config.dryRun };
  const opened = openSignIn({ ...running, ...parts });
  floodwall.onReloaded(() => opened.reloaded());
  return opened;
}

type EdgeParts = Pick<
  EdgeChannelOptions,
  "agreement" | "state" | "history" | "limiter" | "clock" | "timers" | "log"
> & {
  readonly metrics: Metrics;
  readonly faults: FileFaults;
};

async function openEdge(config: Config, { metrics, faults, ...parts }: EdgeParts): Promise<EdgeChannel> {
  const masters = new ClearanceFile(config.stateDir, (error, movedTo) =>
    faults.replace("clearance_masters", [
      { key: "clearance-masters", error, effect: `visitors of zones are challenged once more; moved to ${movedTo}` },
    ]),
  );
  const edge = await EdgeChannel.open({ ...parts, config, masters, nextTurn, metrics: metrics.edge });
  metrics.beforeScrape(() => edge.fillMetrics());
  return edge;
}

/** The service works without the addon when it counts no packets. */
function connectionLimiter(log: Log): LimitConnections | null {
  try {
    const native = loadAddon();
    return (cap) => native.limitConnections(cap);
  } catch (cause) {
    log.warn({ cause }, "connections to the API are not bounded");
    return null;
  }
}

/** The service works without the page. */
function dashboardOf(isShown: () => boolean, log: Log): Dashboard | null {
  const files = readDashboard();
  if (files === null && isShown()) log.warn({}, "the dashboard is not built and so not served: run `make dashboard`");
  return files === null ? null : { files, isShown };
}

/** An error that an operator can fix with the help of its message; not a bug. */
export function isStartFault(cause: unknown): cause is Error {
  return (
    cause instanceof ListenError ||
    cause instanceof StateDatabaseError ||
    cause instanceof ClearanceFileError ||
    cause instanceof InstanceFileError ||
    cause instanceof AddonError
  );
}
