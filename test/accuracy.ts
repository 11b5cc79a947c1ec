/**
 * How right is detection? Labelled captures of every vector at several strengths, and look-alikes, through the packet
 * counter: the confusion table and the time to detect. Exits 1 when a look-alike fires, or when an attack of twice its
 * threshold or more is missed or taken for another. SEED makes others. What rules drop: captures.ts.
 * With CAPTURES, a folder of recorded attacks (pcap, pcapng): what the rules match of these and of users beside them.
 */
import { faultOf, labelOf, type Score, scoreOf } from "./fixtures/captures/accuracy-score.ts";
import { attackSpecs, type CaptureSpec, LEVELS, lookAlikeSpecs } from "./fixtures/captures/attack-captures.ts";
import { printCaptureAccuracy } from "./fixtures/captures/capture-accuracy.ts";

const seed = Number(process.env["SEED"] ?? 0);
const folder = process.env["CAPTURES"];
if (folder !== undefined) process.exit(printCaptureAccuracy(folder, seed) === 0 ? 0 : 1);
const specs = [...attackSpecs(seed), ...lookAlikeSpecs(seed)];
const scores = specs.map((spec) => {
  const score = scoreOf(spec);
  console.log(lineOf(score));
  return score;
});

printConfusion();
printTimes();
const faults = scores.flatMap((score) => faultOf(score) ?? []);
console.log(`\n${specs.length} captures (SEED=${seed}), ${faults.length} wrong${faults.length === 0 ? "" : ":"}`);
for (const score of scores) if (faultOf(score) !== null) console.log(`  ${score.spec.name}: ${faultOf(score)}`);
process.exit(faults.length === 0 ? 0 : 1);

function lineOf({ spec, falseAlarms, found }: Score): string {
  const { name, family, background, vlans } = spec;
  const traffic = `(IPv${family}, ${vlans.length} VLAN tags, ${100 * background} % normal traffic)`;
  if (found === null) return `${name}: ${falseAlarms > 0 ? "FIRED" : "nothing"} ${traffic}`;
  return `${name}: ${found.vector} after ${Math.round(found.detectedAfterMs)} ms ${traffic}`;
}

function printConfusion(): void {
  console.log("\nlabel                        found as, at twice the threshold and above");
  const judged = scores.filter(({ spec }) => spec.level >= 2 || spec.vector === null);
  for (const [label, of] of Map.groupBy(judged, ({ spec }) => nameOf(spec))) {
    const cells = [...Map.groupBy(of, foundAs)].map(([name, { length }]) => `${name} ${length}`);
    console.log(`  ${label.padEnd(26)} ${cells.join(", ")}`);
  }
}

function nameOf(spec: CaptureSpec): string {
  return spec.also === null ? (labelOf(spec) ?? "look-alike") : "several at once";
}

function foundAs({ found, falseAlarms, spec }: Score): string {
  if (falseAlarms > 0) return "false alarm";
  if (found !== null && spec.also !== null) return found.parts.join(" + ");
  return found === null ? "nothing" : (found.vector ?? "unclassified");
}

function printTimes(): void {
  console.log("\nms from the first packet to    detection p50   p99    kind p50   p99");
  for (const level of LEVELS) {
    const of = scores.filter(({ spec }) => spec.vector !== null && spec.level === level);
    const found = of.flatMap((score) => score.found ?? []);
    const detected = found.map(({ detectedAfterMs }) => detectedAfterMs);
    const classified = found.flatMap(({ classifiedAfterMs }) => classifiedAfterMs ?? []);
    const times = [at(detected, 0.5), at(detected, 0.99), at(classified, 0.5), at(classified, 0.99)];
    const cells = times.map((text, i) => text.padStart(i % 2 === 0 ? 12 : 6));
    console.log(`  ${level}× its threshold`.padEnd(33), cells.join(""), `  ${found.length} of ${of.length} found`);
  }
}

function at(values: readonly number[], quantile: number): string {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * quantile))];
  return value === undefined ? "-" : String(Math.round(value));
}
