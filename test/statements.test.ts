import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, sourceFiles } from "./source-tree.ts";
import { tagsOf, topicsOf, writtenTags } from "./statements.ts";

const PAGE = `<a id="ban"></a>
### Ban

| <a id="ban-state"></a>\`state\` | <a id="ban-rate"></a>\`rate\` |

<a id="empty"></a>
## Nothing is said here

<a id="states"></a>
## States

- <a id="ban-state-ends"></a>It ends.
`;

test("statements are the anchors within the text, by the heading that they stand under", () => {
  expect(topicsOf(PAGE)).toEqual([
    { name: "Ban", statements: ["ban-state", "ban-rate"] },
    { name: "States", statements: ["ban-state-ends"] },
  ]);
});

test.each([
  ["a ban ends #ban-state", ["ban-state"]],
  ["a ban ends #ban-state #ban-rate", ["ban-state", "ban-rate"]],
  ["ban #1 ends", []],
  ["a ban ends docs/interface.md#ban-state", []],
  ["a ban ends #", []],
  ["", []],
])("the test %j has the tags %j", (name, tags) => {
  expect(tagsOf(name)).toEqual(tags);
});

test("the tags of a file are those at the ends of strings", () => {
  const made = "$" + "{z}";
  const text = ['test("a #x-1 #y", f);', `describe(\`b #${made}\`, g);`, "  #own = 1;", '"#id"'].join("\n");
  expect(writtenTags(text)).toEqual(["x-1", "y", made]);
});

test("every tag of a test is a statement of the page, which has hundreds", () => {
  const page = readFileSync(join(ROOT, "docs/interface.md"), "utf8");
  const statements = new Set(topicsOf(page).flatMap((topic) => topic.statements));
  expect(statements.size).toBeGreaterThan(300);
  expect([...statements].filter((anchor) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(anchor))).toEqual([]);
  const files = sourceFiles("src", "test", "dashboard").filter(({ path }) => path.endsWith(".test.ts"));
  const tags = files
    .filter(({ path }) => path !== "test/statements.test.ts")
    .flatMap(({ path, text }) => writtenTags(text).map((tag) => ({ path, tag })));
  expect(tags.length).toBeGreaterThan(300);
  expect(tags.filter(({ tag }) => !tag.startsWith("$") && !statements.has(tag))).toEqual([]);
});
