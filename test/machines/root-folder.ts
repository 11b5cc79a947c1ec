/**
 * The root folder of a Debian system under build/machines, and commands inside it. Each runs in mount and PID namespaces
 * of its own, so that its mounts and processes end with it, however it ends. The network is the machine's own.
 */
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Architecture, isNative, NATIVE } from "../../deploy/architecture.ts";
import { ROOT } from "../source-tree.ts";
import { admit, emulated } from "./emulation.ts";

export const MACHINES = join(ROOT, "build/machines");
const FOLDERS = join(MACHINES, "roots");
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * The root must be a mount point, else `ip netns exec` cannot mount the namespace's /sys. What runs as process 1 has to
 * wait for every orphan: a shell does.
 */
const ENTER = `
  root=$1 bpf=$2; shift 2
  mount --bind "$root" "$root"; cd "$root"
  mount -t proc proc proc; mount --rbind /dev dev; mount --rbind /sys sys
  [ "$bpf" = none ] || mount -t bpf bpf sys/fs/bpf
  mount -t tmpfs -o mode=755 tmpfs run
  exec chroot "$root" sh -c '"$@"; exit $?' sh "$@"`;

/** Why no root folder can be had here, or null. */
export const rootFolderUnavailable: string | null =
  process.getuid?.() === 0 ? null : "needs root for mount namespaces and chroot";

export interface CommandOptions {
  /** On this machine: both kinds of output are appended. */
  readonly log: string;
  readonly deadlineMs: number;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Default: this machine's. Programs of another are emulated. */
  readonly architecture?: Architecture;
}

/** Returns the exit code; null when a signal ended it, as at its deadline. It does not outlive this process. */
export async function runLogged(
  command: readonly string[],
  { environment = process.env, log, deadlineMs, architecture = NATIVE }: CommandOptions,
): Promise<number | null> {
  const output = openSync(log, "a");
  try {
    const options = {
      ...{ env: { ...environment }, stdout: output, stderr: output, timeout: deadlineMs },
      ...{ killSignal: "SIGKILL" as const },
    };
    const bound = ["setpriv", "--pdeathsig", "KILL"];
    if (isNative(architecture)) {
      const child = Bun.spawn([...bound, ...command], { ...options, stdin: "ignore" });
      await child.exited;
      return child.exitCode;
    }
    const child = Bun.spawn([...bound, ...emulated(architecture, command)], { ...options, stdin: "pipe" });
    await admit(child);
    await child.exited;
    return child.exitCode;
  } finally {
    closeSync(output);
  }
}

export class RootFolder {
  readonly path: string;

  readonly #architecture: Architecture;

  private constructor(path: string, architecture: Architecture) {
    this.path = path;
    this.#architecture = architecture;
  }

  /** An empty one. Those of earlier processes that were killed are removed first. */
  static make(name: string, architecture = NATIVE): RootFolder {
    if (rootFolderUnavailable !== null) throw new Error(rootFolderUnavailable);
    mkdirSync(FOLDERS, { recursive: true });
    for (const left of readdirSync(FOLDERS)) if (!isOfLiveProcess(left)) remove(join(FOLDERS, left));
    for (let number = 0; ; number++) {
      const path = join(FOLDERS, `${name}-${process.pid}-${number}`);
      if (mkdirSync(path, { recursive: true }) !== undefined) return new RootFolder(path, architecture);
    }
  }

  /** In `directory` inside the system. Returns the exit code; null when it was killed at its deadline. */
  run(command: readonly string[], { directory = "/", ...options }: CommandOptions & { directory?: string }) {
    const inside = ["sh", "-c", 'cd "$0" && exec "$@"', directory, ...command];
    const namespaces = ["unshare", "--mount", "--propagation", "private", "--pid", "--kill-child"];
    const own = { PATH, HOME: "/root", LANG: "C.UTF-8", TERM: "dumb" };
    const environment = { ...networkEnvironment(), ...own, ...options.environment };
    const architecture = this.#architecture;
    // It can be mounted only outside of a user namespace.
    const bpf = isNative(architecture) ? "bpf" : "none";
    const enter = [...namespaces, "sh", "-ec", ENTER, "sh", this.path, bpf, ...inside];
    return runLogged(enter, { ...options, environment, architecture });
  }

  /** A second time does nothing. */
  remove(): void {
    remove(this.path);
  }
}

function remove(path: string): void {
  // What is mounted there outside of a command's namespaces is not ours, and rm must not reach it.
  const mounts = readFileSync("/proc/self/mounts", "utf8");
  if (new RegExp(` ${RegExp.escape(path)}[/ ]`).test(mounts))
    throw new Error(`unmount what is mounted on ${path} first`);
  rmSync(path, { recursive: true, force: true });
}

/** By the process's id in a folder's name. */
function isOfLiveProcess(folder: string): boolean {
  const id = Number(/-(\d+)-\d+$/.exec(folder)?.[1]);
  try {
    return process.kill(id, 0);
  } catch {
    return false;
  }
}

/** How this machine reaches its registries and mirrors: a system on it reaches them the same way. */
function networkEnvironment(): Record<string, string | undefined> {
  const kept = /^(https?|ftp|all|no)_proxy$|^npm_config_registry$/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => kept.test(name)));
}
