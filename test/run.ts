/**
 * Runs every kind of test one after the other, shows their output as it comes, and ends with one line of counts. Failures
 * are repeated at the end, and what was skipped with its reason. The tests run without Node.js: starting it fails.
 */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { Glob } from "bun";
import { withoutNode } from "./fixtures/programs.ts";
import { StolenTime } from "./fixtures/stolen-time.ts";
import { bunTest, type Counts, doctest, failedFiles, one, reasons } from "./run-report.ts";

interface Step {
  readonly name: string;
  readonly command: Command;
  readonly environment?: Readonly<Record<string, string>>;
  /** Reads passed, failed and skipped from the step's output; null when the output has no counts. */
  readonly counts: (output: string, ok: boolean) => Counts | null;
  /** For steps that depend on time: a command that repeats the failures; null: too many failed for a coincidence. */
  readonly again?: (output: string, filesMax: number) => Command | null;
}

type Command = readonly string[];

interface Result extends Counts {
  readonly output: string;
}

interface Timed {
  readonly result: Result;
  readonly stolenShare: number;
}

const FUZZ_SECONDS = 10;
/** Of each protocol; `make fuzz` has 10^9. */
const MUTATED_DATAGRAMS = 1_000_000;
/** For libFuzzer: findings and the number of runs, instead of a line for each new path. */
const QUIET = ["-verbosity=0", "-print_final_stats=1"];
/** The share of CPU time that a hypervisor gave to others: above it, the machine may have stood still for seconds. */
const STOLEN_MAX = 0.05;
/** How often, and how many files with failures, are repeated: after such a time, and otherwise. */
const AFTER_STANDSTILL = { tries: 2, filesMax: 8 };
const BESIDE_OTHERS = { tries: 1, filesMax: 4 };
const bun = process.execPath;
const jobs = `-j${availableParallelism()}`;
const failOnReport = { ASAN_OPTIONS: "detect_leaks=1", UBSAN_OPTIONS: "print_stacktrace=1:halt_on_error=1" };
const sanitized = { environment: failOnReport, counts: doctest };
/** Half of the native tests, by their time. */
const HALF = "program*,xdp*,inline reader*,*prefix*";

const machine = withoutNode();
process.on("exit", () => machine.remove());

const bunTests = [bun, "test", "--randomize", "--timeout", "60000"];
const lab = [bun, "test/lab/demo/demo.ts", "--once"];
const scrubLab = [bun, "test/lab/scrub/scrub-demo.ts", "--seconds", "10"];
const soak = [bun, "test/lab/soak.ts", "--minutes", "0.5"];

const truth = [bun, "test/lab/truth/truth.ts", "--floods", "8", "--lengths", "0.2,0.5,1,2.3,5"];

const native = "native unit tests (ASan, UBSan)";
const fuzz = [`-max_total_time=${FUZZ_SECONDS}`, "-max_len=512", ...QUIET];
const recorded = [...new Glob("test/telemetry/recorded/*.flows").scanSync()];

/** Tests that spend their time on the timers of routers and on parked requests: one after the other, beside all others. */
const WAITING = ["test/contract/", "src/bgp/", "test/deploy/nginx.test.ts"];
/** The same for those that wait until a brain or an etcd counts as lost. */
const WAITING_FOR_BRAINS = [
  ...["test/scenario/joined-brains.test.ts", "test/scenario/brains.test.ts"],
  ...["test/cluster/etcd-lease.test.ts", "test/cluster/etcd-orders.test.ts", "test/cluster/etcd-slots.test.ts"],
];
const notWaiting = [...WAITING, ...WAITING_FOR_BRAINS].map(
  (path) => `--path-ignore-patterns=${path.endsWith("/") ? `${path}**` : path}`,
);

/** The steps of one row run at the same time: what computes is none that depends on time. */
const STEPS: readonly (readonly Step[])[] = [
  [
    {
      name: "native tests: build",
      command: ["make", "-C", "addon", jobs, "unit", "programs", "unit-tsan", "fuzz-short"],
      counts: one,
    },
  ],
  [
    {
      name: "Debian 12's kernel: programs, packets of every kind",
      command: [bun, "test/machines/kernels.ts", "--short"],
      counts: one,
    },
    {
      name: "every program, as Debian 13's compiler makes it",
      command: ["build/addon/programs_clang-19"],
      counts: doctest,
    },
    { name: `${native}: first half`, command: ["build/addon/unit", `--test-case=${HALF}`], ...sanitized },
    { name: `${native}: second half`, command: ["build/addon/unit", `--test-case-exclude=${HALF}`], ...sanitized },
    {
      name: "native unit tests (TSan)",
      command: ["make", "-C", "addon", "--no-print-directory", "tsan"],
      counts: doctest,
    },
    {
      name: `packet parser, fuzzed for ${FUZZ_SECONDS} s`,
      command: ["build/addon/fuzz_packet_parser", ...fuzz],
      counts: one,
    },
    {
      name: `flow decoders: ${MUTATED_DATAGRAMS.toLocaleString("en-US")} datagrams with mutations of each protocol`,
      command: ["build/addon/fuzz_flow_mutations", String(MUTATED_DATAGRAMS), ...recorded],
      counts: one,
    },
  ],
  [
    {
      name: "TypeScript tests",
      // Two more than cores: they wait for half of their time.
      command: [...bunTests, `--parallel=${Math.min(4, availableParallelism() + 2)}`, ...notWaiting],
      counts: bunTest,
      again: failedFilesAgain,
    },
    {
      name: "TypeScript tests that wait for others",
      command: [...bunTests, "--parallel=1", ...WAITING],
      counts: bunTest,
      again: failedFilesAgain,
    },
    {
      name: "TypeScript tests that wait for brains",
      command: [...bunTests, "--parallel=1", ...WAITING_FOR_BRAINS],
      counts: bunTest,
      again: failedFilesAgain,
    },
  ],
  [
    { name: "the lab, once", command: lab, counts: one, again: () => lab },
    { name: "soak, short form", command: soak, counts: one, again: () => soak },
  ],
  // What it shows depends on how evenly its flood comes.
  [{ name: "the scrubbing lab, short form", command: scrubLab, counts: one, again: () => scrubLab }],
  [{ name: "the dashboard's truth, short form", command: truth, counts: one, again: () => truth }],
];

let passed = 0;
let passedAgain = 0;
let failed = 0;
const skipped: string[] = [];
const failures: string[] = [];
const repeated: string[] = [];
for (const steps of STEPS) {
  for (const { name } of steps) console.log(`\n== ${name}`);
  const results = await Promise.all(steps.map((step, i) => timed(step, i > 0)));
  for (const [i, step] of steps.entries()) await judge(step, results[i] as Timed);
}
show("skipped", skipped);
show("failed beside other tests, and passed when repeated alone", repeated);
show("failed", failures);
const whenRepeated = passedAgain === 0 ? "" : ` (${passedAgain} of them when repeated)`;
console.log(`\n${passed} passed${whenRepeated}, ${failed} failed, ${skipped.length} skipped`);
process.exit(failed === 0 ? 0 : 1);

/** With the share of CPU time that was stolen meanwhile. The output of one that is silent is shown when it ends. */
async function timed(step: Step, isSilent: boolean): Promise<Timed> {
  const stolen = new StolenTime();
  const began = performance.now();
  const result = await run(step, step.command, isSilent);
  if (isSilent) process.stdout.write(`\n== ${step.name}\n${result.output}`);
  console.log(`== ${Math.round((performance.now() - began) / 1000)} s: ${step.name}`);
  return { result, stolenShare: stolen.share };
}

async function judge(step: Step, { result, stolenShare }: Timed): Promise<void> {
  passed += result.passed;
  skipped.push(...result.skipped);
  if (result.failed === 0) return;
  console.log(`== FAILED: ${step.name}`);
  const report = [step.name, ...reasons(result.output).map((reason) => `  ${reason}`)];
  const repeats = stolenShare > STOLEN_MAX ? AFTER_STANDSTILL : BESIDE_OTHERS;
  if (await passesAgain(step, result.output, repeats)) {
    passed += result.failed;
    passedAgain += result.failed;
    repeated.push(...report);
  } else {
    failed += result.failed;
    failures.push(...report);
  }
}

function failedFilesAgain(output: string, filesMax: number): Command | null {
  const files = failedFiles(output);
  if (files.length === 0 || files.length > filesMax || files.some(hasSeed)) return null;
  return [...bunTests, "--isolate", ...files];
}

/** Another run of a random test has another seed, and may miss what it found. A test without a file counts as random. */
function hasSeed(file: string): boolean {
  return file === "" || readFileSync(file, "utf8").includes("SEED");
}

/** What depends on time may fail beside others on a busy machine, or on one that stood still: it is repeated alone. */
async function passesAgain(step: Step, output: string, repeats: typeof BESIDE_OTHERS): Promise<boolean> {
  const command = step.again?.(output, repeats.filesMax) ?? null;
  for (let tries = 0; command !== null && tries < repeats.tries; tries++) {
    console.log(`\n== again, alone: ${step.name}`);
    if ((await run(step, command)).failed === 0) return true;
  }
  return false;
}

async function run({ environment, counts }: Step, command: Command, isSilent = false): Promise<Result> {
  const env = { ...machine.environment, ...environment };
  const child = Bun.spawn([...command], { env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const output = (await Promise.all([child.stdout, child.stderr].map((stream) => textOf(stream, isSilent)))).join("\n");
  const ok = (await child.exited) === 0;
  const { passed, failed, skipped } = counts(output, ok) ?? { passed: 0, failed: 1, skipped: [] };
  return { passed, failed: ok ? failed : Math.max(1, failed), skipped, output };
}

/** Also shows it as it comes, unless it is silent. */
async function textOf(stream: ReadableStream<Uint8Array>, isSilent: boolean): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    const part = decoder.decode(chunk, { stream: true });
    if (!isSilent) process.stdout.write(part);
    text += part;
  }
  return text;
}

function show(title: string, lines: readonly string[]): void {
  if (lines.length > 0) console.log(`\n${title}:\n${lines.map((line) => `  ${line}`).join("\n")}`);
}
