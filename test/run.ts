/**
 * Runs every kind of test one after the other, shows their output as it comes, and closes with one line of counts. What
 * failed is named once more at the end, what was skipped with its reason.
 */
import { availableParallelism } from "node:os";

interface Step {
  readonly name: string;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Reads passed, failed and skipped from the step's output; null when the output has no counts. */
  readonly counts: (output: string, ok: boolean) => Counts | null;
}

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly string[];
}

const FUZZ_SECONDS = 30;
/** Of libFuzzer: what it found, and how much it tried, instead of a line for each new path. */
const QUIET = ["-verbosity=0", "-print_final_stats=1"];
/** Of an error, with what was expected and what came. */
const ERROR_LINES = 12;
const bun = process.execPath;
const jobs = `-j${availableParallelism()}`;
const failOnReport = { ASAN_OPTIONS: "detect_leaks=1", UBSAN_OPTIONS: "print_stacktrace=1:halt_on_error=1" };

const STEPS: readonly Step[] = [
  {
    name: "native unit tests (ASan, UBSan): build",
    command: ["make", "-C", "addon", jobs, "unit", "fuzz"],
    counts: one,
  },
  {
    name: "native unit tests (ASan, UBSan)",
    command: ["build/addon/unit"],
    environment: failOnReport,
    counts: doctest,
  },
  {
    name: `packet parser, fuzzed for ${FUZZ_SECONDS} s`,
    command: ["build/addon/fuzz_packet_parser", `-max_total_time=${FUZZ_SECONDS}`, "-max_len=512", ...QUIET],
    counts: one,
  },
  {
    name: "TypeScript tests",
    command: [bun, "test", `--parallel=${Math.min(4, availableParallelism())}`, "--randomize", "--timeout", "60000"],
    counts: bunTest,
  },
  { name: "the lab, once", command: [bun, "test/lab/demo.ts", "--once"], counts: one },
  {
    name: "the scrubbing lab, short form",
    command: [bun, "test/lab/scrub-demo.ts", "--seconds", "10"],
    counts: one,
  },
  { name: "soak, short form", command: [bun, "test/lab/soak.ts", "--minutes", "0.5"], counts: one },
];

let passed = 0;
let failed = 0;
const skipped: string[] = [];
const failures: string[] = [];
for (const step of STEPS) {
  console.log(`\n== ${step.name}`);
  const { output, ok } = await run(step);
  const counts = step.counts(output, ok) ?? { passed: 0, failed: 1, skipped: [] };
  passed += counts.passed;
  skipped.push(...counts.skipped);
  failed += ok ? counts.failed : Math.max(1, counts.failed);
  if (ok && counts.failed === 0) continue;
  console.log(`== FAILED: ${step.name}`);
  failures.push(step.name, ...reasons(output).map((reason) => `  ${reason}`));
}
if (skipped.length > 0) console.log(`\nskipped:\n${skipped.map((name) => `  ${name}`).join("\n")}`);
if (failures.length > 0) console.log(`\nfailed:\n${failures.map((name) => `  ${name}`).join("\n")}`);
console.log(`\n${passed} passed, ${failed} failed, ${skipped.length} skipped`);
process.exit(failed === 0 ? 0 : 1);

async function run({ command, environment }: Step): Promise<{ output: string; ok: boolean }> {
  const env = { ...process.env, ...environment };
  const child = Bun.spawn([...command], { env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const texts = await Promise.all([echo(child.stdout), echo(child.stderr)]);
  return { output: texts.join("\n"), ok: (await child.exited) === 0 };
}

async function echo(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    const part = decoder.decode(chunk, { stream: true });
    process.stdout.write(part);
    text += part;
  }
  return text;
}

/** A step that is one test: its exit code is its result, unless it says in lines `skipped: …` what it left out. */
function one(output: string, ok: boolean): Counts {
  const skipped = skippedLines(output);
  return { passed: ok && skipped.length === 0 ? 1 : 0, failed: ok ? 0 : 1, skipped };
}

function doctest(output: string): Counts | null {
  const match = /test cases:\s*\d+ \|\s*(\d+) passed \|\s*(\d+) failed/.exec(output);
  if (match === null) return null;
  const skipped = skippedLines(output);
  // A case that left itself out has passed, for doctest.
  return { passed: Number(match[1]) - skipped.length, failed: Number(match[2]), skipped };
}

function bunTest(output: string): Counts | null {
  const count = (word: string) => Number(new RegExp(`^ (\\d+) ${word}$`, "m").exec(output)?.[1] ?? 0);
  if (count("pass") + count("fail") === 0) return null;
  // Named once where it is skipped, and, in a long run, once more at the end.
  const lines = [...output.matchAll(/^\(skip\) (.+)$/gm)].map((match) => match[1] as string);
  const names = lines.slice(0, count("skip"));
  // The runner names what it skips only where it believes that a person reads along.
  while (names.length < count("skip")) names.push("a TypeScript test that bun did not name");
  return { passed: count("pass"), failed: count("fail"), skipped: names };
}

/**
 * The names of bun's failed tests, each with the last error before it; of a demonstration the line that says what was not
 * seen. A test is named again in the runner's summary.
 */
function reasons(output: string): string[] {
  const tests = new Map<string, string>();
  let error: string[] = [];
  let isError = false;
  for (const line of output.split("\n")) {
    if (/^\w*[Ee]rror: /.test(line)) [error, isError] = [[], true];
    else if (/^\s+at |^\(/.test(line)) isError = false;
    if (isError && line.trim() !== "" && error.length < ERROR_LINES) error.push(line.slice(0, 300));
    const name = /^\(fail\) (.+)$/.exec(line)?.[1];
    if (name !== undefined && !tests.has(name)) tests.set(name, [name, ...error].join("\n      "));
    if (/^\((pass|fail|skip)\)/.test(line)) error = [];
  }
  const unseen = [...output.matchAll(/^.* s {2}FAILED {2}.+$/gm)].map(([line]) => line.trim());
  return [...tests.values(), ...unseen];
}

function skippedLines(output: string): string[] {
  return [...output.matchAll(/^skipped: (.+)$/gm)].map((match) => match[1] as string);
}
