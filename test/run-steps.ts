/**
 * What `make test` runs: stages one after the other. The steps of a stage run at the same time, but for those that come
 * after another one. What computes has a lower priority than what depends on time.
 */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Glob } from "bun";
import type { Repeat } from "./run-repeats.ts";
import { bunTest, type Counts, doctest, failedTests, isRandom, one } from "./run-report.ts";

export interface Step {
  readonly name: string;
  readonly command: Command;
  readonly environment?: Readonly<Record<string, string>>;
  /** Reads passed, failed and skipped from the step's output; null when the output has no counts. */
  readonly counts: (output: string, ok: boolean) => Counts | null;
  /** For steps that depend on time: how failures are repeated; none: too many failed for a coincidence. */
  readonly again?: (output: string, filesMax: number) => readonly Repeat[];
  /** Begins when the step of this name, which stands before it, has ended. */
  readonly after?: string;
  /** Its output is shown as it comes; that of all others when they end. */
  readonly isShown?: true;
}

export type Command = readonly string[];

const FUZZED_PACKETS = 400_000;
/** Of each protocol; `make fuzz` has 10^9. */
const MUTATED_DATAGRAMS = 1_000_000;
/** For libFuzzer: findings and the number of runs, instead of a line for each new path. */
const QUIET = ["-verbosity=0", "-print_final_stats=1"];
const bun = process.execPath;
const jobs = `-j${availableParallelism()}`;

const bunTests = [bun, "test", "--randomize", "--timeout", "60000"];
/** What starts Floodwall starts this executable of it. */
const PROGRAM = "build/test/floodwall";
const environment = { TEST_PROGRAM: join(process.cwd(), PROGRAM) };
const lab = [bun, "test/lab/demo/demo.ts", "--once"];
const scrubLab = [bun, "test/lab/scrub/scrub-demo.ts", "--seconds", "10"];
const soak = [bun, "test/lab/soak.ts", "--minutes", "0.5"];
const kernel = [bun, "test/machines/kernels.ts", "--short"];
const truth = [bun, "test/lab/truth/truth.ts", "--floods", "8", "--lengths", "0.2,0.5,1,2.3,5"];

const fuzz = [`-runs=${FUZZED_PACKETS}`, "-max_len=512", ...QUIET];
const recorded = [...new Glob("test/telemetry/recorded/*.flows").scanSync()];

/** Tests that spend their time on the timers of routers and on parked requests: one after the other, beside all others. */
const WAITING = ["test/contract/", "src/bgp/", "test/deploy/nginx.test.ts"];
/** The same for those that wait until a brain, an etcd, a node or a disk counts as lost, or for other programs. */
const WAITING_FOR_LOSSES = [
  ...["test/scenario/joined-brains.test.ts", "test/scenario/brains.test.ts", "test/cluster/services.test.ts"],
  ...["test/cluster/etcd-lease.test.ts", "test/cluster/etcd-orders.test.ts", "test/cluster/etcd-slots.test.ts"],
  ...["test/cluster/etcd-access.test.ts", "test/scenario/slow-disk.test.ts", "test/scenario/bgp.test.ts"],
  ...["test/scenario/scrub-faults.test.ts", "test/scenario/scrub-agent.test.ts", "test/scenario/scrub-here.test.ts"],
  ...["test/scenario/outcomes.test.ts", "test/adversary/dead-service.test.ts", "test/deploy/package.test.ts"],
  ...["src/dataplane/filter-attachment.test.ts", "src/dataplane/source-faults.test.ts"],
];
// The first of them is that of bunfig.toml, which these take the place of.
const notWaiting = ["build/", ...WAITING, ...WAITING_FOR_LOSSES].map(
  (path) => `--path-ignore-patterns=${path.endsWith("/") ? `${path}**` : path}`,
);

const rates = "make -C addon --no-print-directory ../build/addon/misbehaving_rates";
const PROGRAMS_BUILD: Step = {
  name: "programs of the tests: build",
  command: ["sh", "-c", `${rates} & "$0" test/compile-program.ts ${PROGRAM} && wait $!`, bun],
  counts: one,
};

const NATIVE_BUILD: Step = {
  name: "native tests: build",
  command: lowPriority(
    "make",
    "-C",
    "addon",
    "--no-print-directory",
    jobs,
    "unit",
    "programs",
    "unit-tsan",
    "fuzz-short",
  ),
  counts: one,
  after: PROGRAMS_BUILD.name,
};

/** Nearly as long as all of the TypeScript tests, beside which it runs. */
const NATIVE_UNIT: Step = {
  name: "native unit tests (ASan, UBSan)",
  command: lowPriority("build/addon/unit"),
  environment: { ASAN_OPTIONS: "detect_leaks=1", UBSAN_OPTIONS: "print_stacktrace=1:halt_on_error=1" },
  counts: doctest,
  after: NATIVE_BUILD.name,
};

/** One after the other, beside those. */
const NATIVE: readonly Step[] = [
  {
    name: "every program, as Debian 13's compiler makes it",
    command: lowPriority("build/addon/programs_clang-19"),
    counts: doctest,
  },
  {
    name: "native unit tests (TSan)",
    command: lowPriority("make", "-C", "addon", "--no-print-directory", "tsan"),
    counts: doctest,
  },
  {
    name: `packet parser, fuzzed with ${FUZZED_PACKETS.toLocaleString("en-US")} packets`,
    command: lowPriority("build/addon/fuzz_packet_parser", ...fuzz),
    counts: one,
  },
  {
    name: `flow decoders: ${MUTATED_DATAGRAMS.toLocaleString("en-US")} datagrams with mutations of each protocol`,
    command: lowPriority("build/addon/fuzz_flow_mutations", String(MUTATED_DATAGRAMS), ...recorded),
    counts: one,
  },
];

/** In namespaces of their own, so that no other test is in their way; over before the native build is. */
const LABS: readonly Step[] = [
  { name: "the lab, once", command: lab, counts: one, again: () => whole(lab) },
  { name: "soak, short form", command: soak, counts: one, again: () => whole(soak) },
];

const BESIDE_OTHERS: readonly Step[] = [
  PROGRAMS_BUILD,
  NATIVE_BUILD,
  {
    name: "TypeScript tests that wait for others",
    command: [...bunTests, "--parallel=1", ...WAITING],
    environment,
    counts: bunTest,
    again: failedFilesAgain,
    after: PROGRAMS_BUILD.name,
  },
  {
    name: "TypeScript tests that wait for losses",
    command: [...bunTests, "--parallel=1", ...WAITING_FOR_LOSSES],
    environment,
    counts: bunTest,
    again: failedFilesAgain,
    after: PROGRAMS_BUILD.name,
  },
  {
    name: "TypeScript tests",
    // Two more than cores: they wait for half of their time.
    command: [...bunTests, `--parallel=${Math.min(4, availableParallelism() + 2)}`, ...notWaiting],
    environment,
    counts: bunTest,
    again: failedFilesAgain,
    // Else its four processes leave the build nothing, and all that is native comes after them.
    after: NATIVE_BUILD.name,
    isShown: true,
  },
  {
    name: "Debian 12's kernel: programs and packets",
    // The longest of those that compute. Some of its tests wait for times that an emulated machine may miss.
    command: kernel,
    counts: one,
    again: () => whole(kernel),
    after: NATIVE_BUILD.name,
  },
  NATIVE_UNIT,
  ...oneByOne([NATIVE_BUILD, ...NATIVE]).slice(1),
  ...oneByOne(LABS),
];

export const STAGES: readonly (readonly Step[])[] = [
  BESIDE_OTHERS,
  // What it shows depends on how evenly its flood comes.
  [{ name: "the scrubbing lab, short form", command: scrubLab, counts: one, again: () => whole(scrubLab) }],
  [{ name: "the dashboard's truth, short form", command: truth, counts: one, again: () => whole(truth) }],
];

/** Each after the one before it. */
function oneByOne(steps: readonly Step[]): Step[] {
  return steps.map((step, i) => ({ ...step, ...(i > 0 && { after: steps[i - 1]?.name ?? "" }) }));
}

/** So that tests that depend on time get it first. */
function lowPriority(...command: readonly string[]): Command {
  return ["nice", "-n", "5", ...command];
}

function whole(command: Command): readonly Repeat[] {
  return [{ command, tests: null }];
}

/**
 * Tests that draw at random are repeated from the seed that they began with, and not at all where their names do not say
 * it. @param filesMax more files with failures are not repeated
 */
function failedFilesAgain(output: string, filesMax: number): readonly Repeat[] {
  const failed = (failedTests(output) ?? []).map((test) => ({ ...test, isRandom: isRandom(test.file) }));
  if (new Set(failed.map(({ file }) => file)).size > filesMax) return [];
  const repeatable = failed.filter(({ isRandom, seed }) => !isRandom || seed !== null);
  const bySeed = Map.groupBy(repeatable, ({ isRandom, seed }) => (isRandom ? seed : null));
  return [...bySeed].map(([seed, tests]) => {
    const environment = seed === null ? [] : ["env", `FIRST_SEED=${seed}`];
    const files = new Set(tests.map(({ file }) => file));
    return { command: [...environment, ...bunTests, "--isolate", ...files], tests: tests.map(({ name }) => name) };
  });
}
