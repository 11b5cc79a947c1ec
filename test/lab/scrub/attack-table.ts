/**
 * `make lab-attacks`: attacks on an inline box that scrubs, each on a box of its own, beside users of the victim, and faults
 * amid attacks. Prints a table: what was served of the users' requests from 3 s on, whether a connection from before
 * lives on, and what of the attack came through; the same goes as Markdown into build/lab-attacks.md. Exits 1 if a row is
 * not as it should be. CAPTURES names a folder of recorded attacks.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { Undo } from "../../fixtures/undo.ts";
import { textTable } from "../../text-table.ts";
import { namespacesUnavailable } from "../namespaces.ts";
import { NODE_TRIALS, nodeRowOf } from "./node-trials.ts";
import { HEAD, type Row, rowOf } from "./trial.ts";
import { sectionsOf } from "./trials.ts";

const MARKDOWN = join(import.meta.dir, "../../../build/lab-attacks.md");
/** Of Debian's packages in the Makefile's ATTACK_PACKAGES and TEST_PACKAGES. */
const PROGRAMS = [
  ...["curl", "hping3", "nft", "ss", "nginx", "wrk", "chromium", "ssh", "ssh-keygen", "sshd", "iperf3"],
  ...["knotd", "kdig", "dnsperf", "stdbuf", "tcprewrite", "tcpreplay"],
];

const { values } = parseArgs({ options: { only: { type: "string" } } });
const captures = process.env["CAPTURES"] || undefined;
const unavailable = namespacesUnavailable();
if (unavailable === null) process.exit(await main());
console.log(`skipped: attacks on a scrubbing box: ${unavailable}`);

interface Job {
  readonly name: string;
  readonly run: (undo: Undo) => Promise<Row>;
}

async function main(): Promise<number> {
  const missing = PROGRAMS.filter((name) => Bun.which(name) === null);
  if (missing.length > 0) {
    console.error(`programs are missing: ${missing.join(", ")}; \`make lab-attacks\` installs them`);
    return 2;
  }
  const results: (readonly [string, readonly Row[]])[] = [];
  for (const [section, jobs] of jobsBySection()) {
    const wanted = jobs.filter(({ name }) => name.includes(values.only ?? ""));
    if (wanted.length > 0) results.push([section, await rowsOf(wanted)]);
  }
  if (results.length === 0) {
    console.error(`no attack has ${values.only} in its name: see docs/operations/measured-attacks.md for the names`);
    return 2;
  }
  for (const [section, rows] of results) {
    console.log(`\n${section}\n${textTable([HEAD, ...rows.map(({ cells }) => cells)], () => false)}`);
  }
  mkdirSync(dirname(MARKDOWN), { recursive: true });
  writeFileSync(MARKDOWN, results.map(([section, rows]) => markdown(section, rows)).join("\n"));
  const rows = results.flatMap(([, all]) => all);
  const held = rows.filter(({ isHeld }) => isHeld).length;
  console.log(`\n${held} of ${rows.length} held`);
  if (captures === undefined) console.log("recorded attacks are left out: CAPTURES names no folder of them");
  return held === rows.length ? 0 : 1;
}

function jobsBySection(): readonly (readonly [string, readonly Job[]])[] {
  const nodes = NODE_TRIALS.map((trial): Job => ({ name: trial.name, run: (undo) => nodeRowOf(trial, undo) }));
  return Object.entries(sectionsOf(captures)).map(([section, trials]) => {
    const jobs = trials.map((trial): Job => ({ name: trial.name, run: (undo) => rowOf(trial, undo) }));
    return [section, section === "Faults" ? [...jobs, ...nodes] : jobs];
  });
}

/** A row that cannot be measured is not held. */
async function rowsOf(jobs: readonly Job[]): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const { name, run } of jobs) {
    const undo = new Undo();
    try {
      rows.push(await run(undo));
    } catch (cause) {
      console.error(cause);
      rows.push({ cells: [name, ...HEAD.slice(2).map(() => ""), "FAILED"], isHeld: false });
    } finally {
      await undo.all();
    }
    console.log(rows.at(-1)?.cells.join(" | "));
  }
  return rows;
}

function markdown(section: string, rows: readonly Row[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const lines = [line(HEAD), line(HEAD.map(() => "---")), ...rows.map(({ cells }) => line(cells))];
  return `## ${section}\n\n${lines.join("\n")}\n`;
}
