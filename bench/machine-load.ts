/**
 * Other work of a machine while a bench ran: CPU time that its hypervisor gave to other machines, and CPU time of
 * processes that are not the bench's own.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { StolenTime } from "../test/fixtures/stolen-time.ts";

export interface Load {
  /** Share of the wanted CPU time that the hypervisor gave to other machines: 0 to 1. */
  readonly stolen: number;
  /** Share of the CPU time of all CPUs that other processes used: 0 to 1. */
  readonly others: number;
}

/** USER_HZ, proc(5): the unit of the times in /proc. */
const TICKS_PER_SECOND = 100;
/** user, nice, system, irq, softirq. A process that is interrupted is charged for the interrupt. */
const BUSY_FIELDS = [0, 1, 2, 5, 6];
/** In /proc/PID/stat after the name: flags, utime and stime. */
const FLAGS_FIELD = 6;
const TIME_FIELDS = [11, 12];
/** PF_KTHREAD: kernel threads work for all senders of packets, so that their time is not counted for others. */
const IS_KERNEL_THREAD = 0x0020_0000;

export class MachineLoad {
  readonly #group: BenchGroup;
  readonly #stolen = new StolenTime();
  readonly #startedMs = performance.now();
  readonly #otherSeconds: number;

  constructor(group: BenchGroup) {
    this.#group = group;
    this.#otherSeconds = this.#readOthers();
  }

  /** Since this object was made. */
  read(): Load {
    const seconds = ((performance.now() - this.#startedMs) / 1000) * cpus().length;
    const others = Math.max(0, this.#readOthers() - this.#otherSeconds) / Math.max(0.01, seconds);
    return { stolen: this.#stolen.share, others };
  }

  /** The busy time of all CPUs without that of the bench and of the kernel. */
  #readOthers(): number {
    const cpu = (readFileSync("/proc/stat", "latin1").split("\n")[0] ?? "").trim().split(/\s+/).slice(1).map(Number);
    return (sumOf(cpu, BUSY_FIELDS) - kernelTicks()) / TICKS_PER_SECOND - this.#group.seconds();
  }
}

/**
 * The control group of this process and all that it starts: it keeps the time of processes that have ended, also of
 * those that no parent waited for, as a browser's often are.
 */
export class BenchGroup {
  readonly #mount = unifiedHierarchy();
  readonly #path = join(this.#mount, `floodwall-bench-${process.pid}`);

  constructor() {
    mkdirSync(this.#path);
    writeFileSync(join(this.#path, "cgroup.procs"), String(process.pid));
  }

  /** CPU time. */
  seconds(): number {
    const [, microseconds = ""] = /^usage_usec (\d+)$/m.exec(readFileSync(join(this.#path, "cpu.stat"), "utf8")) ?? [];
    return Number(microseconds) / 1e6;
  }

  /** Its running parts end with this process. */
  close(): void {
    for (const pid of readFileSync(join(this.#path, "cgroup.procs"), "utf8").trim().split("\n")) {
      try {
        writeFileSync(join(this.#mount, "cgroup.procs"), pid);
      } catch {
        // It has ended.
      }
    }
    rmdirSync(this.#path);
  }
}

function unifiedHierarchy(): string {
  const mounted = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" "))
    .find(([, , type]) => type === "cgroup2");
  if (mounted?.[1] !== undefined) return mounted[1];
  const path = mkdtempSync(join(tmpdir(), "floodwall-cgroup-"));
  const { exitCode, stderr } = Bun.spawnSync(["mount", "-t", "cgroup2", "none", path]);
  if (exitCode !== 0) throw new Error(`cannot mount a cgroup2 file system: ${stderr.toString().trim()}; run as root`);
  return path;
}

function kernelTicks(): number {
  let ticks = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const fields = statFields(pid);
    if (fields !== null && ((fields[FLAGS_FIELD] ?? 0) & IS_KERNEL_THREAD) !== 0) ticks += sumOf(fields, TIME_FIELDS);
  }
  return ticks;
}

/** Null: it has ended. The name of a process may contain spaces and parentheses. */
function statFields(pid: string): number[] | null {
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
