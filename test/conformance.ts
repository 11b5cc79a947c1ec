/**
 * Runs the tests of the interface and prints how much of docs/interface.md they hold, topic by topic. Exits 1 when a test
 * fails, or when no passing test holds a statement of it.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { heldStatement, topicsOf } from "./api/statements.ts";

interface Case {
  /** The names of its groups and its own, one after the other. */
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped";
}

const PAGE = "docs/interface.md";
/** Where what the interface says is tested: as a whole, and beside the code. */
const FOLDERS = ["test/api", "test/adversary", "src/http", "src/edge", "src/sourceblock"];
/** What of it only the running service shows, and what is bounded further in. */
const FILES = ["test/scenario/flood-history.test.ts", "src/detection/attack/recent-packets.test.ts"];

const topics = topicsOf(readFileSync(join(import.meta.dir, "..", PAGE), "utf8"));
const all = new Set(topics.flatMap(({ statements }) => statements));
const cases = await runTests();
const byStatement = Map.groupBy(cases, ({ name }) => heldStatement(name, all));
const untested = [...all].filter((statement) => passedOf(byStatement.get(statement) ?? []) === 0);
const others = byStatement.get(null) ?? [];
const failed = cases.filter(({ outcome }) => outcome === "failed");

print(["topic", "statements", "tests", "passed"]);
for (const { name, statements } of topics) {
  const own = statements.flatMap((statement) => byStatement.get(statement) ?? []);
  print([name, statements.length, own.length, passedOf(own)]);
}
print(["other", "", others.length, passedOf(others)]);
print(["all", all.size, cases.length, passedOf(cases)]);
for (const { name } of failed) console.log(`failed: ${name}`);
for (const { name, outcome } of cases) if (outcome === "skipped") console.log(`skipped: ${name}`);
for (const statement of untested) console.log(`no passing test: ${PAGE}#${statement}`);
process.exit(failed.length + untested.length === 0 && cases.length > 0 ? 0 : 1);

function passedOf(some: readonly Case[]): number {
  return some.filter(({ outcome }) => outcome === "passed").length;
}

async function runTests(): Promise<Case[]> {
  const directory = mkdtempSync(join(tmpdir(), `floodwall-conformance-${process.pid}-`));
  const report = join(directory, "report.xml");
  try {
    const options = ["--isolate", "--timeout", "60000", "--reporter=junit", `--reporter-outfile=${report}`];
    const child = Bun.spawn([process.execPath, "test", ...FOLDERS, ...FILES, ...options], {
      ...{ cwd: join(import.meta.dir, ".."), stdin: "ignore", stdout: "ignore", stderr: "pipe" },
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
    // The innermost group comes first.
    const group = attribute(head, "classname").split(" > ").reverse().join(" ");
    const outcome = body.includes("<failure") ? "failed" : body.includes("<skipped") ? "skipped" : "passed";
    return { name: `${group} ${attribute(head, "name")}`.trim(), outcome };
  });
}

function attribute(head: string, name: string): string {
  const text = new RegExp(`\\b${name}="([^"]*)"`).exec(head)?.[1] ?? "";
  const entities = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&" };
  return Object.entries(entities).reduce((plain, [entity, character]) => plain.replaceAll(entity, character), text);
}

function print(columns: readonly (string | number)[]): void {
  const [first = "", ...numbers] = columns;
  console.log(String(first).padEnd(32) + numbers.map((each) => String(each).padStart(12)).join(""));
}
