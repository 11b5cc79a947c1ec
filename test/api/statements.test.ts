import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { heldStatement, topicsOf } from "./statements.ts";

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

test("a test holds the longest statement whose words begin its name", () => {
  const all = new Set(["ban-state", "ban-rate", "ban-state-ends"]);
  const held = (name: string) => heldStatement(name, all);
  expect(held("ban state may be active")).toBe("ban-state");
  expect(held("ban state")).toBe("ban-state");
  expect(held("ban state ends by an unban")).toBe("ban-state-ends");
  for (const name of ["ban rates are those of the attack", "Ban's rate is absent", "an unban", ""])
    expect(held(name)).toBeNull();
});

test("the page has hundreds of statements, each in the form that a test's name can begin with", () => {
  const page = readFileSync(new URL("../../docs/interface.md", import.meta.url), "utf8");
  const statements = topicsOf(page).flatMap((topic) => topic.statements);
  expect(statements.length).toBeGreaterThan(300);
  expect(statements.filter((anchor) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(anchor))).toEqual([]);
});
