/**
 * Finds, starts and stops the gobgpd process. It is identified by its working directory, which no other gobgpd has, and
 * by the program that it executes, which its user cannot have written: other processes of a shared user such as `nobody`
 * may take its name and enter its directory. Nothing must be recorded at its start, so that it is found even if the
 * service is killed at that moment.
 */
import { execFile, spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { basename } from "node:path";

import { withoutCapabilities } from "../../system/capabilities.ts";
import { Pause } from "../../system/pause.ts";
import { raiseSession } from "../../system/priority.ts";
import type { Timers } from "../../system/timers.ts";
import { SpeakerFault } from "./speaker-fault.ts";

/** How long gobgpd may take to print its version or options, ms. */
const GOBGPD_ANSWER_MS = 5000;

export interface UnixUser {
  readonly uid: number;
  readonly gid: number;
}

/** The first existing one is used; GoBGP needs no files of its own. */
const UNPRIVILEGED_USERS = ["gobgp", "nobody"];

const EXECUTABLES = ["/usr/bin/gobgpd", "/usr/sbin/gobgpd", "/usr/local/bin/gobgpd", "/usr/local/sbin/gobgpd"];

/** Empty: the service's environment holds secrets, and gobgpd needs nothing of it. */
const ENVIRONMENT = {};

const END_POLL_MS = 5;
/** Time to close the sessions before gobgpd is killed. */
const END_GRACE_MS = 2_000;

/** null: not installed. */
export function gobgpdExecutable(): string | null {
  return EXECUTABLES.find((path) => existsSync(path)) ?? null;
}

/** `3.10.0`; null: unknown. */
export async function gobgpdVersion(executable: string): Promise<string | null> {
  return /^gobgpd version (\S+)/m.exec(await outputOf(executable, "--version"))?.[1] ?? null;
}

/** Whether this version has a command line option that takes a value, as `--metrics-path`. */
export async function hasGobgpdOption(executable: string, option: string): Promise<boolean> {
  return (await outputOf(executable, "--help")).includes(` ${option}=`);
}

/** The output of a command, also if it fails; empty if it cannot be run. */
function outputOf(executable: string, argument: string): Promise<string> {
  const command = { executable, args: [argument], user: unprivilegedUser(), bindsLowPort: false };
  const [program = "", ...args] = unprivileged(command);
  // Another working directory than that of the serving gobgpd, which is identified by it.
  const options = { env: ENVIRONMENT, cwd: "/", timeout: GOBGPD_ANSWER_MS };
  return new Promise((resolve) => execFile(program, args, options, (_failure, output) => resolve(output)));
}

/** null: not root, so that gobgpd runs as the service's user; or no such user exists. */
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
    if (readFileSync(`/proc/${pid}/comm`, "utf8") !== "gobgpd\n" || !executesGobgpd(pid)) return false;
    const directory = `/proc/${pid}/cwd`;
    // Each start of a systemd unit has its own mount namespace: the same directory may have another path there.
    if (isSameDirectory(directory, workingDirectory)) return true;
    // A zombie process has no working directory. Ours may have been removed and created again since: that gobgpd cannot
    // be reached, but must be ended.
    return readlinkSync(directory) === `${workingDirectory} (deleted)`;
  } catch {
    // The process ended, or belongs to another user and is not ours.
    return false;
  }
}

/** A process may call itself anything, but executes what it executes. Throws if it ended, or cannot be looked into. */
function executesGobgpd(pid: number): boolean {
  const link = `/proc/${pid}/exe`;
  // An update of the package leaves the running program without a name.
  const path = readlinkSync(link).replace(/ \(deleted\)$/, "");
  const user = unprivilegedUser();
  return basename(path) === "gobgpd" && (user === null || statSync(link).uid !== user.uid);
}

/** When the process was started, in ticks since the start of the machine; null: there is none. */
export function startTicks(pid: number): string | null {
  try {
    // Field 22 (proc(5)); the second one, a name in parentheses, may have spaces.
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[19] ?? null;
  } catch {
    return null;
  }
}

/** Inode numbers may exceed 2^53. */
const BIGINT = { bigint: true } as const;

/** Throws if `path` does not exist. */
export function isSameDirectory(path: string, other: string): boolean {
  const [one, another] = [statSync(path, BIGINT), statSync(other, { ...BIGINT, throwIfNoEntry: false })];
  return another !== undefined && one.dev === another.dev && one.ino === another.ino;
}

interface GobgpdOptions {
  /** The beginning of a command line that becomes gobgpd, with a guard beside it; empty: none. */
  readonly launcher: readonly string[];
  readonly executable: string;
  /** Canonical path. Paths in `args` should be relative to it, for a user who may not read its parents. */
  readonly workingDirectory: string;
  readonly logFile: string;
  readonly user: UnixUser | null;
  readonly args: readonly string[];
  /** gobgpd needs the capability to bind a port below 1024. */
  readonly bindsLowPort: boolean;
}

/**
 * Starts gobgpd in a session of its own, so that it outlives the service. Returns a function that tests whether it has
 * ended.
 */
export function startGobgpd({ launcher, ...options }: GobgpdOptions): () => boolean {
  const [executable, ...first] = [...launcher, options.executable];
  const [program = "", ...args] = unprivileged({ ...options, executable, args: [...first, ...options.args] });
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
    // It inherited the service's nice value, which the kernel applies within its own session.
    if (child.pid !== undefined) raiseSession(child.pid);
    return () => hasEnded;
  } finally {
    closeSync(log);
  }
}

type Command = Pick<GobgpdOptions, "executable" | "args" | "user" | "bindsLowPort">;

/** The command that runs it as this user, with no capability but that of binding a low port. */
export function unprivileged({ executable, args, user, bindsLowPort }: Command): readonly string[] {
  const command = [executable, ...args];
  if (user === null) return withoutCapabilities(command, { binds: bindsLowPort });
  const ids = [`--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups", "--no-new-privs"];
  const capability = bindsLowPort ? ["--inh-caps=+net_bind_service", "--ambient-caps=+net_bind_service"] : [];
  return ["/usr/bin/setpriv", ...ids, ...capability, ...command];
}

/** Resolves when the process has ended. `gracefully`: it closes the sessions, and peers drop the routes at once. */
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

export function signal(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process ended meanwhile.
  }
}
