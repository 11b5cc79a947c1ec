/**
 * Puts this process before other work of the machine: an attack is seen and answered in time also where others want the
 * CPU. Capture workers have a priority of their own, see addon/core/worker_priority.h.
 */
import { readdirSync } from "node:fs";
import { getPriority, setPriority } from "node:os";

const NICE = -10;

/**
 * The nice value from now on, also of the threads and processes to come. As it was where somebody chose one (`nice`,
 * systemd's Nice=) or where more needs a permission (CAP_SYS_NICE) that this process has not.
 */
export function raisePriority(): number {
  if (getPriority() === 0) {
    for (const thread of readdirSync("/proc/self/task")) if (!raise(Number(thread))) break;
  }
  return getPriority();
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
