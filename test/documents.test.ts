/** The documents say what the tree has: configurations that are valid, metrics that exist, licences on what needs them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { checkConfig } from "../src/config/check.ts";
import { sourceFiles } from "./source-tree.ts";

const PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];

const files = sourceFiles();
const documents = files.filter(({ path }) => PAGES.includes(path) || /^docs\/.*\.md$/.test(path));
const code = sourceFiles("src")
  .filter(({ path }) => !path.endsWith(".test.ts"))
  .map(({ text }) => text)
  .join("\n");

test("the documents are found", () => {
  expect(documents.map(({ path }) => path)).toContain("README.md");
  expect(documents.length).toBeGreaterThan(10);
});

describe("every whole configuration in the documents is valid", () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), `floodwall-documents-${process.pid}-`));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const examples = documents.flatMap(({ path, text }) =>
    [...text.matchAll(/^```yaml\n(.*?)^```/gms)]
      .map(([, yaml = ""], i) => ({ name: `${path}, example ${i + 1}`, yaml }))
      .filter(({ yaml }) => /^networks:/m.test(yaml) && /^thresholds:/m.test(yaml)),
  );

  test("there are some", () => expect(examples.length).toBeGreaterThan(1));

  test.each(examples)("$name", ({ yaml }) => {
    const path = join(directory, "floodwall.yaml");
    writeFileSync(path, yaml);
    const { lines, exitCode } = checkConfig(path, {
      read: () => null,
      readFile: () => ({ kind: "variables", variables: new Map() }),
    });
    expect(exitCode === 0 ? [] : lines).toEqual([]);
  });
});

test("every metric in the documents exists", () => {
  const unknown = documents.flatMap(({ path, text }) =>
    [...text.matchAll(/\bsvc_[a-z0-9_]*[a-z0-9]\b(?!_)/g)]
      .filter(([name]) => !code.includes(`"${name}"`))
      .map(([name]) => `${path}: ${name}`),
  );
  expect(unknown).toEqual([]);
});

test("every link to a place in a document leads somewhere", () => {
  const anchors = new Map(documents.map(({ path, text }) => [path, new Set(anchorsOf(text))]));
  const broken = documents.flatMap(({ path, text }) =>
    [...text.matchAll(/\]\(([^)#\s]*)#([^)\s]+)\)/g)].flatMap(([link, target = "", anchor = ""]) => {
      if (target.includes("://")) return [];
      const known = anchors.get(target === "" ? path : join(dirname(path), target));
      return known === undefined || known.has(anchor) ? [] : [`${path}: ${link}`];
    }),
  );
  expect(broken).toEqual([]);
});

/** Headings as GitHub names them, and anchors that a document sets itself. */
function anchorsOf(text: string): string[] {
  const prose = text.replaceAll(/^```.*?^```/gms, "");
  const headings = [...prose.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
  return [...headings, ...[...prose.matchAll(/<a id="([^"]+)"/g)].map(([, id = ""]) => id)];
}

describe("licences", () => {
  const SPDX = "SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause";
  const programs = files.filter(({ path }) => path.endsWith(".bpf.c") || /^addon\/(bpf|abi)\//.test(path));

  test("BPF programs and the headers that they share name theirs in the first line", () => {
    expect(programs.length).toBeGreaterThan(10);
    expect(programs.filter(({ text }) => !text.split("\n")[0]?.includes(SPDX)).map(({ path }) => path)).toEqual([]);
  });

  test("the texts of all are there", () => {
    const texts = sourceFiles("LICENSES").map(({ path }) => path);
    expect(texts.toSorted()).toEqual(["LICENSES/BSD-2-Clause.txt", "LICENSES/GPL-2.0-only.txt"]);
  });
});
