/**
 * Comments and tests cite the project's own documents by anchors, and its Markdown files link to each other: here all of
 * these are followed. A number of a section says nothing to a reader who does not have that very edition.
 */
import { describe, expect, test } from "bun:test";
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

function missingPaths({ path, text }: SourceFile, isThere: (path: string) => boolean): string[] {
  return [...text.matchAll(PATH)]
    .map(([, named = ""]) => named)
    .filter(
      (named) =>
        !/[A-Z]{3}/.test(
          named
            .replace(/\.\w+$/, "")
            .split("/")
            .at(-1) ?? "",
        ) && !isThere(named),
    )
    .map((named) => `${path}: ${named}`);
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
  const cited = tree.flatMap(({ text }) => [...text.matchAll(CITATION)]);
  expect(cited.length).toBeGreaterThan(100);
  // Those of Markdown files are links, which are relative to them.
  expect(tree.filter((file) => !markdown.includes(file)).flatMap((file) => brokenCitations(file, onDisk))).toEqual([]);
});

test("every relative link of a Markdown file leads to a file, and to an anchor where it names one", () => {
  expect(markdown.map(({ path }) => path)).toEqual(expect.arrayContaining(["README.md", "docs/interface.md"]));
  expect(markdown.flatMap(({ text }) => linkTargets(text)).length).toBeGreaterThan(50);
  expect(markdown.flatMap((file) => brokenLinks(file, onDisk))).toEqual([]);
});

test("every file that a Markdown file names is there", () => {
  const isThere = (path: string) => existsSync(join(ROOT, path));
  expect(markdown.flatMap((file) => missingPaths(file, isThere))).toEqual([]);
  const page = { path: "docs/a.md", text: "See `src/gone.ts`, `src/there.ts` and `src/notify/NAME.ts`." };
  expect(missingPaths(page, (path) => path === "src/there.ts")).toEqual(["docs/a.md: src/gone.ts"]);
});

test("no comment and no test cites a numbered section", () => {
  const written = tree.filter(({ path }) => /\.(ts|tsx|css|h|c|cpp|sh|yaml)$|Makefile$/.test(path));
  expect(written.filter(isTest).length).toBeGreaterThan(100);
  expect(written.flatMap(numberedSections)).toEqual([]);
});

test("no test file is named after a numbered section", () => {
  expect(tree.filter(({ path }) => /(?:^|\/)section-\d/.test(path)).map(({ path }) => path)).toEqual([]);
});

test.each(markdown.map(({ path, text }) => ({ path, text })))("$path has each anchor once", ({ text }) => {
  const ids = explicitAnchors(text).map(({ id }) => id);
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
});

describe("what is broken is seen:", () => {
  const page =
    '<a id="ban"></a>\n## A ban\n\n- <a id="ban-rate"></a>`rate`\n\n```md\n<a id="quoted"></a>\n[x](gone.md)\n```\n';
  const read: ReadFile = (path) => (["docs/page.md", "page.md"].includes(path) ? page : null);
  const citations = (cited: string) => brokenCitations({ path: "a.ts", text: `/** See ${cited}. */` }, read);
  const links = (text: string) => brokenLinks({ path: "README.md", text }, read);
  const sections = (text: string) => numberedSections({ path: "a.test.ts", text }).length;

  test("a citation of an anchor or a file that there is not", () => {
    expect(citations("docs/page.md#ban")).toEqual([]);
    expect(citations("docs/page.md#ban-rate")).toEqual([]);
    expect(citations("docs/page.md#ban-rates")).toEqual([expect.stringContaining("no such anchor")]);
    expect(citations("docs/page.md#quoted")).toEqual([expect.stringContaining("no such anchor")]);
    expect(citations("docs/gone.md#ban")).toEqual([expect.stringContaining("no such file")]);
  });

  test("a heading is an anchor outside of docs alone, where it may be worded anew", () => {
    expect(citations("docs/page.md#a-ban")).toEqual([expect.stringContaining("no such anchor")]);
    expect(citations("page.md#a-ban")).toEqual([]);
  });

  test("a link to an anchor or a file that there is not", () => {
    expect(
      links("[a](docs/page.md#ban), [b](docs/page.md#a-ban), [c](https://example.net/x.md#y), `[d](gone.md)`"),
    ).toEqual([]);
    expect(links("# Here\n[a](#here)")).toEqual([]);
    expect(links("# Here\n[a](#there)")).toEqual(["README.md: #there: no such anchor"]);
    expect(links("[a](docs/page.md#none)")).toEqual(["README.md: docs/page.md#none: no such anchor"]);
    expect(links("![a](gone.png)")).toEqual(["README.md: gone.png: no such file"]);
  });

  test.each([
    "// as the interface has it (interface, section 4.5)",
    "/** Who may call (interface 2.14; and more). */",
    "/** Interface 3.3: all go. */",
    "/** The limits of section 8. */",
    "/** Choices, 6: audit. */",
    '  test("2.2 rate is re-read", () => {',
    'describe("7 404", () => {',
    'describe("5, roles and tenants:", () => {',
    ']))("2.6 field is there", () => {',
  ])("a numbered section: %s", (line) => {
    expect(sections(line)).toBe(1);
  });

  test.each([
    "/** By weak comparison (RFC 9110, section 13.1.2). */",
    "xsk_socket__create(&socket, interface, 0, umem)",
    'test("200 parallel requests are answered", () => {',
    "/** The section `api` of the configuration. */",
  ])("and not %s", (line) => {
    expect(sections(line)).toBe(0);
  });
});
