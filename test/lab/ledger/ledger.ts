/**
 * `make ledger`: floods under every mechanism that drops, alone and in pairs, and by routers and a scrub node, of which
 * nothing is known here. The numbers of the API, the chart, the CSV, the report, the capture files and the tenant are
 * compared with those of the sender and the victim, and with each other. Prints a table; exits 1 if one is wrong.
 * `--floods N`, `--seed N`.
 */
import { parseArgs } from "node:util";
import { Chance, seededRandom } from "../../fixtures/seeded-random.ts";
import type { Undo } from "../../fixtures/undo.ts";
import { textTable } from "../../text-table.ts";
import { perform, type Stage } from "../demo/stage.ts";
import { namespacesUnavailable } from "../namespaces.ts";
import { FarLedger } from "./far-ledger.ts";
import { LedgerBox } from "./ledger-box.ts";
import { nameOf, VICTIMS, type Victim } from "./mechanisms.ts";
import { type FloodNumbers, faultsOf } from "./verdict.ts";

/** At once, each to a victim of its own. */
const LANES = 2;
/** One flood in this number is dropped elsewhere: by a router, or a scrub node. */
const FAR_ONE_IN = 20;

const HEAD = ["Mechanisms", "Floods", "Sent", "Arrived", "Total", "Passed", "Error of total", "of passed", "Wrong"];

const { values } = parseArgs({
  options: { floods: { type: "string", default: "200" }, seed: { type: "string", default: "1" } },
});
const unavailable = namespacesUnavailable();
if (unavailable === null) await perform(showLedger, 1);
else console.log(`skipped: the ledger of outcomes: ${unavailable}`);

async function showLedger(stage: Stage): Promise<void> {
  const [floods, seed] = [Number(values.floods), Number(values.seed)];
  if (!(floods >= 1)) throw new Error(`--floods: not a number of floods: ${values.floods}`);
  const chance = new Chance(seededRandom(seed));
  const far = Math.max(2, Math.round(floods / FAR_ONE_IN));
  const rows: Row[] = [];
  const box = await LedgerBox.create(stage.undo);
  stage.lastWords = () => box.service.output.slice(-2000);
  const waiting = Array.from({ length: Math.max(0, floods - far) }, (_, i) => VICTIMS[i % VICTIMS.length] as Victim);
  const lane = async (first: Victim | undefined) => {
    for (let next = first; next !== undefined; next = waiting.shift()) {
      rows.push(rowOf(stage, nameOf(next), await box.flood(next, chance)));
    }
  };
  await Promise.all(Array.from({ length: LANES }, () => lane(waiting.shift())));
  await stage.undo.all();
  for (const [i, make] of [
    (undo: Undo) => FarLedger.router(undo),
    (undo: Undo) => FarLedger.scrubNode(undo),
  ].entries()) {
    const lab = await make(stage.undo);
    stage.lastWords = () => lab.lastWords;
    const own = Math.floor(far / 2) + (i < far % 2 ? 1 : 0);
    for (let done = 0; done < own; done++) rows.push(rowOf(stage, lab.name, await lab.flood(chance)));
    await stage.undo.all();
  }
  console.log(`\n${tableOf(rows)}\n`);
  const wrong = rows.filter(({ faults }) => faults.length > 0).length;
  stage.step("ledger", `${rows.length - wrong} of ${rows.length} floods have the right numbers, seed ${seed}`);
  if (wrong > 0) throw new Error(`${wrong} of ${rows.length} floods have wrong numbers`);
}

interface Row {
  readonly name: string;
  readonly numbers: FloodNumbers;
  readonly faults: readonly string[];
}

function rowOf(stage: Stage, name: string, numbers: FloodNumbers): Row {
  const faults = faultsOf(numbers);
  for (const fault of faults) stage.step("wrong", `${name}: ${fault}`);
  return { name, numbers, faults };
}

/** A line for each combination; the errors are the largest of a flood, of what was sent. */
function tableOf(rows: readonly Row[]): string {
  const lines = [...Map.groupBy(rows, ({ name }) => name)].map(([name, own]) => {
    const sum = (of: (numbers: FloodNumbers) => number) => own.reduce((total, { numbers }) => total + of(numbers), 0);
    const largest = (of: (numbers: FloodNumbers) => number) => {
      const errors = own.map(({ numbers }) => Math.abs(of(numbers)) / numbers.sent);
      return `${(100 * Math.max(...errors)).toFixed(2)} %`;
    };
    const isKnown = own.every(({ numbers }) => numbers.views.api.passed !== null);
    return [
      name,
      String(own.length),
      String(sum(({ sent }) => sent)),
      String(sum(({ arrived }) => arrived)),
      String(sum(({ views }) => views.api.packets)),
      isKnown ? String(sum(({ views }) => views.api.passed ?? 0)) : "not known",
      largest(({ views, sent }) => views.api.packets - sent),
      isKnown ? largest(({ views, arrived }) => (views.api.passed ?? 0) - arrived) : "-",
      String(own.filter(({ faults }) => faults.length > 0).length),
    ];
  });
  return textTable([HEAD, ...lines], (column) => column > 0);
}
