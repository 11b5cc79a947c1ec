/**
 * Runs the tests that hold a statement of docs/interface.md and prints how many there are of each topic. Exits 1 when a
 * test fails, when no passing test holds a statement, or when a test holds one that is not on the page.
 *
 * BRAIN=brain1, or brain2, in the environment runs the tests of whole services alone, each service as this brain of a
 * running pair (fixtures/cluster/companion.ts), and exits 1 when a test fails.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BRAIN } from "./fixtures/cluster/companion.ts";
import { TemporaryFolder } from "./fixtures/temporary-folder.ts";
import { ROOT, sourceFiles } from "./source-tree.ts";
import { tagsOf, topicsOf, writtenTags } from "./statements.ts";

interface Case {
  /** The names of its groups and its own, one after the other. */
  readonly name: string;
  /** Statements that it holds. */
  readonly tags: readonly string[];
  readonly outcome: "passed" | "failed" | "skipped";
}

/** Without tests that make clusters of their own, those of what goes without a
 * cluster, and those of kernels, disks, speakers and decoders. */
const OF_SERVICES =
  /^test\/(api|scenario|adversary)\/(?!.*(brains?\.|disk|many-|-sim|cloud|kill|policies|telemetry|packets|speaker|spoofed))/;
const PAGE = "docs/interface.md";
const topics = topicsOf(readFileSync(join(ROOT, PAGE), "utf8"));
const all = new Set(topics.flatMap(({ statements }) => statements));
const cases = await runTests();
const tagged = cases.flatMap((each) => each.tags.map((tag) => ({ ...each, tag })));
const byStatement = Map.groupBy(tagged, ({ tag }) => tag);
const untested = [...all].filter((statement) => BRAIN === null && passedOf(byStatement.get(statement) ?? []) === 0);
const unknown = tagged.filter(({ tag }) => !all.has(tag));
const others = cases.filter(({ tags }) => tags.length === 0);
const failed = cases.filter(({ outcome }) => outcome === "failed");

print(["topic", "statements", "tests", "passed"]);
for (const { name, statements } of topics) {
  const own = statements.flatMap((statement) => byStatement.get(statement) ?? []);
  if (BRAIN === null || own.length > 0) print([name, statements.length, own.length, passedOf(own)]);
}
print(["other", "", others.length, passedOf(others)]);
print(["all", all.size, cases.length, passedOf(cases)]);
for (const { name } of failed) console.log(`failed: ${name}`);
for (const { name, outcome } of cases) if (outcome === "skipped") console.log(`skipped: ${name}`);
for (const statement of untested) console.log(`no passing test: ${PAGE}#${statement}`);
for (const { name, tag } of unknown) console.log(`no such statement: ${PAGE}#${tag}, held by: ${name}`);
process.exit(failed.length + untested.length + unknown.length === 0 && cases.length > 0 ? 0 : 1);

function passedOf(some: readonly Case[]): number {
  return some.filter(({ outcome }) => outcome === "passed").length;
}

async function runTests(): Promise<Case[]> {
  using directory = new TemporaryFolder("conformance");
  const report = directory.at("report.xml");
  const options = ["--isolate", "--timeout", "60000", "--reporter=junit", `--reporter-outfile=${report}`];
  const files = sourceFiles("src", "test", "dashboard").filter(
    ({ path, text }) => path.endsWith(".test.ts") && (BRAIN === null ? isTagged(text) : startsServices(path, text)),
  );
  const paths = files.map(({ path }) => `./${path}`);
  const child = Bun.spawn([process.execPath, "test", ...paths, ...options], {
    ...{ cwd: ROOT, stdin: "ignore", stdout: "ignore", stderr: "pipe" },
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
}

/** Services in processes of their own: those inside of a test run on a clock that it sets. */
function startsServices(path: string, text: string): boolean {
  return OF_SERVICES.test(path) && /\b(ServiceProcess|PeeredScenario|new Scenario|ScrubWorld|ScrubSites)\b/.test(text);
}

function isTagged(text: string): boolean {
  return writtenTags(text).some((tag) => all.has(tag) || tag.startsWith("$"));
}

function casesOf(xml: string): Case[] {
  return [...xml.matchAll(/<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)].map(([, head = "", body = ""]) => {
    // The innermost group comes first.
    const names = [...attribute(head, "classname").split(" > ").toReversed(), attribute(head, "name")];
    const outcome = body.includes("<failure") ? "failed" : body.includes("<skipped") ? "skipped" : "passed";
    return { name: names.join(" ").trim(), tags: names.flatMap(tagsOf), outcome };
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
