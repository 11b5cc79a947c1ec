/** Part of `make check`: subjects of commits are `area: summary`, of at most 72 characters. Merges have subjects of their own. */
import { $ } from "bun";

/** Older commits are as they are. */
const SINCE = "2026-11-29T01:30:00Z";
const SUBJECT_MAX = 72;

const { exitCode, stdout } = await $`git log --no-merges --since=${SINCE} --format=%h%x09%s`.quiet().nothrow();
if (exitCode !== 0) console.log("subjects of commits: skipped, this is no clone");
const bad = stdout
  .toString()
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => line.split("\t"))
  .flatMap(([hash = "", subject = ""]) => {
    if (subject.length > SUBJECT_MAX) return [`${hash} has ${subject.length} characters: ${subject}`];
    return /^[a-z][^:]*: \S/.test(subject) ? [] : [`${hash} does not begin with its area: ${subject}`];
  });
for (const line of bad) console.error(line);
if (bad.length > 0) console.error(`at most ${SUBJECT_MAX} characters, as "area: summary"; reasons go into the body`);
process.exitCode = bad.length > 0 ? 1 : 0;
