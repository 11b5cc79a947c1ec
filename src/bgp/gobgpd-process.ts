/**
 * The gobgpd process: found, started detached, ended. It is known by its working directory, which no other gobgpd
 * has, so that nothing needs to be recorded when it starts: a service killed in that moment still finds it.
 */
import { execFile, spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { GOBGPD_ANSWER_MS } from "../limits.ts";
import { withoutCapabilities } from "../system/capabilities.ts";
import { Pause } from "../system/pause.ts";
import { raiseSession } from "../system/priority.ts";
import type { Timers } from "../system/timers.ts";
import { SpeakerFault } from "./speaker-fault.ts";

export interface UnixUser {
  readonly uid: number;
  readonly gid: number;
}

/** The first that the machine has; GoBGP needs no files of its own. */
const UNPRIVILEGED_USERS = ["gobgp", "nobody"];

const EXECUTABLES = ["/usr/bin/gobgpd", "/usr/sbin/gobgpd", "/usr/local/bin/gobgpd", "/usr/local/sbin/gobgpd"];

/** gobgpd needs nothing of ours, which holds secrets. */
const ENVIRONMENT = {};

const END_POLL_MS = 5;
/** Given to close the sessions; then it is killed. */
const END_GRACE_MS = 2_000;

/** null: not installed. */
export function gobgpdExecutable(): string | null {
  return EXECUTABLES.find((path) => existsSync(path)) ?? null;
}

/** `3.10.0`; null: it does not say. */
export async function gobgpdVersion(executable: string): Promise<string | null> {
  return /^gobgpd version (\S+)/m.exec(await printed(executable, "--version"))?.[1] ?? null;
}

/** Whether this version has a command line option that takes a value, as `--metrics-path`. */
export async function hasGobgpdOption(executable: string, option: string): Promise<boolean> {
  return (await printed(executable, "--help")).includes(` ${option}=`);
}

/** Also of a command that fails; empty where it cannot be run. */
function printed(executable: string, argument: string): Promise<string> {
  const command = { executable, args: [argument], user: unprivilegedUser(), bindsLowPort: false };
  const [program = "", ...args] = unprivileged(command);
  // Elsewhere than the one that serves, which is known by its working directory.
  const options = { env: ENVIRONMENT, cwd: "/", timeout: GOBGPD_ANSWER_MS };
  return new Promise((resolve) => execFile(program, args, options, (_failure, output) => resolve(output)));
}

/** null: not root, and gobgpd runs as the service's user; or no such user. */
export function unprivilegedUser(): UnixUser | null {
  if (process.getuid?.() !== 0) return null;
  const entries = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  for (const name of UNPRIVILEGED_USERS) {
    const entry = entries.find((fields) => fields[0] === name);
    if (entry !== undefined) return { uid: Number(entry[2]), gid: Number(entry[3]) };
  }
  return null;
}

/** The process id, or null. */
export function findGobgpd(workingDirectory: string): number | null {
  for (const entry of readdirSync("/proc")) {
    const pid = Number(entry);
    if (Number.isInteger(pid) && isGobgpd(pid, workingDirectory)) return pid;
  }
  return null;
}

export function isGobgpd(pid: number, workingDirectory: string): boolean {
  try {
    if (readFileSync(`/proc/${pid}/comm`, "utf8") !== "gobgpd\n") return false;
    const directory = `/proc/${pid}/cwd`;
    // Each start of a systemd unit has a mount namespace of its own: one directory may have another path in an older one.
    if (isSameDirectory(directory, workingDirectory)) return true;
    // A dead process that nobody waited for yet has no working directory. Ours may have been removed, and made anew since:
    // that gobgpd is out of reach and still ours to end.
    return readlinkSync(directory) === `${workingDirectory} (deleted)`;
  } catch {
    // Gone, or of another user and so not ours.
    return false;
  }
}

/** An inode number may be beyond 2^53. */
const WHOLE = { bigint: true } as const;

/** Throws when the first does not exist. */
function isSameDirectory(path: string, other: string): boolean {
  const [one, another] = [statSync(path, WHOLE), statSync(other, { ...WHOLE, throwIfNoEntry: false })];
  return another !== undefined && one.dev === another.dev && one.ino === another.ino;
}

export interface GobgpdOptions {
  readonly executable: string;
  /** Canonical path. Paths in `args` are best relative to it: they then hold for a user who may not see its parents. */
  readonly workingDirectory: string;
  readonly logFile: string;
  readonly user: UnixUser | null;
  readonly args: readonly string[];
  /** Needs the one capability that a port below 1024 takes. */
  readonly bindsLowPort: boolean;
}

/** Starts gobgpd in a session of its own, so that it outlives the service. Returns whether it has ended by now. */
export function startGobgpd(options: GobgpdOptions): () => boolean {
  const [program = "", ...args] = unprivileged(options);
  const log = openSync(options.logFile, "a", 0o600);
  try {
    const child = spawn(program, args, {
      cwd: options.workingDirectory,
      detached: true,
      stdio: ["ignore", log, log],
      env: ENVIRONMENT,
    });
    let hasEnded = false;
    const end = () => {
      hasEnded = true;
    };
    child.on("exit", end);
    child.on("error", end);
    child.unref();
    // It has our nice value, in a session of its own.
    if (child.pid !== undefined) raiseSession(child.pid);
    return () => hasEnded;
  } finally {
    closeSync(log);
  }
}

type Command = Pick<GobgpdOptions, "executable" | "args" | "user" | "bindsLowPort">;

function unprivileged({ executable, args, user, bindsLowPort }: Command): readonly string[] {
  const command = [executable, ...args];
  if (user === null) return withoutCapabilities(command, { binds: bindsLowPort });
  const ids = [`--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups", "--no-new-privs"];
  const capability = bindsLowPort ? ["--inh-caps=+net_bind_service", "--ambient-caps=+net_bind_service"] : [];
  return ["/usr/bin/setpriv", ...ids, ...capability, ...command];
}

/** Resolves when the process is gone. `gracefully`: sessions are closed, peers drop the routes at once. */
export async function endGobgpd(options: {
  pid: number;
  workingDirectory: string;
  gracefully: boolean;
  timers: Timers;
}): Promise<void> {
  const { pid, workingDirectory, gracefully, timers } = options;
  if (!isGobgpd(pid, workingDirectory)) return;
  signal(pid, gracefully ? "SIGTERM" : "SIGKILL");
  for (let waitedMs = 0; isGobgpd(pid, workingDirectory); waitedMs += END_POLL_MS) {
    if (waitedMs === END_GRACE_MS) signal(pid, "SIGKILL");
    if (waitedMs > 2 * END_GRACE_MS) throw new SpeakerFault("gobgpd", `process ${pid} cannot be ended`);
    await new Pause(timers).wait(END_POLL_MS);
  }
}

function signal(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch {
    // Ended in between.
  }
}
