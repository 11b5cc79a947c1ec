/**
 * Runs one test file in a process of its own, with bounds on what a mutant may take: CPU time, memory, and time at all.
 * Where the system allows it the process sees no others and has a loopback interface alone: a mutant may signal the wrong
 * process, or send to the wrong host.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Verdict = "passed" | "failed" | "timed out";

export interface TestRun {
  readonly verdict: Verdict;
  /** The time that its processes computed: it grows less than the time that passes when the machine has other work. */
  readonly cpuSeconds: number;
}

export interface TestRequest {
  /** Of the tree in which it runs. */
  readonly directory: string;
  readonly test: string;
  /** What the test takes without a mutant, when that is known. */
  readonly usualCpuSeconds: number | null;
}

/** A test that waits for what does not come fails after this time, and counts as timed out. */
const TEST_TIMEOUT_MS = 20_000;
const CPU_SECONDS_MIN = 10;
const CPU_SECONDS_UNKNOWN = 120;
const CPU_FACTOR = 5;
const WALL_MS_MAX = 600_000;
const MEMORY_KIB_MAX = 4_000_000;
const OUTPUT_CHARACTERS = 20_000;
/** Generated tests draw the same in each run, or a mutant would be killed by chance. */
const SEEDS = { SEED: "1", FLOODWALL_SEED: "1" };
/** Lengths of simulations, which are for one that is run by itself. */
const { HOURS: _hours, STEPS: _steps, ...ENVIRONMENT } = process.env;
const LIMITED = 'ulimit -d "$1"; ulimit -t "$2"; shift 2; "$@"; exit $?';
const UNSHARED = ["unshare", "--pid", "--net", "--fork", "--kill-child", "--mount-proc"];
const ALONE = [...UNSHARED, "sh", "-c", 'ip link set lo up && "$@"; exit $?', "sh"];

export class TestProcesses {
  readonly #prefix = Bun.spawnSync([...ALONE, "true"]).success ? ALONE : [];
  readonly #running = new Set<Bun.Subprocess>();
  readonly #temporary = mkdtempSync(join(tmpdir(), "mutants-"));
  #isStopped = false;

  async run({ directory, test, usualCpuSeconds }: TestRequest): Promise<TestRun> {
    if (this.#isStopped) throw new Error("stopped");
    const limit = usualCpuSeconds === null ? CPU_SECONDS_UNKNOWN : CPU_SECONDS_MIN + CPU_FACTOR * usualCpuSeconds;
    const limited = ["sh", "-c", LIMITED, "sh", String(MEMORY_KIB_MAX), String(Math.ceil(limit))];
    const options = ["--bail", "--seed", "1", "--timeout", String(TEST_TIMEOUT_MS)];
    const child = Bun.spawn([...this.#prefix, ...limited, process.execPath, "test", ...options, `./${test}`], {
      cwd: directory,
      env: { ...ENVIRONMENT, ...SEEDS, TMPDIR: this.#temporary },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      // A process group of its own, so that all of it can be ended, and a Ctrl-C does not look like a failed test.
      detached: true,
    });
    this.#running.add(child);
    const timer = setTimeout(() => endGroup(child), WALL_MS_MAX);
    let output = "";
    const collect = async (stream: ReadableStream<Uint8Array>) => {
      const decoder = new TextDecoder();
      for await (const chunk of stream) {
        output = (output + decoder.decode(chunk, { stream: true })).slice(-OUTPUT_CHARACTERS);
      }
    };
    const reading = Promise.all([collect(child.stdout), collect(child.stderr)]);
    const code = await child.exited;
    clearTimeout(timer);
    endGroup(child);
    await Promise.race([reading, Bun.sleep(500)]);
    this.#running.delete(child);
    if (this.#isStopped) throw new Error("stopped");
    return { verdict: verdictOf(code, output), cpuSeconds: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6 };
  }

  /** Ends what runs; nothing can be run afterwards. */
  stop(): void {
    this.#isStopped = true;
    for (const child of this.#running) endGroup(child);
    rmSync(this.#temporary, { recursive: true, force: true });
  }
}

/** The CPU limit's signal ends a test with 137, or without a shell's code. */
export function verdictOf(code: number, output: string): Verdict {
  if (code === 0) return "passed";
  return code === 137 || /this test timed out after \d+ms/.test(output) ? "timed out" : "failed";
}

function endGroup({ pid }: Bun.Subprocess): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // All of it has ended.
  }
}
