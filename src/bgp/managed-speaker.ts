/**
 * A gobgpd of our own: started detached, adopted when it already runs, replaced when it runs with another
 * configuration or stopped answering for good. Its routes outlive the service's process.
 */
import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { BgpConfig, BgpNeighbor } from "../config/config.ts";
import type { Clock } from "../system/clock.ts";
import type { Environment } from "../system/environment.ts";
import type { Timers } from "../system/timers.ts";
import { GobgpClient } from "./gobgp-client.ts";
import { type GobgpdConfig, gobgpdToml, type ListenAddress, lastLogError, listenPort } from "./gobgpd-config.ts";
import { endGobgpd, findGobgpd, isGobgpd, startGobgpd, unprivilegedUser } from "./gobgpd-process.ts";
import { isSamePeer, peerAddress, toPeer } from "./neighbor.ts";
import type { Global, Peer } from "./proto/gobgp_pb.ts";
import type { Speaker } from "./speaker.ts";
import { SpeakerFault } from "./speaker-fault.ts";

export interface ManagedSpeakerOptions {
  readonly config: BgpConfig;
  readonly stateDir: string;
  /** null: gobgpd only dials its neighbors, which takes it 5 to 10 s. */
  readonly listen: ListenAddress | null;
  /** null: not installed. Asked at each start, so that installing it is enough. */
  readonly executable: () => string | null;
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly environment: Environment;
  readonly log: SpeakerLog;
}

export interface SpeakerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

const START_DEADLINE_MS = 5_000;
const START_POLL_MS = 5;
/** A gobgpd that does not answer for so long is killed. Its sessions are as good as dead: peers wait 90 s. */
const SILENCE_MAX_MS = 30_000;
const LOG_BYTES_MAX = 4 * 1024 * 1024;
const LOG_TAIL_BYTES = 16 * 1024;
/** What a unix socket's path may have. */
const SOCKET_PATH_BYTES_MAX = 107;
const SOCKET_NAME = "gobgpd.sock";

export class ManagedSpeaker implements Speaker {
  readonly kind = "managed";
  readonly #options: ManagedSpeakerOptions;
  #config: BgpConfig;
  /** Holds the configuration and the log; ours alone. */
  readonly #directory: string;
  /** Holds the socket; gobgpd's user writes here, so that nothing we write may lie in it. */
  readonly #runDirectory: string;
  /** Monotonic; null while it answers. */
  #silentSinceMs: number | null = null;

  constructor(options: ManagedSpeakerOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#directory = join(options.stateDir, "gobgpd");
    this.#runDirectory = join(this.#directory, "run");
  }

  reload(config: BgpConfig): void {
    this.#config = config;
  }

  async connect(): Promise<GobgpClient> {
    const directory = this.#prepareDirectories();
    const running = findGobgpd(directory);
    if (running === null) return this.#start(directory);
    const client = this.#newClient();
    const isRight = await this.#adopt({ client, pid: running, directory });
    if (isRight) return client;
    client.close();
    this.#options.log.info({ pid: running }, "gobgpd runs with another configuration, replacing it");
    await endGobgpd({ pid: running, workingDirectory: directory, gracefully: true, timers: this.#options.timers });
    return this.#start(directory);
  }

  /** Whether the running gobgpd is as configured. Throws when it does not answer. */
  async #adopt(options: { client: GobgpClient; pid: number; directory: string }): Promise<boolean> {
    const { client, pid, directory } = options;
    this.#silentSinceMs ??= this.#options.clock.monotonicMs();
    try {
      const global = await this.#ready(client, { directory, hasEnded: () => !isGobgpd(pid, directory) });
      this.#silentSinceMs = null;
      this.#trimLog();
      return this.#isConfigured(global);
    } catch (fault) {
      client.close();
      await this.#endIfSilentForLong(pid, directory);
      throw fault;
    }
  }

  async #start(directory: string): Promise<GobgpClient> {
    const executable = this.#options.executable();
    if (executable === null) throw new SpeakerFault("gobgpd", "gobgpd is not installed: apt-get install gobgpd");
    // Left behind by a kill; gobgpd would refuse to start.
    rmSync(join(directory, SOCKET_NAME), { force: true });
    this.#silentSinceMs = null;
    writeFileSync(join(this.#directory, "gobgpd.toml"), gobgpdToml(this.#gobgpdConfig()), { mode: 0o644 });
    this.#trimLog();
    const logStart = this.#logBytes();
    const port = listenPort(this.#gobgpdConfig());
    const hasEnded = startGobgpd({
      executable,
      workingDirectory: directory,
      logFile: this.#logFile(),
      user: unprivilegedUser(),
      args: ["-f", "../gobgpd.toml", "--api-hosts", `unix://${SOCKET_NAME}`, "--pprof-disable"],
      bindsLowPort: port > 0 && port < 1024,
    });
    const client = this.#newClient();
    try {
      await this.#ready(client, { directory, hasEnded });
    } catch (fault) {
      client.close();
      const cause = hasEnded() ? lastLogError(this.#logSince(logStart)) : null;
      throw cause === null ? fault : new SpeakerFault("gobgpd", `gobgpd does not start: ${cause}`);
    }
    this.#options.log.info({ pid: findGobgpd(directory), port }, "gobgpd started");
    return client;
  }

  async #ready(client: GobgpClient, options: { directory: string; hasEnded: () => boolean }): Promise<Global> {
    const { clock, timers } = this.#options;
    const startedMs = clock.monotonicMs();
    for (;;) {
      if (options.hasEnded()) throw new SpeakerFault("gobgpd", "gobgpd ended");
      if (clock.monotonicMs() - startedMs > START_DEADLINE_MS) {
        throw new SpeakerFault("gobgpd", "gobgpd does not become ready");
      }
      if (existsSync(join(options.directory, SOCKET_NAME))) {
        const global = await askGlobal(client);
        if (global !== null) return global;
      }
      await new Promise<void>((resolve) => timers.after(START_POLL_MS, resolve));
    }
  }

  async #endIfSilentForLong(pid: number, directory: string): Promise<void> {
    const { clock, timers, log } = this.#options;
    if (this.#silentSinceMs === null || clock.monotonicMs() - this.#silentSinceMs < SILENCE_MAX_MS) return;
    log.warn({ pid, silence_ms: SILENCE_MAX_MS }, "gobgpd does not answer, killing it");
    await endGobgpd({ pid, workingDirectory: directory, gracefully: false, timers });
  }

  #isConfigured(global: Global): boolean {
    const wanted = this.#gobgpdConfig();
    return (
      global.asn === wanted.localAsn &&
      global.routerId === wanted.routerId &&
      global.listenPort === listenPort(wanted) &&
      (wanted.listen === null || String(global.listenAddresses) === String(wanted.listen.addresses))
    );
  }

  /** Touches only neighbors that differ: the sessions of the others stay up. */
  async configure(client: GobgpClient): Promise<readonly SpeakerFault[]> {
    const faults: SpeakerFault[] = [];
    const running = new Map((await client.listPeers()).map((peer) => [peerAddress(peer), peer]));
    const configured = new Set<string>(this.#config.neighbors.map((neighbor) => neighbor.address));
    for (const address of running.keys()) if (!configured.has(address)) await client.deletePeer(address);
    for (const neighbor of this.#config.neighbors) {
      try {
        await setPeer({ client, running: running.get(neighbor.address), wanted: this.#toPeer(neighbor) });
      } catch (fault) {
        if (!(fault instanceof SpeakerFault) || fault.kind !== "failed") throw fault;
        faults.push(new SpeakerFault(fault.operation, `neighbor ${neighbor.address}: ${fault.reason}`));
      }
    }
    return faults;
  }

  #toPeer(neighbor: BgpNeighbor): Peer {
    const { passwordEnv } = neighbor;
    const password = passwordEnv === null ? null : this.#options.environment.read(passwordEnv);
    // Without its password a session would only look like a network fault at the peer.
    if (passwordEnv !== null && (password ?? "") === "") {
      throw new SpeakerFault("AddPeer", `environment variable ${passwordEnv} is not set`);
    }
    return toPeer(neighbor, password);
  }

  async end(): Promise<void> {
    if (!existsSync(this.#runDirectory)) return;
    const workingDirectory = realpathSync(this.#runDirectory);
    const pid = findGobgpd(workingDirectory);
    if (pid !== null) await endGobgpd({ pid, workingDirectory, gracefully: true, timers: this.#options.timers });
    rmSync(join(workingDirectory, SOCKET_NAME), { force: true });
  }

  /** Returns the run directory's canonical path, as /proc shows it. */
  #prepareDirectories(): string {
    try {
      mkdirSync(this.#directory, { recursive: true, mode: 0o755 });
      mkdirSync(this.#runDirectory, { recursive: true, mode: 0o700 });
      const user = unprivilegedUser();
      if (user !== null) chownSync(this.#runDirectory, user.uid, user.gid);
      return this.#checkedDirectory();
    } catch (error) {
      if (error instanceof SpeakerFault) throw error;
      throw new SpeakerFault("gobgpd", `state directory: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #checkedDirectory(): string {
    const directory = realpathSync(this.#runDirectory);
    if (Buffer.byteLength(join(directory, SOCKET_NAME)) <= SOCKET_PATH_BYTES_MAX) return directory;
    throw new SpeakerFault("gobgpd", `${directory} is too long for a socket's path: choose a shorter state_dir`);
  }

  #newClient(): GobgpClient {
    const path = join(realpathSync(this.#runDirectory), SOCKET_NAME);
    return new GobgpClient({ target: { kind: "unix", path }, deadlineMs: this.#options.deadlineMs });
  }

  #gobgpdConfig(): GobgpdConfig {
    const { localAsn, routerId } = this.#config;
    return { localAsn, routerId, listen: this.#options.listen };
  }

  #logFile(): string {
    return join(this.#directory, "gobgpd.log");
  }

  #logBytes(): number {
    return existsSync(this.#logFile()) ? statSync(this.#logFile()).size : 0;
  }

  /** gobgpd appends, so that it goes on at the start of a log that was cut. */
  #trimLog(): void {
    if (this.#logBytes() > LOG_BYTES_MAX) truncateSync(this.#logFile());
  }

  #logSince(byte: number): string {
    const bytes = existsSync(this.#logFile()) ? readFileSync(this.#logFile()).subarray(byte) : Buffer.alloc(0);
    return bytes.subarray(-LOG_TAIL_BYTES).toString("utf8");
  }
}

/** null: not listening or not configured yet. */
async function askGlobal(client: GobgpClient): Promise<Global | null> {
  try {
    return await client.getGlobal();
  } catch (fault) {
    if (fault instanceof SpeakerFault && fault.kind === "unreachable") return null;
    throw fault;
  }
}

async function setPeer(options: { client: GobgpClient; running: Peer | undefined; wanted: Peer }): Promise<void> {
  const { client, running, wanted } = options;
  if (running !== undefined && isSamePeer(running, wanted)) return;
  if (running !== undefined) await client.deletePeer(peerAddress(running));
  await client.addPeer(wanted);
}
