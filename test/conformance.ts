/**
 * Runs the tests of the interface and prints how much of it they hold, section by section. Exits 1 when a test fails, or
 * when a statement of the interface has no test.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { STATEMENTS } from "./api/statements.ts";

interface Case {
  /** The names of its groups and its own, one after the other. */
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped";
}

const all = [...STATEMENTS.values()].flat();
const cases = await runTests();
const untested = all.filter(
  (statement) => !cases.some(({ name, outcome }) => outcome === "passed" && isAbout(name, statement)),
);
const others = cases.filter(({ name }) => !all.some((statement) => isAbout(name, statement)));
const failed = cases.filter(({ outcome }) => outcome === "failed");

print(["section", "statements", "tests", "passed"]);
for (const [section, statements] of STATEMENTS) {
  const own = cases.filter(({ name }) => statements.some((statement) => isAbout(name, statement)));
  print([section, statements.length, own.length, passed(own)]);
}
print(["other", "", others.length, passed(others)]);
print(["all", all.length, cases.length, passed(cases)]);
for (const { name, outcome } of cases) if (outcome !== "passed") console.log(`${outcome}: ${name}`);
for (const statement of untested) console.log(`no passing test: ${statement}`);
process.exit(failed.length + untested.length === 0 && cases.length > 0 ? 0 : 1);

function passed(tests: readonly Case[]): number {
  return tests.filter(({ outcome }) => outcome === "passed").length;
}

/** `2.2 rate` is the beginning of "2.2 rate is re-read", not of "2.2 rates are". */
function isAbout(name: string, statement: string): boolean {
  return name.startsWith(statement) && !/^[\w.]/.test(name.slice(statement.length));
}

async function runTests(): Promise<Case[]> {
  const directory = mkdtempSync(join(tmpdir(), `floodwall-conformance-${process.pid}-`));
  const report = join(directory, "report.xml");
  try {
    const options = ["--isolate", "--timeout", "60000", "--reporter=junit", `--reporter-outfile=${report}`];
    const child = Bun.spawn([process.execPath, "test", "test/api", ...options], {
      cwd: join(import.meta.dir, ".."),
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    });
    const output = await new Response(child.stderr).text();
    const code = await child.exited;
    const found = casesOf(readFileSync(report, "utf8"));
    // What fails outside of a test, such as a file that does not load, is in no report.
    if (code !== 0 && !found.some(({ outcome }) => outcome === "failed")) {
      console.log(output);
      process.exit(1);
    }
    return found;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function casesOf(xml: string): Case[] {
  return [...xml.matchAll(/<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)].map(([, head = "", body = ""]) => {
    const group = attribute(head, "classname").replaceAll(" > ", " ");
    const outcome = body.includes("<failure") ? "failed" : body.includes("<skipped") ? "skipped" : "passed";
    return { name: `${group} ${attribute(head, "name")}`.trim(), outcome };
  });
}

function attribute(head: string, name: string): string {
  const text = new RegExp(`\\b${name}="([^"]*)"`).exec(head)?.[1] ?? "";
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&apos;", "'")
    .replaceAll("&amp;", "&");
}

function print(columns: readonly (string | number)[]): void {
  const [first = "", ...numbers] = columns;
  console.log(String(first).padEnd(9) + numbers.map((each) => String(each).padStart(12)).join(""));
}
