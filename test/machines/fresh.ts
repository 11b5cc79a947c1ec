/**
 * `make fresh`: what the README says, done on bare Debian systems of each supported release in folders under
 * build/machines, and the package that they build installed, used and purged on others, and booted with systemd and the
 * release's own kernel. Prints a table at the end.
 * Arguments are suites, and where packages are used (an architecture, or `booted`); default: all. FRESH_TEST=0 leaves the checks
 * and tests out, FRESH_KEEP=1 keeps the systems. An upgrade is from the newest tag before this commit, or from FRESH_OLDER=COMMIT.
 * FRESH_RELEASE=FOLDER builds nothing: the packages are those of this release, built on the oldest suite, and an `older.deb` in it
 * is what is upgraded.
 */
import { readFileSync } from "node:fs";
import { release } from "node:os";
import { parseArgs } from "node:util";
import { ROOT } from "../source-tree.ts";
import { SUITES, type Suite } from "./bare-system.ts";
import { type BuiltRelease, buildOnBareSystem, PARTS, type Report, releaseIn, usePackage } from "./machine-steps.ts";
import { rootFolderUnavailable } from "./root-folder.ts";
import { type Row, remarkOf, tableOf } from "./step-table.ts";

const TAIL_LINES = 40;

const { positionals } = parseArgs({ allowPositionals: true });
const known: readonly string[] = [...SUITES, ...PARTS];
const unknown = positionals.filter((name) => !known.includes(name));
if (unknown.length > 0) stop(`not supported: ${unknown.join(", ")}; there are ${known.join(", ")}`);
if (rootFolderUnavailable !== null) stop(`make fresh ${rootFolderUnavailable}`);
const suites = chosen(SUITES);
const parts = chosen(PARTS);

const git = async (...args: string[]) => (await Bun.$`git -C ${ROOT} ${args}`.quiet().text()).trim();
const commit = await git("rev-parse", "HEAD");
console.log(`commit ${commit.slice(0, 12)} on ${suites.join(" and ")}, kernel ${release()}`);
const changes = await git("status", "--porcelain");
if (changes !== "") console.log(`not committed, and so not in it:\n${changes}`);

const rows: Row[] = [];
const report: Report = (result, log) => {
  const output = readFileSync(log, "utf8");
  const row = { ...result, remark: remarkOf(output) };
  rows.push(row);
  const { suite, part, step, ok, seconds, remark } = row;
  console.log(`${suite}, ${part}: ${step}: ${ok ? "ok" : "FAILED"} after ${seconds.toFixed(1)} s  ${remark}`.trimEnd());
  if (ok) return;
  for (const line of output.trimEnd().split("\n").slice(-TAIL_LINES)) console.log(`  | ${line}`);
  console.log(`  all of it: ${log}`);
};

const given = process.env["FRESH_RELEASE"];
const older = process.env["FRESH_OLDER"] ?? (await newestTag());
if (older === null && given === undefined)
  console.log("no version is tagged before this commit: no upgrade is tried (FRESH_OLDER=COMMIT)");
const releases = new Map<Suite, BuiltRelease>();
if (given !== undefined) releases.set(SUITES[0], releaseIn(given));
for (const suite of given === undefined ? suites : []) {
  const withTests = process.env["FRESH_TEST"] !== "0";
  const release = await buildOnBareSystem({ suite, commit, older, withTests, report });
  if (release !== null) releases.set(suite, release);
}
// What was built on an older release runs on a newer one too.
for (const [builtOn, release] of releases) {
  for (const suite of suites.filter((each) => SUITES.indexOf(each) >= SUITES.indexOf(builtOn))) {
    await usePackage({ suite, builtOn, parts, release, report });
  }
}
console.log(`\n${tableOf(rows)}`);
const failed = rows.filter(({ ok }) => !ok).length;
console.log(`\n${rows.length - failed} steps passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/** Those that an argument names; all, where it names none of them. */
function chosen<T extends string>(names: readonly T[]): readonly T[] {
  const named = names.filter((name) => positionals.includes(name));
  return named.length === 0 ? names : named;
}

async function newestTag(): Promise<string | null> {
  const { exitCode, stdout } = await Bun.$`git -C ${ROOT} describe --tags --abbrev=0 ${commit}^`.quiet().nothrow();
  return exitCode === 0 ? stdout.toString().trim() : null;
}

function stop(text: string): never {
  console.error(text);
  process.exit(2);
}
