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
 * For any POSIX shell. $1: until when gobgpd may run, as far as is known; $2: when it was started, so that no later process
 * of its id is taken for it, and empty where it runs now; $3: its process id. Its working directory is also the guard's. A
 * file that is missing or not readable does not change what is known; with nothing known gobgpd runs on. Exported for tests.
 */
export const script = (lookMs: number) => `
known=$1 passed=0
started=$2 pid=$3
begin() { read -r stat <"/proc/$pid/stat" && set -- \${stat##*) } && begin=\${20}; }
begun() { begin && [ "$begin" = "$started" ]; }
[ -n "$started" ] || { begin && started=$begin; }
echo ${NAME} >/proc/$$/comm
isIt() { [ "/proc/$pid/cwd" -ef . ] && begun; }
runs() { read -r name <"/proc/$pid/comm" && [ "$name" = gobgpd ] && isIt; }
until runs; do isIt && /bin/sleep 0.05 || exit; done
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

/**
 * Becomes the command $3 and so on, with a guard from its first moment, for a service that is killed then. The guard gets
 * $1, its script, and $2, until when gobgpd may run. It has executed its program when the command begins.
 */
const LAUNCHER = `
guard=$1 until=$2
shift 2
id=$(/bin/sh -c "$guard" ${NAME} "$until" "" "$$" </dev/null >/dev/null 2>&1 & echo $!)
looks=0
while [ "$looks" -lt 200 ] && read -r name <"/proc/$id/comm" && [ "$name" != ${NAME} ]; do
  looks=$((looks + 1))
  /bin/sleep 0.01
done
exec "$@"
`;

interface SpeakerGuardOptions {
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

interface GuardedSpeaker {
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
  /** Seconds of the boot clock; null: it could not be written. */
  #until: number | null = null;
  /** That was seen last; the table of all processes is read only if it is gone. */
  #guard: Guard | null = null;

  constructor(options: SpeakerGuardOptions) {
    this.#options = options;
  }

  /** The beginning of a command line that starts gobgpd, with a guard beside it. Call this right after extend(). */
  launcher(): readonly string[] {
    return ["/bin/sh", "-c", LAUNCHER, "sh", this.#script(), String(this.#until ?? "")];
  }

  #script(): string {
    return script(this.#options.guardLookMs ?? LOOK_MS);
  }

  /** Writes until when gobgpd may run. Call this when routes change, and often enough for the lease. */
  extend(): void {
    const { directory, clock, routesUntilMs, leaseMs, warn } = this.#options;
    const remainMs = Math.max(leaseMs, (routesUntilMs() ?? 0) - clock.wallMs());
    try {
      const until = Math.ceil(bootSeconds() + remainMs / 1000);
      directory.writeDeadline(until);
      this.#until = until;
      this.#isWarned = false;
    } catch (cause) {
      if (!this.#isWarned)
        warn({ cause }, "gobgpd has no guard: if the service dies, its routes stay until the next start");
      this.#isWarned = true;
      this.#until = null;
    }
  }

  /** Starts a guard if gobgpd has none. If the time cannot be written, the guard is ended: it would end live routes. */
  watch(speaker: GuardedSpeaker): void {
    if (this.#guard?.watches(speaker) !== true) this.#guard = findGuard(speaker);
    this.extend();
    if (this.#until !== null) this.#guard ??= start(speaker, this.#script(), this.#until);
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
function start({ pid, run, user, bindsLowPort }: GuardedSpeaker, text: string, until: number): Guard | null {
  const started = startTicks(pid);
  if (started === null) return null;
  const args = ["-c", text, NAME, String(until), started, String(pid)];
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
    // The guards of earlier versions know no start, or no time from the beginning.
    const isIts = args.slice(-4, -1).includes(NAME) && args.at(-1) === String(speaker.pid);
    return isIts && isSameDirectory(`/proc/${pid}/cwd`, speaker.run);
  } catch {
    // It ended, or is another user's.
    return false;
  }
}
