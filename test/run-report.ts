/** What the output of a step of the test run says: how many passed and failed, what was skipped, what failed and why. */
import { readFileSync } from "node:fs";

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly string[];
}

/** Of an error, with what was expected and what came. */
const ERROR_LINES = 12;

/** A step that is one test: its exit code is its result, unless it says in lines `skipped: …` what it left out. */
export function one(output: string, ok: boolean): Counts {
  const skipped = matches(/^skipped: (.+)$/gm, output);
  return { passed: ok && skipped.length === 0 ? 1 : 0, failed: ok ? 0 : 1, skipped };
}

/** Of one run, or of several after one another. */
export function doctest(output: string): Counts | null {
  const runs = [...output.matchAll(/test cases:\s*\d+ \|\s*(\d+) passed \|\s*(\d+) failed/g)];
  if (runs.length === 0) return null;
  const sum = (group: number) => runs.reduce((total, run) => total + Number(run[group]), 0);
  const skipped = matches(/^skipped: (.+)$/gm, output);
  // A case that left itself out has passed, for doctest.
  return { passed: sum(1) - skipped.length, failed: sum(2), skipped };
}

export function bunTest(output: string): Counts | null {
  const count = (word: string) => Number(new RegExp(`^ (\\d+) ${word}$`, "m").exec(output)?.[1] ?? 0);
  if (count("pass") + count("fail") === 0) return null;
  // Named once where it is skipped, and, in a long run, once more at the end.
  const names = matches(/^\(skip\) (.+)$/gm, output).slice(0, count("skip"));
  // The runner names what it skips only where it believes that a person reads along.
  const unnamed = new Array<string>(count("skip") - names.length).fill("a TypeScript test that bun did not name");
  return { passed: count("pass"), failed: count("fail"), skipped: [...names, ...unnamed] };
}

/** Why a step failed, as far as its output says it: a program that does not end as it should names no test. */
export function reasons(output: string): string[] {
  const failures = [
    ...bunFailures(output),
    ...doctestFailures(output),
    ...matches(/^ *(.* s {2}FAILED {2}.+)$/gm, output),
  ];
  return failures.length > 0 ? failures : [`no failed test is named; its last lines: ${lastLines(output)}`];
}

/** The names of bun's failed tests, each with the last error before it. A test is named again in the runner's summary. */
function bunFailures(output: string): string[] {
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
  return [...tests.values()];
}

/** The names of doctest's failed cases, each with its checks that failed and their values; what a sanitizer reports. */
function doctestFailures(output: string): string[] {
  const found: string[] = [];
  let isError = false;
  for (const line of output.split("\n")) {
    const name = /^TEST CASE: +(.+)$/.exec(line)?.[1];
    if (name !== undefined) found.push(name);
    const begins = /: (FATAL )?ERROR: |^==\d+==ERROR: |: runtime error: |^WARNING: ThreadSanitizer: /.test(line);
    isError = begins || (isError && line.trim() !== "" && !line.startsWith("="));
    if (isError) found.push(`    ${line.trim().slice(0, 300)}`);
  }
  return found;
}

function lastLines(output: string): string {
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  return lines
    .slice(-ERROR_LINES)
    .map((line) => `\n      ${line.slice(0, 300)}`)
    .join("");
}

/** A failed test of bun. */
export interface FailedTest {
  readonly name: string;
  readonly file: string;
  /** The first seed that it drew, if its name says so. */
  readonly seed: string | null;
}

/** Without the time that it took, which bun writes behind it. */
export function testName(text: string): string {
  return text.replace(/ \[[\d.]+m?s\]$/, "");
}

/**
 * Bun's failed tests. A file's name stands above its results. null: not every failure is that of a named test, as where
 * the runner ended early or a file could not be loaded.
 */
export function failedTests(output: string): FailedTest[] | null {
  // Named once more in the summary of a long run, without their files.
  const [results = ""] = output.split(/^\s*\d+ tests? failed:$/m);
  const failures: FailedTest[] = [];
  let file = "";
  for (const line of results.split("\n")) {
    file = /^(\S+\.test\.tsx?):$/.exec(line)?.[1] ?? file;
    const name = /^\(fail\) (.+)$/.exec(line)?.[1];
    if (name === undefined) continue;
    failures.push({ name: testName(name), file, seed: /\bSEED=(\d+)/.exec(name)?.[1] ?? null });
  }
  const isWhole = /^Ran \d+ tests? across/m.test(output) && !/^ *\d+ errors?$/m.test(output);
  return isWhole && failures.length === bunTest(output)?.failed ? failures : null;
}

/**
 * Whether a test file draws at random: without its seed another run of it may miss what the first one found. A test
 * without a file counts as such.
 */
export function isRandom(file: string): boolean {
  return file === "" || /SEED|Math\.random|seedsOfRun/.test(readFileSync(file, "utf8"));
}

function matches(pattern: RegExp, text: string): string[] {
  return [...text.matchAll(pattern)].map(([, found = ""]) => found);
}
