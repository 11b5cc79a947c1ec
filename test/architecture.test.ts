/** Holds the arrows of the design, and what a reviewer would otherwise have to say again and again. */
import { describe, expect, test } from "bun:test";
import { basename, extname } from "node:path";
import {
  importsOf,
  includesOf,
  isTest,
  placesOf,
  ROOT,
  type SourceFile,
  sourceFiles,
  withoutComments,
} from "./source-tree.ts";

/** Rules of the domain: pure, and ignorant of the rims. */
const NOUNS = [
  "config",
  "net",
  "traffic",
  "detection",
  "mitigation",
  "sourceblock",
  "nodes",
  "scrub",
  "edge",
  "access",
  "audit",
  "machine",
];
/** Data alone, which everything may import: bounds, and what the addon's headers say. */
const DATA = ["src/limits.ts", "src/dataplane/native-constants.ts"];
/** What nouns may import besides nouns: of `system` only what reads no clock and waits for nothing. */
const GROUND = [...DATA, "src/system/error-message.ts", "src/system/record-table.ts", "src/system/stored-order.ts"];
/** Where the world begins; a scrub node's agent is a process of its own, with its own. */
const RIMS = [
  "scrub/agent",
  "http",
  "bgp",
  "dataplane",
  "storage",
  "geo",
  "notify",
  "release",
  "observability",
  "system",
];
/** What puts nouns and rims together; nothing but `main.ts` and each other imports from them. */
const ROOTS = ["cli", "service", "replay"];
/** All else of `src` lies in a folder. */
const TOP_FILES = ["src/limits.ts", "src/main.ts", "src/version.ts"];

/** Packages, and the one folder that knows each. */
const PACKAGE_HOMES: Readonly<Record<string, string>> = {
  elysia: "http",
  "@elysiajs": "http",
  pino: "observability",
  "prom-client": "observability",
  "@connectrpc": "bgp",
  "@bufbuild": "bgp",
  "bun:sqlite": "storage",
  "@clickhouse": "storage",
  nodemailer: "notify",
  "mmdb-lib": "geo",
  yaml: "config",
  "ipaddr.js": "net",
};

/** The native side: what each folder may include of ours. */
const NATIVE_ARROWS: Readonly<Record<string, readonly string[]>> = {
  abi: ["abi"],
  bpf: ["bpf", "abi"],
  core: ["core", "abi"],
  binding: ["binding", "core", "abi"],
};

/** Parts of the core: what each may include of the others. */
const CORE_ARROWS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  parse: ["base"],
  count: ["base", "parse"],
  device: ["base"],
  program: ["base", "device"],
  connections: [],
  capture: ["base", "parse", "count", "device", "program"],
  filter: ["base", "device", "program"],
  inline: ["base", "parse", "count", "program", "capture", "filter"],
  findings: ["device", "program", "capture", "filter", "inline"],
};

const source = sourceFiles("src");
const production = source.filter((file) => !isTest(file) && file.path.endsWith(".ts"));
const native = sourceFiles("addon").filter(({ path }) => /\.(h|c|cpp)$/.test(path));
const written = [...source, ...native, ...sourceFiles("test", "bench", "dashboard")].filter(({ path }) =>
  [".ts", ".tsx", ".css", ".h", ".c", ".cpp"].includes(extname(path)),
);

/** `src/config/load/load.ts` is in `config`; a file of `src` itself is in none. */
function folderOf(path: string): string | undefined {
  const steps = path.split("/");
  if (path.startsWith("src/scrub/agent/")) return "scrub/agent";
  return steps.length > 2 ? steps[1] : undefined;
}

function packageOf(name: string): string {
  return name.startsWith("@")
    ? (name.split("/")[0] ?? name)
    : name.startsWith("node:")
      ? name
      : (name.split("/")[0] ?? name);
}

test("the tree is read: imports and includes are seen", () => {
  const load = source.find(({ path }) => path === "src/config/load/load.ts");
  expect(load && importsOf(load)).toContain("src/config/load/yaml-document.ts");
  expect(load && importsOf(load)).toContain("node:fs");
  const parser = native.find(({ path }) => path === "addon/core/parse/packet_parser.cpp");
  expect(parser && includesOf(parser)).toContain("packet_parser.h");
});

describe("TypeScript", () => {
  test("every folder of src is a noun, a rim or a root, and few files are in none", () => {
    const folders = new Set(source.map(({ path }) => folderOf(path)).filter((folder) => folder !== undefined));
    const known = [...NOUNS, ...RIMS, ...ROOTS];
    expect([...folders].filter((folder) => !known.includes(folder))).toEqual([]);
    const top = source.map(({ path }) => path).filter((path) => folderOf(path) === undefined);
    expect(top.sort()).toEqual(TOP_FILES);
  });

  test("a noun imports nouns and the ground, never a rim or a root", () => {
    const faults = production
      .filter(({ path }) => NOUNS.includes(folderOf(path) ?? ""))
      .flatMap((file) =>
        importsOf(file)
          .filter((name) => name.startsWith("src/") && !GROUND.includes(name) && !NOUNS.includes(folderOf(name) ?? ""))
          .map((name) => `${file.path} imports ${name}`),
      );
    expect(faults).toEqual([]);
  });

  test("a rim imports no root either", () => {
    const faults = production
      .filter(({ path }) => RIMS.includes(folderOf(path) ?? ""))
      .flatMap((file) =>
        importsOf(file)
          .filter((name) => name.startsWith("src/") && !DATA.includes(name) && ROOTS.includes(folderOf(name) ?? "src"))
          .map((name) => `${file.path} imports ${name}`),
      );
    expect(faults).toEqual([]);
  });

  test("what runs knows nothing of the commands that start it", () => {
    const faults = production
      .filter(({ path }) => ["service", "replay"].includes(folderOf(path) ?? ""))
      .flatMap((file) => importsOf(file).filter((name) => /^src\/(cli\/|main)/.test(name)));
    expect(faults).toEqual([]);
  });

  test("each package is known to one folder", () => {
    const faults = production.flatMap((file) =>
      importsOf(file)
        .filter((name) => (PACKAGE_HOMES[packageOf(name)] ?? folderOf(file.path)) !== folderOf(file.path))
        .map((name) => `${file.path} imports ${name}`),
    );
    expect(faults).toEqual([]);
  });

  test("no files of src import each other in a circle, not even types", () => {
    expect(importCircles(production)).toEqual([]);
  });

  test("the addon's constants import nothing", () => {
    const constants = production.find(({ path }) => path === "src/dataplane/native-constants.ts");
    expect(constants && importsOf(constants)).toEqual([]);
  });

  test("nothing in src imports from tests or benches", () => {
    const faults = production.flatMap((file) =>
      importsOf(file)
        .filter((name) => /^(test|bench)\//.test(name) || name.endsWith(".test.ts"))
        .map((name) => `${file.path} imports ${name}`),
    );
    expect(faults).toEqual([]);
  });

  test("the dashboard has the API's types from src, and nothing that runs but the limits", () => {
    const values = /^import (?!type )[^;]*?from "((?:\.\.\/)+src\/[^"]+)";/gm;
    const faults = sourceFiles("dashboard")
      .filter((file) => !isTest(file) && /\.tsx?$/.test(file.path))
      .flatMap(({ path, text }) => [...text.matchAll(values)].map(([, name = ""]) => `${path} imports ${name}`))
      .filter((fault) => !fault.endsWith("src/limits.ts"));
    expect(faults).toEqual([]);
  });

  test("only dataplane loads the addon", () => {
    const faults = production
      .filter(({ path }) => folderOf(path) !== "dataplane")
      .flatMap((file) => placesOf(/\.node["'`]|\bdlopen\(|\bcreateRequire\(/, file));
    expect(faults).toEqual([]);
  });

  test("only system reads a clock, sets a timer, reads the environment or takes a signal", () => {
    const world =
      /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|\bhrtime\b|\bnanoseconds\(|\bset(Timeout|Interval|Immediate)\(|\bBun\.sleep|\bprocess\.env\b|\bBun\.env\b|\bimport\.meta\.env\b|\bprocess\.on\(/;
    const faults = production
      .filter(({ path }) => folderOf(path) !== "system")
      .flatMap(({ path, text }) => placesOf(world, { path, text: withoutComments(text) }));
    expect(faults).toEqual([]);
  });

  test("no any", () => {
    const any = /[:<,|&(]\s*any\b\s*[^\w\s:]|\bas any\b|:\s*any$/;
    const faults = written
      .filter(({ path }) => /\.tsx?$/.test(path) && path !== "test/architecture.test.ts")
      .flatMap(({ path, text }) => placesOf(any, { path, text: withoutComments(text) }));
    expect(faults).toEqual([]);
  });
});

/** The paths of each circle, sorted: files that each reach all others, and themselves, by imports. */
function importCircles(files: readonly SourceFile[]): string[] {
  const imports = new Map(files.map((file) => [file.path, importsOf(file)]));
  const reached = (from: string): Set<string> => {
    const seen = new Set<string>();
    const open = [from];
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      for (const next of imports.get(path) ?? []) {
        if (!imports.has(next) || seen.has(next)) continue;
        seen.add(next);
        open.push(next);
      }
    }
    return seen;
  };
  const reaches = new Map(files.map(({ path }) => [path, reached(path)]));
  const circles = files
    .map(({ path }) => [...(reaches.get(path) ?? [])].filter((other) => reaches.get(other)?.has(path)))
    .filter((circle) => circle.length > 0);
  return [...new Set(circles.map((circle) => circle.sort().join(" ")))];
}

describe("the native side", () => {
  /** The folders that have a file of this name: a quoted include takes the one beside it first. */
  const homes = Map.groupBy(
    native.map(({ path }) => ({ name: basename(path), folder: folderOf(path) ?? "" })),
    ({ name }) => name,
  );

  test("includes along binding → core → abi ← bpf", () => {
    const faults = native.flatMap((file) => {
      const allowed = NATIVE_ARROWS[folderOf(file.path) ?? ""];
      if (allowed === undefined) return [];
      return includesOf(file)
        .filter((name) => homes.get(name)?.some(({ folder }) => allowed.includes(folder)) === false)
        .map((name) => `${file.path} includes ${name}`);
    });
    expect(faults).toEqual([]);
  });

  test("includes along the parts of the core, each header by its part", () => {
    const quoted = /^\s*#\s*include\s*"(?:(\w+)\/)?(\w+\.h)"/gm;
    const faults = native
      .filter(({ path }) => path.startsWith("addon/core/"))
      .flatMap(({ path, text }) => {
        const part = path.split("/")[2] ?? "";
        const allowed = [part, ...(CORE_ARROWS[part] ?? [])];
        return [...text.matchAll(quoted)]
          .filter(([, of, name = ""]) => !(of === undefined ? /(_abi|\.skel)\.h$/.test(name) : allowed.includes(of)))
          .map(([line]) => `${path}: ${line}`);
      });
    expect(faults).toEqual([]);
    expect(Object.keys(CORE_ARROWS).sort()).toEqual(partsOfCore());
  });

  test("knows Node-API in binding only", () => {
    const faults = native
      .filter(({ path }) => folderOf(path) !== "binding")
      .flatMap((file) =>
        includesOf(file)
          .filter((name) => /napi|node_api/.test(name))
          .map((name) => `${file.path}: ${name}`),
      );
    expect(faults).toEqual([]);
  });

  test("builds skeletons of BPF programs into core only", () => {
    const faults = native
      .filter(({ path }) => !["core", "test"].includes(folderOf(path) ?? ""))
      .flatMap((file) =>
        includesOf(file)
          .filter((name) => name.endsWith(".skel.h"))
          .map((name) => `${file.path}: ${name}`),
      );
    expect(faults).toEqual([]);
  });
});

function partsOfCore(): string[] {
  const parts = native.map(({ path }) => path.split("/")).filter((steps) => steps[1] === "core" && steps.length === 4);
  return [...new Set(parts.map((steps) => steps[2] ?? ""))].sort();
}

describe("every file", () => {
  test("has at most 400 lines", () => {
    const faults = written
      .map(({ path, text }) => ({ path, lines: text.trimEnd().split("\n").length }))
      .filter(({ lines }) => lines > 400);
    expect(faults).toEqual([]);
  });

  test("is named for what it is", () => {
    const vague = /(^|[-_./])(utils?|helpers?|common|managers?|misc|shared)([-_./]|$)|(^|\/)index\.ts$/;
    expect(written.map(({ path }) => path).filter((path) => vague.test(path))).toEqual([]);
  });

  test("opens by saying what it is, unless its header or its route says so", () => {
    const paths = new Set(written.map(({ path }) => path));
    const faults = written
      .filter((file) => !isTest(file) && !/^(#!.*\n)?\s*(\/\*|\/\/)/.test(file.text))
      .filter(({ path }) => !path.startsWith("src/http/routes/"))
      .filter(({ path }) => !(path.endsWith(".cpp") && paths.has(path.replace(/cpp$/, "h"))));
    expect(faults.map(({ path }) => path)).toEqual([]);
  });

  test("names no machine and no package registry", () => {
    const registry = /https?:\/\/[^\s/"']*(registry|artifactory|nexus|verdaccio|mirror|proxy)[^\s"']*/i;
    const machine = new RegExp(`${RegExp.escape(ROOT)}|/(root|home/\\w+)/`);
    const faults = sourceFiles()
      .filter(({ path }) => path !== "test/architecture.test.ts")
      .flatMap((file) => [...placesOf(registry, file), ...placesOf(machine, file)]);
    expect(faults).toEqual([]);
  });
});

/** A rule that finds nothing may be blind: each pattern is shown one thing that it must find. */
test("the rules see what they forbid", () => {
  const file = (text: string): SourceFile => ({ path: "src/net/x.ts", text });
  expect(importsOf(file('import { a } from "../http/nothing.ts";\nimport type { B } from "elysia";'))).toEqual([
    "src/http/nothing.ts",
    "elysia",
  ]);
  expect(importsOf(file('const a = await import("../bgp/a.ts");\nimport "./b.ts";'))).toEqual([
    "src/bgp/a.ts",
    "src/net/b.ts",
  ]);
  expect(includesOf(file('#include <napi.h>\n  #include "core/shard.h"'))).toEqual(["napi.h", "shard.h"]);
  const importing = (path: string, ...of: string[]): SourceFile => ({
    path: `src/${path}`,
    text: of.map((name) => `import type { A } from "./${name}";`).join("\n"),
  });
  const [a, b, c, d] = [
    importing("a.ts", "b.ts"),
    importing("b.ts", "c.ts", "d.ts"),
    importing("c.ts"),
    importing("d.ts"),
  ];
  expect(importCircles([a, b, c, d])).toEqual([]);
  expect(importCircles([d, a, b, importing("c.ts", "a.ts")])).toEqual(["src/a.ts src/b.ts src/c.ts"]);
  expect(withoutComments("a(); // Date.now()\n/* setTimeout( */ b();")).toBe("a(); \n b();");
});
