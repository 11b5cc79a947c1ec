/** What the output of a step of the test run says: how many passed and failed, what was skipped, what failed and why. */

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly string[];
}

/** Of an error, with what was expected and what came. */
const ERROR_LINES = 12;

/** A step that is one test: its exit code is its result, unless it says in lines `skipped: …` what it left out. */
export function one(output: string, ok: boolean): Counts {
  const skipped = skippedLines(output);
  return { passed: ok && skipped.length === 0 ? 1 : 0, failed: ok ? 0 : 1, skipped };
}

export function doctest(output: string): Counts | null {
  const match = /test cases:\s*\d+ \|\s*(\d+) passed \|\s*(\d+) failed/.exec(output);
  if (match === null) return null;
  const skipped = skippedLines(output);
  // A case that left itself out has passed, for doctest.
  return { passed: Number(match[1]) - skipped.length, failed: Number(match[2]), skipped };
}

export function bunTest(output: string): Counts | null {
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
export function reasons(output: string): string[] {
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

/** The files of bun's failed tests. A file's name stands above its results. */
export function failedFiles(output: string): string[] {
  const files = new Set<string>();
  let file = "";
  for (const line of output.split("\n")) {
    file = /^(\S+\.test\.tsx?):$/.exec(line)?.[1] ?? file;
    // Named once more in the summary of a long run, without their files.
    if (/^\s*\d+ tests? failed:$/.test(line)) break;
    if (line.startsWith("(fail) ")) files.add(file);
  }
  return [...files];
}
