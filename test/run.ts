/**
 * Runs every kind of test, shows their output, and ends with one line of counts. Failures are repeated at the end, and
 * what was skipped with its reason. The tests run without Node.js: starting it fails.
 */
import { withoutNode } from "./fixtures/programs.ts";
import { StolenTime } from "./fixtures/stolen-time.ts";
import { passAgain } from "./run-repeats.ts";
import { type Counts, reasons, testName } from "./run-report.ts";
import { type Command, STAGES, type Step } from "./run-steps.ts";

interface Result extends Counts {
  readonly output: string;
  /** Of the command and of all that it started and waited for. */
  readonly cpuSeconds: number;
}

interface Timed {
  readonly result: Result;
  readonly stolenShare: number;
}

/** The share of CPU time that a hypervisor gave to others: above it, the machine may have stood still for seconds. */
const STOLEN_MAX = 0.05;
/** How often, and how many files with failures, are repeated: after such a time, and otherwise. */
const AFTER_STANDSTILL = { tries: 2, filesMax: 8 };
const BESIDE_OTHERS = { tries: 1, filesMax: 4 };

const machine = withoutNode();
process.on("exit", () => machine.remove());

let passed = 0;
let passedAgain = 0;
let failed = 0;
const skipped: string[] = [];
const failures: string[] = [];
const repeated: string[] = [];
for (const steps of STAGES) {
  const results = new Map<string, Promise<Timed>>();
  for (const step of steps) results.set(step.name, inTurn(step, results));
  // Failures are repeated when no other step runs any more.
  await Promise.all(results.values());
  for (const step of steps) await judge(step, (await results.get(step.name)) as Timed);
}
show("skipped", skipped);
show("failed beside other tests, and passed when repeated alone", repeated);
show("failed", failures);
const whenRepeated = passedAgain === 0 ? "" : ` (${passedAgain} of them when repeated)`;
console.log(`\n${passed} passed${whenRepeated}, ${failed} failed, ${skipped.length} skipped`);
process.exit(failed === 0 ? 0 : 1);

/** @param begun the steps that stand before it */
async function inTurn(step: Step, begun: ReadonlyMap<string, Promise<Timed>>): Promise<Timed> {
  if (step.after !== undefined) await begun.get(step.after);
  return timed(step);
}

/** With the share of CPU time that was stolen meanwhile. */
async function timed(step: Step): Promise<Timed> {
  console.log(`\n== ${step.name}`);
  const isShown = step.isShown === true;
  const stolen = new StolenTime();
  const began = performance.now();
  const result = await run(step, step.command, isShown);
  if (!isShown) process.stdout.write(`\n== ${step.name}\n${result.output}`);
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(`== ${seconds} s, ${Math.round(result.cpuSeconds)} s of CPU: ${step.name}`);
  return { result, stolenShare: stolen.share };
}

async function judge(step: Step, { result, stolenShare }: Timed): Promise<void> {
  passed += result.passed;
  skipped.push(...result.skipped);
  if (result.failed === 0) return;
  console.log(`== FAILED: ${step.name}`);
  const repeats = stolenShare > STOLEN_MAX ? AFTER_STANDSTILL : BESIDE_OTHERS;
  const again = await passAgain(step.again?.(result.output, repeats.filesMax) ?? [], repeats.tries, (command) => {
    console.log(`\n== again, alone: ${step.name}`);
    return run(step, command, true);
  });
  const passedNow = again === "all" ? result.failed : again.size;
  passed += passedNow;
  passedAgain += passedNow;
  failed += result.failed - passedNow;
  const [good, bad] = partition(reasons(result.output), (reason) => again === "all" || again.has(nameIn(reason)));
  if (passedNow > 0) repeated.push(step.name, ...good.map(indented));
  if (passedNow < result.failed) failures.push(step.name, ...bad.map(indented));
}

function nameIn(reason: string): string {
  return testName(reason.split("\n")[0] ?? "");
}

function indented(reason: string): string {
  return `  ${reason}`;
}

function partition<T>(values: readonly T[], isFirst: (value: T) => boolean): [T[], T[]] {
  return [values.filter(isFirst), values.filter((value) => !isFirst(value))];
}

async function run({ environment, counts }: Step, command: Command, isShown: boolean): Promise<Result> {
  const env = { ...machine.environment, ...environment };
  const child = Bun.spawn([...command], { env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const output = (await Promise.all([child.stdout, child.stderr].map((stream) => textOf(stream, isShown)))).join("\n");
  const ok = (await child.exited) === 0;
  const cpuSeconds = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6;
  const { passed, failed, skipped } = counts(output, ok) ?? { passed: 0, failed: 1, skipped: [] };
  return { passed, failed: ok ? failed : Math.max(1, failed), skipped, output, cpuSeconds };
}

/** @param isShown also as it comes */
async function textOf(stream: ReadableStream<Uint8Array>, isShown: boolean): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    const part = decoder.decode(chunk, { stream: true });
    if (isShown) process.stdout.write(part);
    text += part;
  }
  return text;
}

function show(title: string, lines: readonly string[]): void {
  if (lines.length > 0) console.log(`\n${title}:\n${lines.map((line) => `  ${line}`).join("\n")}`);
}
