/**
 * A gobgpd that the service manages: starts it detached, adopts a running one, and replaces one with another
 * configuration or one that stopped answering. Its routes outlive the service's process.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../system/clock.ts";
import type { Environment } from "../../system/environment.ts";
import { messageOf } from "../../system/error-message.ts";
import { Pause } from "../../system/pause.ts";
import { raiseSession } from "../../system/priority.ts";
import type { Timers } from "../../system/timers.ts";
import type { BgpConfig, BgpNeighbor } from "../bgp-config.ts";
import { connectGobgp } from "../gobgp/gobgp-client.ts";
import { ALL_NEIGHBORS, NeighborPolicies } from "../neighbor-policies.ts";
import type { RouteLimit } from "../withheld-routes.ts";
import { CrashSuspects, crashIn } from "./crash-suspects.ts";
import { gobgpdToml, listenPort } from "./gobgpd-config.ts";
import { lastLogError, notificationsIn, startRemedy } from "./gobgpd-log.ts";
import { endGobgpd, findGobgpd, hasGobgpdOption, isGobgpd, startGobgpd, unprivilegedUser } from "./gobgpd-process.ts";
import { isSamePeer, toPeer } from "./neighbor.ts";
import { NeighborWatch } from "./neighbor-watch.ts";
import { ROUTES_TAKEN_MAX } from "./peer-message.ts";
import { isPrefixLimit, mayBlameRoute, type PeerNotification } from "./peer-notification.ts";
import type { Followed, SessionChanges, Speaker } from "./speaker.ts";
import type { PeerSettings, SpeakerClient, SpeakerGlobal, SpeakerPeer } from "./speaker-client.ts";
import { CONFIG_FROM_RUN, SOCKET_FROM_RUN, SpeakerDirectory } from "./speaker-directory.ts";
import { SpeakerFault } from "./speaker-fault.ts";
import { SpeakerGuard } from "./speaker-guard.ts";

export interface ManagedSpeakerOptions {
  readonly config: BgpConfig;
  readonly stateDir: string;
  /** null: not installed. Called at each start, so that a later installation is found. */
  readonly executable: () => string | null;
  readonly deadlineMs: number;
  /** When the last wanted route expires, wall clock; null: there is none. */
  readonly routesUntilMs: () => number | null;
  /** See SpeakerGuardOptions. */
  readonly leaseMs: number;
  readonly guardLookMs?: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly environment: Environment;
  readonly log: SpeakerLog;
}

export interface SpeakerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Only BGP and our socket are open: no profiling, and no metrics on TCP port 6060 in versions that have them. */
const ARGUMENTS = ["-f", CONFIG_FROM_RUN, "--api-hosts", `unix://${SOCKET_FROM_RUN}`, "--pprof-disable"];
const START_DEADLINE_MS = 5_000;
/** Deadline for a running gobgpd; adoption is retried until SILENCE_MAX_MS. */
const ADOPT_DEADLINE_MS = 1_000;
const START_POLL_MS = 5;
/** A gobgpd that does not answer for this time is killed. Its sessions will not survive: peers wait 90 s. */
const SILENCE_MAX_MS = 30_000;

/** Time until a neighbor that sent too many routes gets its session again. */
const TOO_MANY_RETRY_MS = 300_000;
const TOO_MANY = `it sent more than ${ROUTES_TAKEN_MAX} routes of a family, which are not used: let it export nothing to Floodwall; its session is tried again every ${TOO_MANY_RETRY_MS / 60_000} minutes`;

export class ManagedSpeaker implements Speaker {
  readonly kind = "managed";
  policies = ALL_NEIGHBORS;
  readonly #options: ManagedSpeakerOptions;
  #config: BgpConfig;
  /** The speaker has the export policy of this one: neighbors of a newer one wait for theirs. */
  #inForce: BgpConfig;
  readonly #directory: SpeakerDirectory;
  /** Monotonic; null while it answers. */
  #silentSinceMs: number | null = null;
  readonly #watch = new NeighborWatch();
  /** Whether the limits that an earlier process applied were taken over. */
  #isRestored = false;
  /** Neighbors whose session we ended since follow() was called. */
  readonly #removed: string[] = [];
  /** How much of the log is read, bytes. */
  #logRead = 0;
  /** Read from the log, for the next follow(). */
  #notifications: PeerNotification[] = [];
  /** By neighbor without a session because of that. Monotonic. */
  readonly #overLimitSinceMs = new Map<string, number>();
  readonly #suspects = new CrashSuspects();
  /** Where the log of the running gobgpd begins; null: it was not running, or was ended on purpose. */
  #logStart: number | null = null;
  readonly #guard: SpeakerGuard;
  #isPrepared = false;
  /** The process id of the gobgpd that was seen last. */
  #pid: number | null = null;

  constructor(options: ManagedSpeakerOptions) {
    this.#options = options;
    this.#config = this.#inForce = options.config;
    this.#directory = new SpeakerDirectory(options.stateDir);
    this.#guard = new SpeakerGuard({
      ...options,
      directory: this.#directory,
      warn: (fields, message) => options.log.warn(fields, message),
    });
  }

  /** Before the first connect() there may be no folder to write to, and connect() does the same. */
  routesChanged(): void {
    if (this.#isPrepared) this.#guard.extend();
  }

  reload(config: BgpConfig): void {
    this.#config = config;
    this.#watch.keep(new Set(config.neighbors.map(({ address }) => address)));
  }

  async connect(): Promise<SpeakerClient> {
    this.#logRead = this.#directory.logBytes();
    const run = this.#directory.prepare(unprivilegedUser());
    this.#isPrepared = true;
    this.#guard.extend();
    const client = await this.#connectIn(run);
    this.#guardRun(run);
    try {
      const config = this.#config;
      const policies = new NeighborPolicies(config);
      await client.setExportPolicy(policies.exportTerms());
      [this.policies, this.#inForce] = [policies, config];
      return client;
    } catch (fault) {
      client.close();
      throw fault;
    }
  }

  async #connectIn(run: string): Promise<SpeakerClient> {
    const pid = findGobgpd(run);
    if (pid === null) {
      this.#reportCrash();
      return this.#start(run);
    }
    this.#logStart ??= this.#directory.logBytes();
    raiseSession(pid);
    const client = await this.#adopt(pid, run);
    if (this.#isConfigured(client.global)) return client;
    client.close();
    this.#options.log.info({ pid }, "gobgpd runs with another configuration, replacing it");
    this.#logStart = null;
    await endGobgpd({ pid, workingDirectory: run, gracefully: true, timers: this.#options.timers });
    return this.#start(run);
  }

  /** A client of the running gobgpd. Throws when it does not answer. */
  async #adopt(pid: number, run: string): Promise<SpeakerClient> {
    this.#silentSinceMs ??= this.#options.clock.monotonicMs();
    try {
      const hasEnded = () => !isGobgpd(pid, run);
      const client = await this.#ready({ run, hasEnded, withinMs: ADOPT_DEADLINE_MS });
      this.#silentSinceMs = null;
      return client;
    } catch (fault) {
      await this.#endIfSilent(pid, run);
      throw fault;
    }
  }

  async #start(run: string): Promise<SpeakerClient> {
    const executable = this.#options.executable();
    if (executable === null) throw new SpeakerFault("gobgpd", "gobgpd is not installed: apt-get install gobgpd");
    const port = listenPort(this.#config);
    this.#silentSinceMs = null;
    this.#directory.removeSocket(run);
    this.#directory.writeConfig(gobgpdToml(this.#config));
    this.#directory.trimLog();
    const logStart = this.#directory.logBytes();
    this.#logStart = logStart;
    const servesMetrics = await hasGobgpdOption(executable, "--metrics-path");
    this.#guard.extend();
    const hasEnded = startGobgpd({
      launcher: this.#guard.launcher(),
      executable,
      workingDirectory: run,
      logFile: this.#directory.logFile(),
      user: unprivilegedUser(),
      args: servesMetrics ? [...ARGUMENTS, "--metrics-path="] : ARGUMENTS,
      bindsLowPort: isLowPort(port),
    });
    try {
      const client = await this.#ready({ run, hasEnded, withinMs: START_DEADLINE_MS });
      this.#options.log.info({ pid: findGobgpd(run), port }, "gobgpd started");
      return client;
    } catch (fault) {
      const cause = hasEnded() ? lastLogError(this.#directory.logSince(logStart)) : null;
      throw cause === null
        ? fault
        : new SpeakerFault("gobgpd", `gobgpd does not start: ${cause}${startRemedy(cause, port)}`);
    }
  }

  /** Names the neighbor over which gobgpd crashed, and leaves it out if that goes on. */
  #reportCrash(): void {
    const { log, clock } = this.#options;
    const addresses = new Set<string>(this.#config.neighbors.map(({ address }) => address));
    const crash = this.#logStart === null ? null : crashIn(this.#directory.wholeLogSince(this.#logStart), addresses);
    this.#logStart = null;
    if (crash === null) return;
    log.warn({ cause: crash.reason, last_neighbor: crash.neighbor }, "gobgpd crashed, starting it again");
    const leftOut = this.#suspects.crashed(crash, addresses, clock.monotonicMs());
    if (leftOut === null) return;
    const seconds = Math.round(this.#suspects.leftOutForMs(leftOut, clock.monotonicMs()) / 1000);
    log.warn({ neighbor: leftOut, seconds }, "gobgpd crashed again and again over one neighbor, leaving it out");
  }

  async #ready(options: { run: string; hasEnded: () => boolean; withinMs: number }): Promise<SpeakerClient> {
    const { clock, timers, deadlineMs } = this.#options;
    const path = join(options.run, SOCKET_FROM_RUN);
    const startedMs = clock.monotonicMs();
    for (;;) {
      if (options.hasEnded()) throw new SpeakerFault("gobgpd", "gobgpd ended");
      if (clock.monotonicMs() - startedMs > options.withinMs) {
        throw new SpeakerFault("gobgpd", "gobgpd does not become ready");
      }
      const client = existsSync(path) ? await connectIfReady({ path, deadlineMs }) : null;
      if (client !== null) return client;
      await new Pause(timers).wait(START_POLL_MS);
    }
  }

  async #endIfSilent(pid: number, run: string): Promise<void> {
    const { clock, timers, log } = this.#options;
    if (this.#silentSinceMs === null || clock.monotonicMs() - this.#silentSinceMs < SILENCE_MAX_MS) return;
    log.warn({ pid, silence_ms: SILENCE_MAX_MS }, "gobgpd does not answer, killing it");
    this.#logStart = null;
    await endGobgpd({ pid, workingDirectory: run, gracefully: false, timers });
  }

  #guardRun(run: string): void {
    if (this.#pid === null || !isGobgpd(this.#pid, run)) this.#pid = findGobgpd(run);
    if (this.#pid === null) return;
    const bindsLowPort = isLowPort(listenPort(this.#config));
    this.#guard.watch({ pid: this.#pid, run, user: unprivilegedUser(), bindsLowPort });
  }

  #isConfigured(global: SpeakerGlobal): boolean {
    const { localAsn, routerId, listen } = this.#config;
    return (
      global.asn === localAsn &&
      global.routerId === routerId &&
      global.listenPort === listenPort(this.#config) &&
      (listen === null || String(global.listenAddresses) === String(listen.addresses))
    );
  }

  /** Changes only neighbors that differ: the sessions of the others stay up. */
  async configure(client: SpeakerClient): Promise<readonly SpeakerFault[]> {
    // configure() runs every few seconds, often enough to bound the log and to replace a guard that was killed.
    this.#directory.trimLog();
    const run = this.#directory.run();
    if (run !== null) this.#guardRun(run);
    const faults: SpeakerFault[] = [];
    const running = new Map((await client.listPeers()).map((peer) => [peer.address, peer]));
    const nowMs = this.#options.clock.monotonicMs();
    const isLeftOut = ({ address }: BgpNeighbor) => this.#suspects.leftOutForMs(address, nowMs) > 0;
    for (const { address } of this.#inForce.neighbors.filter(isLeftOut)) {
      faults.push(new SpeakerFault("gobgpd", `neighbor ${address}: left out for now, since gobgpd crashed over it`));
    }
    const wanted = this.#inForce.neighbors.filter((neighbor) => !isLeftOut(neighbor));
    const configured = new Set<string>(wanted.map((neighbor) => neighbor.address));
    for (const address of running.keys()) if (!configured.has(address)) await client.deletePeer(address);
    for (const neighbor of wanted) {
      try {
        await this.#setPeer({ client, running: running.get(neighbor.address), wanted: this.#toPeer(neighbor) });
      } catch (fault) {
        if (!(fault instanceof SpeakerFault) || fault.kind !== "failed") throw fault;
        faults.push(new SpeakerFault(fault.operation, `neighbor ${neighbor.address}: ${fault.reason}`));
      }
    }
    return faults;
  }

  async follow(client: SpeakerClient, { sessions, installed, limits, others }: Followed): Promise<SessionChanges> {
    const nowMs = this.#options.clock.monotonicMs();
    this.#restore(limits, nowMs);
    for (const limit of others) this.#watch.suggest(limit, nowMs);
    this.#readNotifications();
    const notifications = this.#notifications.splice(0);
    const unsent = await this.#watch.follow(client, { sessions, notifications, installed, nowMs });
    const unrelated = notifications.filter((notification) => !mayBlameRoute(notification));
    const blameless = [...this.#removed.splice(0), ...unrelated.map(({ neighbor }) => neighbor)];
    const deferring = sessions.filter(({ isDeferring }) => isDeferring).map(({ address }) => address);
    return { notifications, blameless, unsent, deferring, limits: this.#watch.limits(), known: this.#watch.known() };
  }

  #readNotifications(): void {
    const { text, end } = this.#directory.readLog(this.#logRead);
    this.#logRead = end;
    this.#notifications.push(...notificationsIn(text));
  }

  /** Otherwise each restart of the service would end the sessions of the neighbors with limits. */
  #restore(limits: readonly RouteLimit[], nowMs: number): void {
    if (this.#isRestored) return;
    this.#isRestored = true;
    for (const limit of limits) this.#watch.restore(limit, nowMs);
  }

  neighborFault(address: string): string | null {
    return this.#overLimitSinceMs.has(address) ? TOO_MANY : this.#watch.faultOf(address);
  }

  async #setPeer(options: {
    client: SpeakerClient;
    running: SpeakerPeer | undefined;
    wanted: PeerSettings;
  }): Promise<void> {
    const { client, running, wanted } = options;
    if (running?.isOverLimit === true && this.#isTooEarly(running.address)) throw new SpeakerFault("AddPeer", TOO_MANY);
    // Disabled by a service that was killed while it stopped: its sessions are not to stay down.
    if (running !== undefined && running.state !== "admin_down" && isSamePeer(running, wanted)) return;
    if (running !== undefined) {
      this.#removed.push(running.address);
      await client.deletePeer(running.address);
    }
    this.#forgetLimitsReached(wanted.address);
    await client.addPeer(wanted);
  }

  /** The neighbor would send its routes again at once. */
  #isTooEarly(address: string): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    const sinceMs = this.#overLimitSinceMs.get(address) ?? nowMs;
    this.#overLimitSinceMs.set(address, sinceMs);
    if (nowMs - sinceMs < TOO_MANY_RETRY_MS) return true;
    this.#overLimitSinceMs.delete(address);
    return false;
  }

  /** Those of sessions before the routes beyond the neighbor's limit were withheld: they say nothing new. */
  #forgetLimitsReached(address: string): void {
    this.#readNotifications();
    this.#notifications = this.#notifications.filter(
      (notification) => notification.neighbor !== address || !isPrefixLimit(notification),
    );
  }

  #toPeer(neighbor: BgpNeighbor): PeerSettings {
    return toPeer(neighbor, passwordOf(neighbor, this.#options.environment), this.#inForce.localAsn);
  }

  async end(): Promise<void> {
    await endManagedGobgpd(this.#options);
  }
}

/**
 * Ends the managed gobgpd of this state directory and its routes, also one from an earlier process. Returns its process
 * id, or null if none runs.
 */
export async function endManagedGobgpd(options: { stateDir: string; timers: Timers }): Promise<number | null> {
  const run = new SpeakerDirectory(options.stateDir).run();
  const pid = run === null ? null : findGobgpd(run);
  if (run === null || pid === null) return null;
  await endGobgpd({ pid, workingDirectory: run, gracefully: true, timers: options.timers });
  return pid;
}

/** null: it has none. Without one that it is to have, the session would fail without a visible reason. */
function passwordOf({ passwordEnv, passwordFile }: BgpNeighbor, environment: Environment): string | null {
  if (passwordFile !== undefined) return passwordIn(passwordFile);
  const password = passwordEnv === null ? null : environment.read(passwordEnv);
  if (passwordEnv !== null && (password ?? "") === "")
    throw new SpeakerFault("AddPeer", `environment variable ${passwordEnv} is not set`);
  return password;
}

/** Its first line. */
function passwordIn(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new SpeakerFault("AddPeer", `the password file cannot be read: ${messageOf(cause)}`);
  }
  const [password = ""] = text.split(/\r?\n/);
  if (password === "") throw new SpeakerFault("AddPeer", `the password file ${path} is empty`);
  return password;
}

function isLowPort(port: number): boolean {
  return port > 0 && port < 1024;
}

/** null: not listening, or not configured yet. */
async function connectIfReady(of: { path: string; deadlineMs: number }): Promise<SpeakerClient | null> {
  try {
    return await connectGobgp({ target: { kind: "unix", path: of.path }, deadlineMs: of.deadlineMs });
  } catch (fault) {
    if (fault instanceof SpeakerFault && (fault.kind === "unreachable" || fault.kind === "unconfigured")) return null;
    throw fault;
  }
}
