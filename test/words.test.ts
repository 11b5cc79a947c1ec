/**
 * The words that docs/glossary.md says we do not use: looked for in names (also inside camelCase), comments, texts and
 * documents. The list here and the table there have the same rows.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isTest, ROOT, type SourceFile, sourceFiles } from "./source-tree.ts";

/** By row of the glossary's table. Words are lower case; a space stands for any space, also a line's end. */
const BANNED: Readonly<Record<string, readonly string[]>> = {
  "told, tells, to tell (of a service, node, log)": ["told", "tells?", "telling"],
  "heard, unheard of": ["(?:un)?heard"],
  "lament, story (of a log)": ["laments?", "lamented", "story", "stories"],
  hurry: ["hurry", "hurries", "hurried"],
  forsaken: ["forsaken"],
  "foreseen, foresight": ["foresees?", "foreseen", "foresight"],
  lapse: ["lapses?", "lapsed", "lapsing"],
  "pushed on (of an expiry)": ["push(?:es|ed|ing)? on"],
  "taken up (after a restart)": ["taken up", "took up", "taking up", "takes? up (?:its|the|bans?|what|again)"],
  "gives way to": ["(?:gives?|giving|given|gave) way"],
  "pardoned (of an attack)": ["pardon(?:s|ed)?"],
  news: ["news"],
  "doorbell, to ring": ["door ?bells?", "rang", "to ring", "rings (?:it|the|them)"],
  "quarrel, peace, aftermath (of a session)": ["quarrel(?:s|ed)?", "peace(?:ful)?", "aftermath"],
  "an operator's word or order": [
    "operator'?s' ?(?:own )?(?:words?|orders?)",
    "operator's (?:own )?(?:words?|orders?)",
  ],
  "asked (of an API)": ["asked for", "asked of", "asked again", "(?:is|are|was|were|be|not|been|each) asked"],
  "whoever, somebody, nobody": ["whoever", "somebody(?:'s)?", "nobody(?:'s)?"],
  "seen lately, of late": ["lately", "of late"],
  anew: ["anew"],
  "what a page is good for, what is held to be": ["good for", "held to be"],
  "so many, so long, as it stands": ["so many", "so long", "as it stands", "as they stand"],
  "bland (of an error)": ["bland"],
  "beats (of a loop)": ["beats?"],
};

/** Names that are not ours to change: taken out of a text before the search. */
const EXCEPTIONS: readonly { readonly pattern: RegExp; readonly reason: string }[] = [
  {
    pattern: /<a id="[\w-]+">|\]\([^)\s]*#[\w-]+\)|\.md#[\w-]+|\s#[a-z0-9-]+(?=["`]|\s#)/g,
    reason: "anchors of the interface, by which others cite it",
  },
  { pattern: /(["'`])nobody\1/g, reason: "the user of Unix" },
];

interface Found {
  readonly path: string;
  readonly line: number;
  readonly row: string;
  readonly words: string;
}

const PATTERNS = Object.entries(BANNED).map(([row, words]) => {
  const any = words.map((word) => word.replace(/ (?!\?)/g, "\\s+")).join("|");
  return { row, pattern: new RegExp(`\\b(?:${any})\\b`, "gi") };
});

/** Words apart, at the lines where they were: without the marks of comments, `heardMs` as `heard Ms`, `TOLD_MAX` as `TOLD MAX`. */
function inWords(text: string): string {
  const own = EXCEPTIONS.reduce((rest, { pattern }) => rest.replace(pattern, " "), text);
  return own
    .replace(/^([ \t]*)(?:\/\*\*?|\*(?!\/)|\/\/+|#+|>)/gm, "$1 ")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/_/g, " ");
}

function bannedWords({ path, text }: SourceFile): Found[] {
  const words = inWords(text);
  return PATTERNS.flatMap(({ row, pattern }) =>
    [...words.matchAll(pattern)].map(({ 0: found, index }) => ({
      ...{ path, row, line: words.slice(0, index).split("\n").length },
      words: found.replace(/\s+/g, " "),
    })),
  );
}

/** The first words of a comment that is no sentence: it has no subject. A bench begins with its question. */
const FRAGMENT = /^\s*(?:\S.*\s)?(?:\/\*\*?|\/\/\/?) ?(?:What|Of|Who|Whose)\b/;
/** The same of the first line of a block. */
const BLOCK_FRAGMENT = /^\s*\* (?:What|Of|Who|Whose)\b/;

function fragments({ path, text }: SourceFile): string[] {
  const lines = text.split("\n");
  return lines.flatMap((line, i) => {
    const before = lines[i - 1] ?? "";
    const goesOn = /^\s*\/\//.test(line) && /^\s*\/\//.test(before) && !/[.:?]\s*$/.test(before);
    const isQuestion = path.startsWith("bench/") && i <= 1;
    const isFragment = FRAGMENT.test(line) || (/^\s*\/\*\*$/.test(before) && BLOCK_FRAGMENT.test(line));
    return isFragment && !goesOn && !isQuestion ? [`${path}:${i + 1}: ${line.trim()}`] : [];
  });
}

const FOLDERS = ["src", "addon", "dashboard", "docs", "deploy", "setup", "test", "bench"];
const PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "Makefile"];
const GLOSSARY = "docs/glossary.md";
const SECTION = "## Words we do not use";

/** Of the glossary without its table of these words, of the changelog its newest section. */
function ownText({ path, text }: SourceFile): SourceFile {
  if (path === GLOSSARY) return { path, text: text.slice(0, text.indexOf(SECTION)) };
  return path === "CHANGELOG.md"
    ? {
        path,
        text: text
          .split(/^(?=## )/m)
          .slice(0, 2)
          .join(""),
      }
    : { path, text };
}

const tree = [...sourceFiles(...FOLDERS), ...sourceFiles().filter(({ path }) => PAGES.includes(path))]
  .filter(({ path }) => path !== "test/words.test.ts")
  .map(ownText);

test("the glossary has the same rows", () => {
  const table = readFileSync(join(ROOT, GLOSSARY), "utf8").split(SECTION)[1] ?? "";
  const rows = [...table.matchAll(/^\| (.+?) \| .+ \|$/gm)].map(([, row]) => row).filter((row) => row !== "Not");
  expect(rows).toEqual(Object.keys(BANNED));
});

test("no name, comment, text or document has a banned word", () => {
  expect(tree.flatMap(bannedWords)).toEqual([]);
});

test("no comment of product code begins with a fragment", () => {
  const product = tree.filter((file) => /\.(tsx?|css|h|c|cpp)$/.test(file.path) && !isTest(file));
  expect(product.filter(({ path }) => !/^(test|addon\/(test|fuzz))\//.test(path)).flatMap(fragments)).toEqual([]);
});

test.each([
  ["/** Of the base trio. */", 1],
  ["const a = 1; // What it is.", 1],
  ["/** Whose share it takes. */", 1],
  ["/**\n * What it is, and\n * Of what it is made.\n */", 1],
  ["/** The share of one. Of the others nothing is known. */", 0],
  ["// A line that goes on\n// Of which the second is no beginning.", 0],
])("the fragments of %s: %d", (text, count) => {
  expect(fragments({ path: "src/a.ts", text })).toHaveLength(count);
});

test.each([
  ["in camelCase", "const heardMs = 1;", "heard"],
  ["in capitals", "const TOLD_MAX = 1;", "TOLD"],
  ["at the end of a name", "#toldBy: readonly ToldByExporter[]", "told"],
  ["in a comment", "/** Whoever sends. */", "Whoever"],
  ["over the lines of a comment", "/**\n * A host gives\n * way to another.\n */", "gives way"],
  ["over the lines of a document", "for so\nlong", "so long"],
  ["in a text", 'log.info("nobody did it")', "nobody"],
])("a word is found %s", (_, text, words) => {
  expect(bannedWords({ path: "a.ts", text })[0]).toMatchObject({ words });
});

test("the line of a word is found", () => {
  expect(bannedWords({ path: "a.md", text: "# A\n\nIt tells all.\n" })).toMatchObject([{ line: 3, words: "tells" }]);
});

test.each([
  "history",
  "retold",
  'user: "nobody"',
  '<a id="edge-events-tell"></a>',
  "docs/interface.md#event-stream-tells",
  'test("has events in order #event-stream-tells #errors-tell-nothing-of-the-inside", f)',
])("%s has no banned word", (text) => {
  expect(bannedWords({ path: "a.md", text })).toEqual([]);
});
