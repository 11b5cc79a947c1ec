/**
 * Shows how much the tests notice: changes one place in the service's code at a time, as a mistake might, and runs the
 * tests that reach it. `make mutants` calls it: SEED and COUNT draw the places, ONLY is a folder of src, JOBS says how many
 * mutants run at once, BEFORE is the result file of an earlier run.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT, sourceFiles } from "../source-tree.ts";
import { draw, isProduction, type Mutant } from "./draw.ts";
import { type MutantResult, MutantRun } from "./mutant-run.ts";
import { comparisonOf, type Report, survivorsOf, tableOf } from "./report.ts";
import { inProcessTests } from "./slow-tests.ts";
import { parsed, TestGraph } from "./test-graph.ts";
import { TestProcesses } from "./test-process.ts";
import { mutantsFolder, TreeCopy } from "./tree-copy.ts";

const TESTS_MAX = 25;
const CODE_FOLDERS = ["src", "test", "bench", "dashboard", "deploy", "docs", "setup"];
const INTERRUPTED = 130;
const text = { type: "string" } as const;
const { values } = parseArgs({ options: { seed: text, count: text, only: text, jobs: text, before: text } });
const { only: folder = "", before: beforePath = "" } = values;
const [seed, count, jobs] = [whole("seed", 1), whole("count", 300), whole("jobs", 1)];
// Read before the run: its own result may be written over it.
const before = beforePath === "" ? null : (JSON.parse(readFileSync(beforePath, "utf8")) as Report);

const files = sourceFiles(...CODE_FOLDERS)
  .filter(({ path }) => /\.tsx?$/.test(path) && !path.endsWith(".d.ts"))
  .map(parsed);
const only = join("src", folder.replace(/^src\/?/, ""), "/");
const production = files.filter((file) => isProduction(file) && file.path.startsWith(only));
const mutants = draw({ files: production, seed, count });
if (mutants.length === 0) throw new Error(`there is nothing to change in ${only}`);
const graph = new TestGraph({ files, tests: inProcessTests(files) });
const texts = new Map(production.map(({ path, text }) => [path, text]));

TreeCopy.removeAbandoned(ROOT);
const copies = Array.from({ length: jobs }, (_, i) => new TreeCopy(ROOT, String(i + 1)));
const unchanged = new TreeCopy(ROOT, "unchanged");
const processes = new TestProcesses();
const run = new MutantRun({
  ...{ processes, unchanged, testsMax: TESTS_MAX },
  textOf: (path) => texts.get(path) as string,
  testsOf: (path) => graph.testsOf(path),
});
const results: MutantResult[] = [];
let isStopped = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    isStopped = true;
    processes.stop();
  });
}
try {
  const queue = mutants.values();
  await Promise.all(copies.map((copy) => work(queue, copy)));
} catch (cause) {
  if (!isStopped) throw cause;
} finally {
  processes.stop();
  for (const copy of [...copies, unchanged]) copy.remove();
}
print();
process.exit(isStopped ? INTERRUPTED : 0);

async function work(queue: Iterator<Mutant>, copy: TreeCopy): Promise<void> {
  for (let next = queue.next(); !next.done; next = queue.next()) {
    const result = await run.try(next.value, copy);
    results.push(result);
    const { outcome, seconds, testsRun, path, line, kind } = result;
    const place = `[${results.length}/${mutants.length}] ${outcome}`;
    console.log(`${place} after ${testsRun} test files, ${seconds.toFixed(1)} s: ${path}:${line} (${kind})`);
  }
}

function print(): void {
  const report: Report = { seed, count, only, isComplete: !isStopped, failingTests: run.failing, mutants: results };
  const path = join(mutantsFolder(ROOT), "result.json");
  writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`);
  const seconds = results.reduce((sum, each) => sum + each.seconds, 0) / Math.max(1, results.length);
  console.log(`\n${survivorsOf(results)}\n\n${tableOf(results)}\n`);
  if (run.failing.length > 0) console.log(`left out, since they fail without a mutant: ${run.failing.join(", ")}`);
  if (before !== null) console.log(comparisonOf(results, before.mutants));
  if (isStopped) console.log(`stopped after ${results.length} of ${mutants.length} mutants`);
  console.log(`SEED=${seed}, ${seconds.toFixed(1)} s a mutant; all of it is in ${path}`);
}

function whole(name: "seed" | "count" | "jobs", fallback: number): number {
  const value = Number(values[name] ?? fallback);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new Error(`${name.toUpperCase()} must be a whole number from 1, not ${values[name]}`);
}
