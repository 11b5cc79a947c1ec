/**
 * Raises the scheduling priority of this process, so that attacks are detected in time on a busy machine. Capture
 * workers have a priority of their own, see addon/core/capture/worker_priority.h.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { getPriority, setPriority } from "node:os";

const NICE = -10;
/** Nice steps below the event loop: about a quarter of a contended CPU. */
const NICE_BELOW_LOOP = 5;
const NICE_MAX = 19;

/**
 * Raises the priority and returns the new nice value, which later threads and processes inherit. Does not change a
 * value that was set on purpose (`nice`, systemd's Nice=), or if the permission (CAP_SYS_NICE) is missing.
 */
export function raisePriority(): number {
  if (getPriority() === 0) {
    for (const thread of readdirSync("/proc/self/task")) if (!raise(Number(thread))) break;
    // Only under a service manager: a shell's session is not changed.
    if (sessionOfSelf() === process.pid) raiseSession(process.pid);
  }
  return getPriority();
}

/** Lowers the priority of the calling thread below the event loop's. A lower priority stays. */
export function lowerPriority(): void {
  const nice = Math.min(getPriority(process.pid) + NICE_BELOW_LOOP, NICE_MAX);
  if (nice > getPriority(0)) setPriority(0, nice);
}

/**
 * Gives the session of process `pid`, its leader, this process's nice value. If the kernel shares CPUs between sessions
 * first (autogroup, sched(7)), a nice value counts only within its session: beside ten busy sessions the service would
 * get a tenth, whatever its nice value. No effect without permission or without autogroups.
 */
export function raiseSession(pid: number): void {
  const nice = getPriority();
  if (nice >= 0) return;
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(nice));
  } catch {
    // No autogroups, no permission, or the process has ended: only the plain nice value applies.
  }
}

/** The fourth field after the command's name, which may contain spaces and brackets (proc(5)). */
function sessionOfSelf(): number {
  const stat = readFileSync("/proc/self/stat", "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3]);
}

/** The nice value belongs to a thread. False without the permission. */
function raise(thread: number): boolean {
  try {
    setPriority(thread, NICE);
    return true;
  } catch (cause) {
    if (errnoOf(cause) === "EACCES" || errnoOf(cause) === "EPERM") return false;
    // The thread ended meanwhile.
    if (errnoOf(cause) === "ESRCH") return true;
    throw cause;
  }
}

/** Bun wraps the system error. */
function errnoOf(cause: unknown): string | null {
  if (!(cause instanceof Error) || !("info" in cause)) return null;
  const { info } = cause;
  return typeof info === "object" && info !== null && "code" in info ? String(info.code) : null;
}
