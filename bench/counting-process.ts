/** The processes that the benches of the packet path compare: each counts the packets of one interface. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { linesOf } from "../test/fixtures/lines.ts";
import { eventually } from "../test/fixtures/service.ts";
import type { Namespace } from "../test/lab/namespaces.ts";

/** The traffic source uses the first CPU. */
export const COUNTING_CPU = 1;

const NATIVE = join(import.meta.dir, "native_xdp");
const BUILT = join(import.meta.dir, "../build/bench/xdp");
export const ADDON = join(import.meta.dir, "../build/addon/floodwall.node");
/** The same, with an inline counter that drops the packets that it has counted. */
export const DROPPING_ADDON = join(BUILT, "floodwall_drop.node");
/** The same, with an AF_XDP worker that measures its stages; x86 alone. */
export const STAGES_ADDON = join(BUILT, "floodwall_stages.node");
export const BARE_RECEIVER = join(BUILT, "afxdp_drop");
export const XDP_DROP = join(BUILT, "xdp_drop.bpf.o");
export const XDP_TX = join(BUILT, "xdp_tx.bpf.o");
export const XDP_REDIRECT = join(BUILT, "xdp_redirect.bpf.o");
export const XDP_HASH_COUNT = join(BUILT, "xdp_hash_count.bpf.o");
export const XDP_HASH_BLOCK = join(BUILT, "xdp_hash_block.bpf.o");
export const XDP_LPM_BLOCK = join(BUILT, "xdp_lpm_block.bpf.o");
export const SET_TIMES = join(BUILT, "set_times");
export const SOURCE_MEMORY = join(BUILT, "source_memory");
export const PACKET_TIMES = join(BUILT, "packet_times");
const WORKER = join(import.meta.dir, "capture-worker.ts");

/** The output of a process at its end. */
export interface Counts {
  readonly receivedPackets: number;
  readonly countedPackets: number;
  /** Packets that the kernel reports as lost before the process. */
  readonly droppedPackets: number;
}

export function buildRivals(): void {
  const build = Bun.spawnSync(["make", "-C", NATIVE, "all"], { stdout: "pipe", stderr: "pipe" });
  if (!build.success) throw new Error(`the bench does not build:\n${build.stderr.toString()}`);
}

/** The start values of a worker of the addon. */
export interface WorkerOptions {
  readonly addon: string;
  readonly kind: "af_xdp" | "xdp_inline";
  readonly device: string;
  readonly network: string;
  /** CPUs of the queues, in turn; default: those of the process. */
  readonly cpus?: readonly number[];
  /** Default: that of the service. */
  readonly maxHosts?: number;
}

export function workerCommand(options: WorkerOptions): string[] {
  return [process.execPath, WORKER, JSON.stringify(options)];
}

export class CountingProcess {
  readonly #child: Bun.Subprocess<"pipe", "pipe", "inherit">;
  readonly #listening: Promise<void>;
  /** Prints "ready", then perhaps the number of tracked hosts, and its counts at the end. */
  #lastLine = "";

  private constructor(child: Bun.Subprocess<"pipe", "pipe", "inherit">) {
    this.#child = child;
    this.#listening = this.#listen(child.stdout);
  }

  /** Resolves when it counts. It ends at the latest with the namespace. */
  static async start(
    namespace: Namespace,
    command: readonly string[],
    cpus: readonly number[] = [COUNTING_CPU],
  ): Promise<CountingProcess> {
    const pinned = namespace.command(["taskset", "-c", cpus.join(","), ...command]);
    const counting = new CountingProcess(Bun.spawn(pinned, { stdin: "pipe", stdout: "pipe", stderr: "inherit" }));
    await eventually(() => counting.#lastLine !== "", `${command.join(" ")}: not ready`, 20_000);
    return counting;
  }

  /** As printed by the worker at its last tick. */
  get trackedHosts(): number {
    return Number(/^tracking (\d+)$/.exec(this.#lastLine)?.[1] ?? 0);
  }

  /** CPU time of its capture workers so far. */
  workerNs(): number {
    const tasks = `/proc/${this.#child.pid}/task`;
    const workers = readdirSync(tasks).filter((id) => /^rx\d+-/.test(readFileSync(`${tasks}/${id}/comm`, "utf8")));
    return workers.reduce((sum, id) => sum + Number(readFileSync(`${tasks}/${id}/schedstat`, "utf8").split(" ")[0]), 0);
  }

  /** Called when all packets are sent: returns the worker's counts. */
  async end(arrived: number): Promise<Counts> {
    await this.#child.stdin.write(String(arrived));
    await this.#child.stdin.end();
    await this.#listening;
    if ((await this.#child.exited) !== 0) throw new Error("the counting process failed");
    return JSON.parse(this.#lastLine) as Counts;
  }

  async #listen(output: ReadableStream<Uint8Array>): Promise<void> {
    for await (const line of linesOf(output)) this.#lastLine = line;
  }
}
