/**
 * Do rules spare users? Every kind of users beside every vector, without and with a history: what the rules in force match
 * of the attack and of users, as lines and as a picture (build/spare.svg). Exits 1 where users are discarded, or where it
 * is said that they are spared and they are not. SEED makes others; USERS, VECTORS and HISTORY (comma-separated) choose, and RATES (packets per second of the attack and of users, threshold).
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { rulesText } from "../src/mitigation/rules/rule.ts";
import { type SpareResult, sparePicture } from "./fixtures/captures/spare-picture.ts";
import {
  HISTORIES,
  type History,
  type SpareCase,
  type SpareRates,
  spareFaultOf,
  spareScore,
} from "./fixtures/captures/spare-score.ts";
import { SPARE_VECTORS } from "./fixtures/captures/spare-vectors.ts";
import { SERVICES, type ServiceKind } from "./fixtures/packets/service-users.ts";

const PICTURE = "build/spare.svg";

function chosen<T extends string>(name: string, all: readonly T[]): readonly T[] {
  const wanted = process.env[name]?.split(",").filter((each) => each !== "") ?? [];
  return wanted.length === 0 ? all : all.filter((each) => wanted.includes(each));
}

const seed = Number(process.env["SEED"] || 1);
const histories = chosen<History>("HISTORY", HISTORIES);
const vectors = chosen("VECTORS", Object.keys(SPARE_VECTORS));
const kinds = chosen<ServiceKind>("USERS", SERVICES);
const rates = ratesOf(process.env["RATES"] || "1000,75,250");
const cases: SpareCase[] = histories.flatMap((history) =>
  vectors.flatMap((vector) => kinds.map((users) => ({ users, vector, history, seed, rates }))),
);

console.log(row("", ["attack", "users", "discarded", "changes", "spared"]));
const results: SpareResult[] = [];
for (const spare of cases) {
  const score = spareScore(spare);
  const result = { spare, score, fault: spareFaultOf(score) };
  results.push(result);
  console.log(lineOf(result));
}
mkdirSync("build", { recursive: true });
writeFileSync(PICTURE, sparePicture(results));
const wrong = results.filter(({ fault }) => fault !== null);
const spared = results.filter(({ score }) => score.usersMatched <= 0.01);
const limited = results.filter(({ score }) => score.usersMatched > 0.01 && score.usersDiscarded <= 0.01);
console.log(`\n${results.length} cases (SEED=${seed}): ${spared.length} with at most 1 % of users matched,`);
console.log(`${limited.length} with users limited and not discarded, ${wrong.length} wrong; picture: ${PICTURE}`);
process.exit(wrong.length === 0 ? 0 : 1);

/** Packets per second of the attack and of users, and the threshold. */
function ratesOf(text: string): SpareRates {
  const [attack = 0, users = 0, threshold = 0] = text.split(",").map(Number);
  if (!(attack > threshold && threshold > 0 && users >= 0)) throw new Error(`RATES=${text}: attack,users,threshold`);
  return { attack, users, threshold };
}

function lineOf({ spare, score, fault }: SpareResult): string {
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  const { attackMatched, usersMatched, usersDiscarded, changes, verdict, rules } = score;
  const shares = [attackMatched, usersMatched, usersDiscarded].map(percent);
  const line = row(`${spare.history} ${spare.users}: ${spare.vector}`, [...shares, String(changes), verdict ?? "-"]);
  return fault === null ? line : `${line}  WRONG: ${fault}\n    ${rulesText(rules)}`;
}

function row(name: string, cells: readonly string[]): string {
  return `${name.padEnd(46)}${cells.map((cell) => cell.padStart(10)).join("")}`;
}
