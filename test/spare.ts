/**
 * Do rules spare users? Every kind of users beside every vector, without and with a history: what the rules in force match
 * of the attack and of users, as a table and as a picture. Exits 1 where users are discarded. SEED, USERS, VECTORS and
 * HISTORY (comma-separated) choose.
 */
import { rulesText } from "../src/mitigation/rules/rule.ts";
import type { MixScore } from "./fixtures/captures/mixed-capture.ts";
import { type History, spareFaultOf, spareScore } from "./fixtures/captures/spare-score.ts";
import { SPARE_VECTORS } from "./fixtures/captures/spare-vectors.ts";
import { SERVICES, type ServiceKind } from "./fixtures/packets/service-users.ts";

const chosen = <T extends string>(name: string, all: readonly T[]): T[] => {
  const wanted = process.env[name]?.split(",");
  return wanted === undefined ? [...all] : all.filter((each) => wanted.includes(each));
};
const seed = Number(process.env["SEED"] ?? 1);
const users = chosen<ServiceKind>("USERS", SERVICES);
const vectors = chosen("VECTORS", Object.keys(SPARE_VECTORS));
const histories = chosen<History>("HISTORY", ["cold", "warm"]);

let faults = 0;
let cases = 0;
for (const history of histories) {
  for (const vector of vectors) {
    for (const kind of users) {
      const score = spareScore({ users: kind, vector, history, seed });
      const fault = spareFaultOf(score);
      cases++;
      if (fault !== null) faults++;
      if (fault !== null || process.env["ALL"] !== undefined) console.log(lineOf(history, vector, kind, score, fault));
    }
  }
}
console.log(`${cases} cases (SEED=${seed}), ${faults} wrong`);
process.exit(faults === 0 ? 0 : 1);

function lineOf(history: History, vector: string, kind: string, score: MixScore, fault: string | null): string {
  const { attackMatched, usersMatched, usersDiscarded, changes, verdict, rules } = score;
  const shares = [attackMatched, usersMatched, usersDiscarded].map((share) => (100 * share).toFixed(1).padStart(6));
  const own = rulesText(rules).replaceAll("dst 203.0.113.10/32 ", "");
  return `${fault === null ? "ok  " : "FAIL"} ${history} ${vector.padEnd(28)} ${kind.padEnd(9)}${shares.join(" ")} ${changes} ${verdict} ${fault ?? ""}  | ${own}`;
}
