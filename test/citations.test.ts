/**
 * Comments and tests cite the project's own documents by anchors, and its Markdown files link to each other: here all of
 * these are followed. A number of a section says nothing to a reader who does not have that very edition.
 */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { explicitAnchors, headingAnchors, linkTargets } from "./fixtures/markdown.ts";
import { isTest, ROOT, type SourceFile, sourceFiles } from "./source-tree.ts";

/** Reads a file by its path from the root; null: there is none. */
type ReadFile = (path: string) => string | null;

/** Without this file, whose examples are broken on purpose. */
const tree = sourceFiles().filter(({ path }) => path !== "test/citations.test.ts");
const markdown = tree.filter(({ path }) => path.endsWith(".md"));

/** `docs/interface.md#ban`: what is in `docs` has anchors of its own, other files those of their headings. */
const CITATION = /(?<![\w./-])((?:[\w-]+\/)*[\w-]+\.md)#([\w-]+)/g;

function brokenCitations({ path, text }: SourceFile, read: ReadFile): string[] {
  return [...text.matchAll(CITATION)].flatMap(([citation, file = "", anchor = ""]) => {
    const cited = read(file);
    if (cited === null) return [`${path}: ${citation}: no such file`];
    const own = explicitAnchors(cited).map(({ id }) => id);
    const anchors = file.startsWith("docs/") ? own : [...own, ...headingAnchors(cited)];
    return anchors.includes(anchor) ? [] : [`${path}: ${citation}: no such anchor`];
  });
}

function brokenLinks({ path, text }: SourceFile, read: ReadFile): string[] {
  return linkTargets(text).flatMap((target) => {
    if (/^[a-z][a-z+.-]*:/i.test(target)) return [];
    const [name = "", anchor] = target.split("#");
    const file = name === "" ? path : normalize(join(dirname(path), decodeURIComponent(name)));
    if (anchor === undefined) return existsSync(join(ROOT, file)) ? [] : [`${path}: ${target}: no such file`];
    const linked = file === path ? text : read(file);
    if (linked === null) return [`${path}: ${target}: no such file`];
    const anchors = [...explicitAnchors(linked).map(({ id }) => id), ...headingAnchors(linked)];
    return anchors.includes(anchor) ? [] : [`${path}: ${target}: no such anchor`];
  });
}

/** In running text: `src/mitigation/ban.ts`. A name in capitals stands for the reader's own. */
const PATH = /`((?:src|addon|dashboard|test|bench|deploy|setup|docs)\/[\w./-]+\.\w+)`/g;
const READERS_OWN = /[A-Z]{3}[^/]*\.\w+$/;

function missingPaths({ path, text }: SourceFile, isThere: (path: string) => boolean): string[] {
  const named = [...text.matchAll(PATH)].map(([, name = ""]) => name);
  return named.filter((name) => !READERS_OWN.test(name) && !isThere(name)).map((name) => `${path}: ${name}`);
}

/** `admit()` in `src/mitigation/admission.ts`, `Backend` (`src/http/backend.ts`): a name, and the file that has it. */
const PLACED =
  /`#?(\w+)(?:\(\))?`\s+(?:(?:in|of)\s+|\()`((?:src|addon|dashboard|test|bench|deploy|setup)\/[\w./-]+\.\w+)`/g;

function misplacedNames({ path, text }: SourceFile, read: ReadFile): string[] {
  return [...text.matchAll(PLACED)].flatMap(([, name = "", file = ""]) =>
    new RegExp(`\\b${name}\\b`).test(read(file) ?? "") ? [] : [`${path}: ${name} is not in ${file}`],
  );
}

/** Documents of others are numbered for good. */
const NUMBERED_FOR_GOOD = /\bRFC \d+|HTML Standard|Semantic Versioning/;
const SECTION = /\bsections? \d/i;
const EDITION = /\(interface,? \d|\binterface(?:'s)?,? \d+\.\d|\bchoices,? (?:sections? )?\d/i;
const NUMBERED_NAME = /(?:\b(?:test|describe)(?:\.\w+)*|\))\(\s*["'`]\d(?:\.\d{1,2})?,? /;

/** Lines that cite a numbered section of a document of ours, and tests that are named after one. */
function numberedSections({ path, text }: SourceFile): string[] {
  const isTypeScript = /\.tsx?$/.test(path);
  return text.split("\n").flatMap((line, i) => {
    const isCited = (SECTION.test(line) && !NUMBERED_FOR_GOOD.test(line)) || EDITION.test(line);
    const isNamed = isTypeScript && NUMBERED_NAME.test(line);
    return isCited || isNamed ? [`${path}:${i + 1}: ${line.trim()}`] : [];
  });
}

const onDisk: ReadFile = (path) => {
  const file = join(ROOT, path);
  return existsSync(file) ? readFileSync(file, "utf8") : null;
};

test("every citation of a document leads to one of its anchors", () => {
  expect(tree.flatMap(({ text }) => [...text.matchAll(CITATION)]).length).toBeGreaterThan(100);
  // Those of Markdown files are links, which are relative to them.
  expect(tree.filter((file) => !markdown.includes(file)).flatMap((file) => brokenCitations(file, onDisk))).toEqual([]);
});

test("every relative link of a Markdown file leads to a file, and to an anchor where it names one", () => {
  expect(markdown.map(({ path }) => path)).toEqual(expect.arrayContaining(["README.md", "docs/interface.md"]));
  expect(markdown.flatMap((file) => brokenLinks(file, onDisk))).toEqual([]);
});

test("every file that the first comment of a file names is there", () => {
  const named = tree.flatMap(({ path, text }) => {
    const [comment = ""] = /^\/\*\*[\s\S]*?\*\//.exec(text) ?? [];
    return [...comment.matchAll(/(?<![\w/])(?:src|addon|dashboard|test|bench)\/[\w./-]+\.\w+/g)].map(([name]) => ({
      path,
      name,
    }));
  });
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ name }) => !existsSync(join(ROOT, name)))).toEqual([]);
});

test("every file that a Markdown file names is there, and each has its anchors once", () => {
  expect(markdown.flatMap((file) => missingPaths(file, (path) => existsSync(join(ROOT, path))))).toEqual([]);
  const anchors = markdown.flatMap(({ path, text }) => explicitAnchors(text).map(({ id }) => `${path}#${id}`));
  expect(anchors.filter((anchor, i) => anchors.indexOf(anchor) !== i)).toEqual([]);
});

test("every name that a Markdown file places in a file of the source is there", () => {
  expect(markdown.flatMap(({ text }) => [...text.matchAll(PLACED)]).length).toBeGreaterThan(30);
  expect(markdown.flatMap((file) => misplacedNames(file, onDisk))).toEqual([]);
});

test("no comment and no test cites a numbered section, and no test file is named after one", () => {
  const written = tree.filter(({ path }) => /\.(ts|tsx|css|h|c|cpp|sh|yaml)$|Makefile$/.test(path));
  expect(written.filter(isTest).length).toBeGreaterThan(100);
  expect(written.flatMap(numberedSections)).toEqual([]);
  expect(tree.filter(({ path }) => /(?:^|\/)section-\d/.test(path)).map(({ path }) => path)).toEqual([]);
});

const PAGE =
  '<a id="ban"></a>\n## A ban\n\n- <a id="ban-rate"></a>`rate`\n\n```md\n<a id="quoted"></a>\n[x](gone.md)\n```\n';
const pageAlone: ReadFile = (path) => (["docs/page.md", "page.md"].includes(path) ? PAGE : null);

/** The second part: what is amiss with it, or none. In docs a heading may be worded again. */
test.each([
  ["docs/page.md#ban-rate", []],
  ["docs/page.md#ban-rates", ["a.ts: docs/page.md#ban-rates: no such anchor"]],
  ["docs/page.md#quoted", ["a.ts: docs/page.md#quoted: no such anchor"]],
  ["docs/page.md#a-ban", ["a.ts: docs/page.md#a-ban: no such anchor"]],
  ["page.md#a-ban", []],
  ["docs/gone.md#ban", ["a.ts: docs/gone.md#ban: no such file"]],
])("the citation %s: %j", (cited, faults) => {
  expect(brokenCitations({ path: "a.ts", text: `/** See ${cited}. */` }, pageAlone)).toEqual(faults);
});

test.each([
  ["[a](docs/page.md#ban), [b](docs/page.md#a-ban), [c](https://example.net/x.md#y), `[d](gone.md)`", []],
  ["# Here\n[a](#here)", []],
  ["# Here\n[a](#there)", ["README.md: #there: no such anchor"]],
  ["[a](docs/page.md#none)", ["README.md: docs/page.md#none: no such anchor"]],
  ["![a](gone.png)", ["README.md: gone.png: no such file"]],
])("the link %j: %j", (text, faults) => {
  expect(brokenLinks({ path: "README.md", text }, pageAlone)).toEqual(faults);
});

test("the path of a file that is gone", () => {
  const text = "See `src/gone.ts`, `src/there.ts` and `src/notify/NAME.ts`.";
  expect(missingPaths({ path: "docs/a.md", text }, (path) => path === "src/there.ts")).toEqual([
    "docs/a.md: src/gone.ts",
  ]);
});

test("a name that is not where a document says it is", () => {
  const text = "`admit()` in `src/a.ts`, `Backend`\n(`src/a.ts`), `#make` of `src/a.ts`, `BackendView` in `src/a.ts`.";
  expect(misplacedNames({ path: "docs/a.md", text }, () => "function admit() {} interface BackendViews {}")).toEqual([
    "docs/a.md: Backend is not in src/a.ts",
    "docs/a.md: make is not in src/a.ts",
    "docs/a.md: BackendView is not in src/a.ts",
  ]);
});

test.each([
  ["// as the interface has it (interface, section 4.5)", 1],
  ["/** Who may call (interface 2.14; and more). */", 1],
  ["/** The limits of section 8. */", 1],
  ["/** Choices, 6: audit. */", 1],
  ['  test("2.2 rate is re-read", () => {', 1],
  ['describe("5, roles and tenants", () => {', 1],
  [']))("2.6 field is there", () => {', 1],
  ["/** By weak comparison (RFC 9110, section 13.1.2). */", 0],
  ["xsk_socket__create(&socket, interface, 0, umem)", 0],
  ['test("200 parallel requests are answered", () => {', 0],
])("the numbered sections of %s: %d", (text, count) => {
  expect(numberedSections({ path: "a.test.ts", text })).toHaveLength(count);
});
