/**
 * How right is detection? Labelled captures of every vector at several strengths, and look-alikes, through the packet
 * counter: the confusion table, the time to detect, and what the generated rules match. Exits 1 when a look-alike fires,
 * or when an attack of twice its threshold or more is missed, taken for another, or badly matched. SEED makes others.
 */
import { type Found, faultOf, labelOf, type Score, scoreOf } from "./fixtures/captures/accuracy-score.ts";
import { attackSpecs, type CaptureSpec, LEVELS, lookAlikeSpecs } from "./fixtures/captures/attack-captures.ts";
import { textTable } from "./text-table.ts";

const seed = Number(process.env["SEED"] ?? 0);
const specs = [...attackSpecs(seed), ...lookAlikeSpecs(seed)];
const scores = specs.map((spec) => {
  const score = scoreOf(spec);
  console.log(lineOf(score));
  return score;
});

printConfusion();
printTimes();
printRules();
const faults = scores.flatMap((score) => faultOf(score) ?? []);
console.log(`\n${specs.length} captures (SEED=${seed}), ${faults.length} wrong${faults.length === 0 ? "" : ":"}`);
for (const score of scores) if (faultOf(score) !== null) console.log(`  ${score.spec.name}: ${faultOf(score)}`);
process.exit(faults.length === 0 ? 0 : 1);

function lineOf({ spec, falseAlarms, found }: Score): string {
  const { name, family, background, vlans } = spec;
  const traffic = `(IPv${family}, ${vlans.length} VLAN tags, ${percent(background)} normal traffic)`;
  if (found === null) return `${name}: ${falseAlarms > 0 ? "FIRED" : "nothing"} ${traffic}`;
  const { vector, detectedAfterMs, rules, attackMatched, usersMatched } = found;
  const matched = `${rules.length} rules: ${percent(attackMatched)} of it, ${percent(usersMatched)} of its victim's users`;
  return `${name}: ${vector} after ${Math.round(detectedAfterMs)} ms; ${matched} ${traffic}`;
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
  const quantiles = (values: readonly number[]) => [at(values, 0.5), at(values, 0.99)];
  const rows = LEVELS.map((level) => {
    const of = scores.filter(({ spec }) => spec.vector !== null && spec.level === level);
    const found = of.flatMap((score) => score.found ?? []);
    const detected = quantiles(found.map(({ detectedAfterMs }) => detectedAfterMs));
    const classified = quantiles(found.flatMap(({ classifiedAfterMs }) => classifiedAfterMs ?? []));
    return [`${level}× its threshold`, ...detected, ...classified, `${found.length} of ${of.length}`];
  });
  const heads = ["ms from the first packet to", "detection p50", "p99", "kind p50", "p99", "found"];
  console.log(`\n${textTable([heads, ...rows], (column) => column > 0)}`);
}

function printRules(): void {
  const found = scores.filter(({ spec }) => spec.level >= 2).flatMap((score) => score.found ?? []);
  if (found.length === 0) return;
  const row = (name: string, of: (one: Found) => number) => {
    const shares = found.map(of).sort((a, b) => a - b);
    const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
    return [name, ...[mean, shares[0] ?? 0, shares.at(-1) ?? 0].map(percent)];
  };
  const rows = [
    ["what the rules match, at twice the threshold and above", "mean", "least", "most"],
    row("of the attack", ({ attackMatched }) => attackMatched),
    row("of all other traffic", ({ normalMatched }) => normalMatched),
    row("of the victim's users", ({ usersMatched }) => usersMatched),
  ];
  console.log(`\n${textTable(rows, (column) => column > 0)}`);
  console.log(`all that the victim gets: ${found.filter(({ matchesAll }) => matchesAll).length} of ${found.length}`);
}

function at(values: readonly number[], quantile: number): string {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * quantile))];
  return value === undefined ? "-" : String(Math.round(value));
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}
