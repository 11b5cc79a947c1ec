/**
 * What does the kernel drop of labelled captures, under the rules that replaying them made? Every frame goes through the
 * XDP program. Exits 1 when less than 99 % of an attack is dropped, or a legitimate frame that differs from it.
 * SEED makes other captures.
 */
import { ruleText } from "../src/mitigation/rules/rule.ts";
import { type KernelScore, kernelFaultOf, kernelScoreOf, LooseFilter } from "./fixtures/captures/kernel-capture.ts";
import { linkText, suiteSpecs } from "./fixtures/captures/suite-captures.ts";
import { bpfUnavailable } from "./fixtures/dataplane/bpf-directory.ts";

if (bpfUnavailable !== null) {
  console.error(bpfUnavailable);
  process.exit(2);
}

const seed = Number(process.env["SEED"] ?? 0);
const specs = suiteSpecs(seed);
const loose = new LooseFilter();
const scores: KernelScore[] = [];
try {
  console.log(row("capture", "link", "frames", "rules", "attack dropped", "legitimate", "dropped", "of them alike"));
  for (const spec of specs) {
    const score = kernelScoreOf(spec, loose.filter);
    scores.push(score);
    console.log(rowOf(score));
  }
} finally {
  loose.close();
}

const faults = scores.filter((score) => kernelFaultOf(score) !== null);
console.log(`\n${specs.length} captures (SEED=${seed}), ${sum(({ frames }) => frames)} frames`);
console.log(`attack frames dropped: ${sum(({ attackDropped }) => attackDropped)} of ${sum((one) => one.attackFrames)}`);
const alike = `${sum((one) => one.legitimateAlike)} that agree with attack frames in all that a rule can ask for`;
const dropped = `${sum((one) => one.legitimateDropped)} of ${sum((one) => one.legitimateFrames)}`;
console.log(`legitimate frames dropped: ${dropped}; of them ${alike}`);
console.log(`${faults.length} captures wrong${faults.length === 0 ? "" : ":"}`);
for (const score of faults) {
  console.log(`  ${score.spec.name}: ${kernelFaultOf(score)}`);
  for (const rule of score.rules) console.log(`    ${ruleText(rule)}`);
}
process.exit(faults.length === 0 ? 0 : 1);

function rowOf(score: KernelScore): string {
  const { spec, frames, rules, attackFrames, attackDropped, legitimateFrames } = score;
  const share = attackFrames === 0 ? "-" : `${((100 * attackDropped) / attackFrames).toFixed(2)} %`;
  const counts = [legitimateFrames, score.legitimateDropped, score.legitimateAlike].map(String);
  return row(spec.name, linkText(spec), String(frames), String(rules.length), share, ...counts);
}

function row(name: string, link: string, ...cells: readonly string[]): string {
  return `${name.padEnd(44)}${link.padEnd(22)}${cells.map((cell) => cell.padStart(15)).join("")}`;
}

function sum(of: (score: KernelScore) => number): number {
  return scores.reduce((total, score) => total + of(score), 0);
}
