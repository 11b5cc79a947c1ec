/**
 * What else a machine did while a bench ran: CPU time that its hypervisor gave to other machines, and CPU time of
 * processes that are not the bench's own.
 */
import { readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { StolenTime } from "../test/fixtures/stolen-time.ts";

export interface Load {
  /** Of the CPU time that was wanted, the share that the hypervisor gave to other machines: 0 to 1. */
  readonly stolen: number;
  /** Of the CPU time of all CPUs, the share that other processes used: 0 to 1. */
  readonly others: number;
}

/** USER_HZ, proc(5): the unit of all times here. */
const TICKS_PER_SECOND = 100;
/** user, nice, system, irq, softirq. A process that is interrupted is charged for the interrupt. */
const BUSY_FIELDS = [0, 1, 2, 5, 6];
/** In /proc/PID/stat after the name: ppid, flags, and utime, stime, cutime, cstime. */
const PARENT_FIELD = 1;
const FLAGS_FIELD = 6;
const TIME_FIELDS = [11, 12, 13, 14];
/** PF_KTHREAD: kernel threads work for whoever sends packets, so that their time is not others'. */
const IS_KERNEL_THREAD = 0x0020_0000;

export class MachineLoad {
  readonly #stolen = new StolenTime();
  readonly #startedMs = performance.now();
  readonly #otherTicks = otherTicks();

  /** Since this object was made. */
  read(): Load {
    const ticks = ((performance.now() - this.#startedMs) / 1000) * TICKS_PER_SECOND * cpus().length;
    const others = Math.max(0, otherTicks() - this.#otherTicks) / Math.max(1, ticks);
    return { stolen: this.#stolen.share, others };
  }
}

/** The busy time of all CPUs without that of this process, its descendants (also those that have ended), and the kernel. */
function otherTicks(): number {
  const cpu = (readFileSync("/proc/stat", "latin1").split("\n")[0] ?? "").trim().split(/\s+/).slice(1).map(Number);
  return sumOf(cpu, BUSY_FIELDS) - ownTicks();
}

function ownTicks(): number {
  const parents = new Map<number, number>();
  const ticks = new Map<number, number>();
  for (const pid of readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)) {
    const fields = statFields(pid);
    if (fields === null) continue;
    const isKernelThread = ((fields[FLAGS_FIELD] ?? 0) & IS_KERNEL_THREAD) !== 0;
    parents.set(pid, isKernelThread ? process.pid : (fields[PARENT_FIELD] ?? 0));
    ticks.set(pid, sumOf(fields, TIME_FIELDS));
  }
  const isOwn = (pid: number): boolean => {
    if (pid === process.pid) return true;
    const parent = parents.get(pid) ?? 0;
    return parent !== 0 && isOwn(parent);
  };
  return [...ticks].reduce((sum, [pid, own]) => (isOwn(pid) ? sum + own : sum), 0);
}

/** Null: it has ended. The name of a process may contain spaces and parentheses. */
function statFields(pid: number): number[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return text
      .slice(text.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
  } catch {
    return null;
  }
}

function sumOf(values: readonly number[], fields: readonly number[]): number {
  return fields.reduce((sum, field) => sum + (values[field] ?? 0), 0);
}
