/**
 * Ends a managed gobgpd, and with it the routes, once the last ban is over and no service has come back: a small process
 * beside gobgpd that survives the service. The service writes until when gobgpd may run without another write; the
 * guard reads only that. The time is that of the boot clock, which cannot be set.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { bootSeconds, type Clock } from "../../system/clock.ts";
import { isSameDirectory, signal, startTicks, type UnixUser, unprivileged } from "./gobgpd-process.ts";
import { DEADLINE_FROM_RUN, type SpeakerDirectory } from "./speaker-directory.ts";

/** As in /proc/PID/comm, at most 15 characters: so that the guard is found and recognized. */
const NAME = "floodwall-guard";
const LOOK_MS = 2_000;
/**
 * The number of looks in a row at which the time must have passed: after the machine stood still, a live service, which
 * writes every ten seconds, must be able to write first.
 */
const LOOKS = 7;
/** Time to close the sessions before gobgpd is killed. */
const GRACE_SECONDS = 5;

/**
 * For any POSIX shell. $1: when gobgpd was started, so that no later process of its id is taken for it; $2: its process
 * id; its working directory is also the guard's. A file that is missing or not readable does not change what is known, and
 * with nothing known gobgpd runs on. Exported for tests.
 */
export const script = (lookMs: number) => `
echo ${NAME} >/proc/$$/comm
known= passed=0
started=$1 pid=$2
begun() { read -r stat <"/proc/$pid/stat" && set -- \${stat##*) } && [ "\${20}" = "$started" ]; }
runs() { read -r name <"/proc/$pid/comm" && [ "$name" = gobgpd ] && [ "/proc/$pid/cwd" -ef . ] && begun; }
while runs; do
  read -r until <${DEADLINE_FROM_RUN} && case $until in '' | *[!0-9]*) ;; *) known=$until ;; esac
  read -r now rest </proc/uptime
  if [ -n "$known" ] && [ "\${now%.*}" -ge "$known" ]; then passed=$((passed + 1)); else passed=0; fi
  if [ "$passed" -ge ${LOOKS} ]; then
    kill -TERM "$pid"
    /bin/sleep ${GRACE_SECONDS}
    runs && kill -KILL "$pid"
    exit
  fi
  /bin/sleep ${lookMs / 1000}
done
`;

export interface SpeakerGuardOptions {
  readonly directory: SpeakerDirectory;
  readonly clock: Clock;
  /** When the last route expires, wall clock; null: there is none. */
  readonly routesUntilMs: () => number | null;
  /** How long gobgpd may run without routes and without a service, from the last sign of that. */
  readonly leaseMs: number;
  /** For tests: a guard that is quicker to end gobgpd. */
  readonly guardLookMs?: number;
  readonly warn: (fields: object, message: string) => void;
}

export interface GuardedSpeaker {
  readonly pid: number;
  /** Canonical path of its working directory. */
  readonly run: string;
  readonly user: UnixUser | null;
  /** Has the capability to bind a low port, without which the guard could not see it. */
  readonly bindsLowPort: boolean;
}

export class SpeakerGuard {
  readonly #options: SpeakerGuardOptions;
  #isWarned = false;
  /** That was seen last; the table of all processes is read only if it is gone. */
  #guard: Guard | null = null;

  constructor(options: SpeakerGuardOptions) {
    this.#options = options;
  }

  /**
   * Writes until when gobgpd may run. Call this when routes change, and often enough for the lease. Returns whether it
   * is written.
   */
  extend(): boolean {
    const { directory, clock, routesUntilMs, leaseMs, warn } = this.#options;
    const remainMs = Math.max(leaseMs, (routesUntilMs() ?? 0) - clock.wallMs());
    try {
      directory.writeDeadline(Math.ceil(bootSeconds() + remainMs / 1000));
      this.#isWarned = false;
      return true;
    } catch (cause) {
      if (!this.#isWarned)
        warn({ cause }, "gobgpd has no guard: if the service dies, its routes stay until the next start");
      this.#isWarned = true;
      return false;
    }
  }

  /** Starts a guard if gobgpd has none. If the time cannot be written, the guard is ended: it would end live routes. */
  watch(speaker: GuardedSpeaker): void {
    if (this.#guard?.watches(speaker) !== true) this.#guard = findGuard(speaker);
    if (this.extend()) this.#guard ??= start(speaker, this.#options.guardLookMs ?? LOOK_MS);
    else if (this.#guard !== null) signal(this.#guard.pid, "SIGKILL");
  }
}

interface Guard {
  readonly pid: number;
  watches(speaker: GuardedSpeaker): boolean;
}

/**
 * null: it could not be started, and the next watch() tries again. A child is known by its life alone: until it has
 * executed its program, its command line reads empty.
 */
function start({ pid, run, user, bindsLowPort }: GuardedSpeaker, lookMs: number): Guard | null {
  const started = startTicks(pid);
  if (started === null) return null;
  const args = ["-c", script(lookMs), NAME, started, String(pid)];
  const [program = "", ...rest] = unprivileged({ executable: "/bin/sh", args, user, bindsLowPort });
  const child = spawn(program, rest, { cwd: run, detached: true, stdio: "ignore", env: {} });
  let lives = true;
  const end = () => {
    lives = false;
  };
  child.on("exit", end);
  child.on("error", end);
  child.unref();
  return child.pid === undefined ? null : { pid: child.pid, watches: (speaker) => lives && speaker.pid === pid };
}

/** A guard that an earlier process of the service started. */
function findGuard(speaker: GuardedSpeaker): Guard | null {
  for (const entry of readdirSync("/proc")) {
    const pid = Number(entry);
    if (Number.isInteger(pid) && isGuard(pid, speaker)) return { pid, watches: (other) => isGuard(pid, other) };
  }
  return null;
}

function isGuard(pid: number, speaker: GuardedSpeaker): boolean {
  try {
    const args = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
    // The guard of an earlier version knows no start.
    const isGuardOf = [args.at(-2), args.at(-3)].includes(NAME);
    const isIts = isGuardOf && args.at(-1) === String(speaker.pid);
    return isIts && isSameDirectory(`/proc/${pid}/cwd`, speaker.run);
  } catch {
    // It ended, or is another user's.
    return false;
  }
}
