/**
 * `floodwall scrub`: the composition root of a scrub node's agent. Expected failures (file, kernel, listener) happen
 * here, before anything outside is changed, with a message that says what to do.
 */
import { readConfigFile } from "../config/load/read-file.ts";
import { loadScrubAgent, scrubAgentWarnings } from "../config/scrub-agent-config.ts";
import { loadAddon } from "../dataplane/addon.ts";
import { forwardPlan } from "../dataplane/forward-tunnel.ts";
import { type KernelFilter, openKernelFilter, readPinnedStatus } from "../dataplane/kernel-filter.ts";
import { capConnections, type LimitConnections } from "../http/server/connection-cap.ts";
import { ALLOWLIST_MAX } from "../limits.ts";
import { needsOfNode } from "../machine/needs.ts";
import { Limiter } from "../observability/limiter.ts";
import { type Log, openLog } from "../observability/log.ts";
import { MetricsListener } from "../observability/metrics-listener.ts";
import { ScrubAgentMetrics } from "../observability/scrub-agent-metrics.ts";
import type { PrefixSets } from "../prefixset/prefix-sets.ts";
import { describeProblem } from "../schema/problem.ts";
import { ScrubAgent } from "../scrub/agent/agent.ts";
import type { ScrubAgentConfig } from "../scrub/agent/agent-config.ts";
import { AUTHORITY_BYTES_MAX, AuthorityFile } from "../scrub/agent/authority-file.ts";
import { HttpController } from "../scrub/agent/controller.ts";
import type { PollTrouble } from "../scrub/agent/poller.ts";
import { troubleText } from "../scrub/agent/trouble-text.ts";
import { ServiceEnvironment } from "../service/environment.ts";
import { FileFaults } from "../service/file-faults.ts";
import { MachineWatch } from "../service/machine-watch.ts";
import { openPrefixSets } from "../service/prefix-sets.ts";
import { logWarnings } from "../service/reloader.ts";
import { systemClock } from "../system/clock.ts";
import { startedAgainOnFailure } from "../system/failed-starts.ts";
import { KeptFiles } from "../system/kept-file.ts";
import { raisePriority } from "../system/priority.ts";
import { makeFilesPrivate } from "../system/private-folder.ts";
import { processSignals, stopSignal } from "../system/signals.ts";
import { systemTimers } from "../system/timers.ts";
import { VERSION } from "../version.ts";

/** The agent blocks no pairs, but the kernel requires a table of at least one. */
const PAIRS_MAX = 1;

/** Resolves with the exit code, once a signal has stopped the agent or it could not start. */
export function scrub(configPath: string): Promise<number> {
  return startedAgainOnFailure((isUp) => runFrom(configPath, isUp));
}

async function runFrom(configPath: string, isUp: () => void): Promise<number> {
  makeFilesPrivate();
  const log = openLog({ level: "info", clock: systemClock });
  const loaded = loadScrubAgent(readConfigFile(configPath));
  if (loaded.kind === "invalid") {
    for (const problem of loaded.problems) console.error(describeProblem(configPath, problem));
    return 1;
  }
  const { config, lineOf } = loaded;
  const limiter = new Limiter(systemClock);
  const environment = new ServiceEnvironment({ clock: systemClock, log, limiter });
  environment.follow(config.envFile);
  const warnings = [...scrubAgentWarnings(config, (name) => environment.read(name))];
  logWarnings(
    log,
    warnings.map(({ path, rule }) => describeProblem(configPath, { line: lineOf(path), path, rule })),
  );
  try {
    await run(config, { log, limiter, environment, isUp });
    return 0;
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause;
    log.error({ cause }, "cannot go on");
    // A failure of the kernel, the addon, the listener or a file; its message says what to do.
    console.error(`floodwall: ${cause.message}`);
    return 1;
  }
}

interface Surroundings {
  readonly log: Log;
  readonly limiter: Limiter;
  readonly environment: ServiceEnvironment;
  /** To be called once the agent is up. */
  readonly isUp: () => void;
}

async function run(config: ScrubAgentConfig, surroundings: Surroundings): Promise<void> {
  const { log, isUp } = surroundings;
  // Before anything is started, since child processes inherit it.
  const nice = raisePriority();
  // As early as possible: a signal during the start still causes an orderly stop.
  const stopped = stopSignal();
  const undo: (() => void | Promise<void>)[] = [];
  try {
    const looked = new MachineWatch({ loadAddon, log, timers: systemTimers }).look(needsOfNode(config), "start");
    const metrics = new ScrubAgentMetrics(VERSION);
    metrics.collectProcess();
    const faults = new FileFaults({ log, wallMs: () => systemClock.wallMs() });
    metrics.beforeScrape(() => metrics.files.set(faults.list()));
    const prefixSets = await openSets(config, { ...surroundings, metrics, faults });
    undo.push(() => prefixSets.stop());
    const filter = openFilter(config);
    undo.push(() => filter.close(config.dataplane.onExit));
    const agent = buildAgent(config, { ...surroundings, metrics, faults, filter, prefixSets });
    if (config.metricsListen !== null) {
      const listener = new MetricsListener({
        ...config.metricsListen,
        contentType: metrics.contentType,
        text: () => {
          agent.read();
          return metrics.text();
        },
        clock: systemClock,
      });
      undo.push(() => listener.close());
      const limit: LimitConnections = (cap) => loadAddon().limitConnections(cap);
      const { limiter } = surroundings;
      const shared = { log, limiter, timers: systemTimers, clock: systemClock };
      undo.push(capConnections({ limit, port: listener.port, metrics: null, ...shared }));
    }
    undo.push(() => agent.stop());
    // Before anything is put in force.
    await looked;
    await agent.start();
    prefixSets.start();
    log.info({ version: VERSION, node: config.node, dry_run: config.dryRun, nice }, "floodwall scrub is up");
    isUp();
    processSignals.on("SIGHUP", () => log.warn({}, "a restart applies a new configuration: what is in force goes on"));
    await stopped;
    agent.logStatus();
  } finally {
    for (const step of undo.reverse()) await step();
  }
  log.info({ on_exit: config.dataplane.onExit }, "stopped");
}

type SetParts = Surroundings & { readonly metrics: ScrubAgentMetrics; readonly faults: FileFaults };

function openSets(config: ScrubAgentConfig, { log, limiter, metrics, faults }: SetParts): Promise<PrefixSets> {
  // An agent reads no samples: it knows no users.
  const users = () => new Uint8Array(0);
  const parts = { clock: systemClock, timers: systemTimers, log, limiter, metrics, faults, users };
  return openPrefixSets(config, { kernel: { readPinned: readPinnedStatus }, ...parts });
}

interface Parts extends SetParts {
  readonly filter: KernelFilter;
  readonly prefixSets: PrefixSets;
}

function buildAgent(config: ScrubAgentConfig, parts: Parts): ScrubAgent {
  const { log, limiter, environment, metrics, filter, prefixSets, faults } = parts;
  const { url, others, tokenEnv, caFile } = config.controller;
  // Empty counts as unset: it is no secret.
  const token = () => (tokenEnv === null ? null : environment.read(tokenEnv) || null);
  const system = { clock: systemClock, timers: systemTimers };
  const { node } = config;
  const authority =
    caFile === null ? null : authorityReader(caFile, { stateDir: config.stateDir, log, limiter, faults });
  const brains = [url, ...others].map((each) => ({
    url: each,
    controller: new HttpController({ url: new URL(each), node, token, authority, ...system }),
    troubleText: (trouble: PollTrouble) =>
      troubleText(trouble, { url: each, node, tokenEnv, hasToken: token() !== null }),
  }));
  return new ScrubAgent({
    config,
    version: VERSION,
    filter,
    prefixSets,
    brains,
    log,
    limiter,
    metrics,
    random: Math.random,
    ...system,
  });
}

interface AuthorityParts extends Pick<Parts, "log" | "limiter" | "faults"> {
  readonly stateDir: string;
}

function authorityReader(path: string, { stateDir, log, limiter, faults }: AuthorityParts): () => string {
  const file = new AuthorityFile({
    path,
    kept: new KeptFiles(stateDir, "authority", AUTHORITY_BYTES_MAX),
    onRead: (error, hasLast) => {
      const effect = hasLast
        ? "the authority before stays in use"
        : "the service is not reached: rules in force go on until they expire";
      faults.replace("authority", error === null ? [] : [{ key: "controller.ca_file", error, effect }]);
    },
    onNotKept: (cause) =>
      limiter.pass("kept authority", (suppressed) =>
        log.error({ cause, suppressed }, "the authority cannot be kept in state_dir: a start would depend on its file"),
      ),
  });
  return () => file.read();
}

function openFilter({ dataplane }: ScrubAgentConfig): KernelFilter {
  const { pinPath, interfaces, xdpMode, maxDynamicRules, maxSources } = dataplane;
  return openKernelFilter({
    pinPath,
    interfaces,
    xdpMode,
    maxPairs: PAIRS_MAX,
    maxRules: maxDynamicRules,
    maxPrefixes: ALLOWLIST_MAX,
    maxSources,
    forward: forwardPlan(dataplane),
  });
}
