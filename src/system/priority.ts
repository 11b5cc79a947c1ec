/**
 * Puts this process before other work of the machine: an attack is seen and answered in time also where others want the
 * CPU. Capture workers have a priority of their own, see addon/core/capture/worker_priority.h.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { getPriority, setPriority } from "node:os";

const NICE = -10;
/** Steps behind the event loop: of a CPU that both want, a quarter is left. */
const BEHIND = 5;
const NICE_MAX = 19;

/**
 * The nice value from now on, also of the threads and processes to come. As it was where somebody chose one (`nice`,
 * systemd's Nice=) or where more needs a permission (CAP_SYS_NICE) that this process has not.
 */
export function raisePriority(): number {
  if (getPriority() === 0) {
    for (const thread of readdirSync("/proc/self/task")) if (!raise(Number(thread))) break;
    // Under a service manager; a shell's session is not ours to raise.
    if (sessionOfSelf() === process.pid) raiseSession(process.pid);
  }
  return getPriority();
}

/** Of the thread that calls it: what it does may wait, what the event loop does may not. One that stands further back stays there. */
export function giveWay(): void {
  const nice = Math.min(getPriority(process.pid) + BEHIND, NICE_MAX);
  if (nice > getPriority(0)) setPriority(0, nice);
}

/**
 * Gives the session that process `pid` leads this process's nice value. Where the kernel shares the CPUs between sessions
 * first (autogroup, sched(7)), a nice value counts inside its session only: ten busy sessions leave a service a tenth,
 * whatever its threads are worth. Goes on without where it is not permitted, and where there is nothing to raise.
 */
export function raiseSession(pid: number): void {
  const nice = getPriority();
  if (nice >= 0) return;
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(nice));
  } catch {
    // No such groups, not permitted, or the process has ended: the nice value holds as far as it goes.
  }
}

/** The fourth field after the command's name, which may hold spaces and brackets (proc(5)). */
function sessionOfSelf(): number {
  const stat = readFileSync("/proc/self/stat", "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3]);
}

/** A nice value is a thread's. False without the permission. */
function raise(thread: number): boolean {
  try {
    setPriority(thread, NICE);
    return true;
  } catch (cause) {
    if (errnoOf(cause) === "EACCES" || errnoOf(cause) === "EPERM") return false;
    // A thread that ended meanwhile needs nothing.
    if (errnoOf(cause) === "ESRCH") return true;
    throw cause;
  }
}

/** Bun wraps what the system said. */
function errnoOf(cause: unknown): string | null {
  if (!(cause instanceof Error) || !("info" in cause)) return null;
  const { info } = cause;
  return typeof info === "object" && info !== null && "code" in info ? String(info.code) : null;
}
