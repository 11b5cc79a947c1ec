/** Holds the arrows of the design, and what a reviewer would otherwise have to say again and again. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
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

const words = (text: string) => text.trim().split(/\s+/);

/** Rules of the domain: pure, and ignorant of the rims. */
const NOUNS = words(
  "net traffic detection incident mitigation sourceblock nodes scrub edge access audit machine telemetry schema targets cluster",
);
/** Folders within a noun that talk to the outside: a scrub node's agent, and what a brain exchanges with others. */
const RIMS_WITHIN = words("scrub/agent cluster/link cluster/etcd");
/** Where the world begins. */
const RIMS = words("http bgp divert dataplane storage geo prefixset notify release observability oidc system").concat(
  RIMS_WITHIN,
);
/** The configuration file: it knows nouns and rims by what their sections say, and no noun or rim knows it. */
const CONFIG = "config";
/** What puts nouns and rims together; nothing but `main.ts` and each other imports from them. */
const ROOTS = ["cli", "service", "replay"];
/** All else of `src` lies in a folder. */
const TOP_FILES = ["src/limits.ts", "src/main.ts", "src/version.ts"];
/** Data alone, which everything may import: bounds, and what the addon's headers say. */
const CONSTANTS = "src/native/constants.ts";
const DATA = ["src/limits.ts", CONSTANTS];
/** What nouns may import besides nouns: of `system` only what reads no clock and waits for nothing. */
const GROUND = [
  ...DATA,
  ...words("env-lines error-message expiry now record-table standing-orders stored-order").map(
    (name) => `src/system/${name}.ts`,
  ),
];

/** Packages, and the one folder that knows each. */
const PACKAGE_HOMES: Readonly<Record<string, string>> = {
  ...{ elysia: "http", "@elysiajs": "http", pino: "observability", "prom-client": "observability" },
  ...{ "@connectrpc": "bgp", "@bufbuild": "bgp", "bun:sqlite": "storage", "@clickhouse": "storage" },
  ...{ nodemailer: "notify", "openid-client": "oidc", "mmdb-lib": "geo", yaml: "config", "ipaddr.js": "net" },
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
  learn: ["base", "count"],
  device: ["base"],
  program: ["base", "device"],
  connections: [],
  capture: ["base", "parse", "count", "device", "program"],
  filter: ["base", "device", "program"],
  flow: ["base", "parse", "count"],
  collector: ["base", "count", "capture", "flow"],
  inline: ["base", "parse", "count", "program", "capture", "filter"],
  findings: ["device", "program", "parse", "capture", "filter", "inline"],
};

const source = sourceFiles("src");
const production = source.filter((file) => !isTest(file) && file.path.endsWith(".ts"));
const native = sourceFiles("addon").filter(({ path }) => /\.(h|c|cpp)$/.test(path));
const written = [...source, ...native, ...sourceFiles("test", "bench", "dashboard")].filter(({ path }) =>
  [".ts", ".tsx", ".css", ".h", ".c", ".cpp"].includes(extname(path)),
);

/** `src/config/load/load.ts` is in `config`; a file of `src` itself is in none. */
function folderOf(path: string): string {
  const steps = path.split("/");
  const within = RIMS_WITHIN.find((folder) => path.startsWith(`src/${folder}/`));
  if (within !== undefined) return within;
  return (steps.length > 2 ? steps[1] : undefined) ?? "";
}

/** A folder of `src` with all below it, or a file of `src` itself. */
const roomOf = (path: string) => path.split("/")[1] ?? "";

const isIn = (folders: readonly string[], path: string) => folders.includes(folderOf(path));
const isOurs = (name: string) => name.startsWith("src/");

/** What files of the service import and should not. */
function imports(isFault: (name: string, path: string) => boolean, files = production): string[] {
  return files.flatMap((file) =>
    importsOf(file)
      .filter((name) => isFault(name, file.path))
      .map((name) => `${file.path} imports ${name}`),
  );
}

/** Who but a root knows the configuration, and what it knows of rims beside the types of their sections. */
function seesTooMuch(name: string, path: string): boolean {
  if (isIn([CONFIG], name)) return !isIn([CONFIG, ...ROOTS], path);
  const isSection = name.endsWith("-config.ts") || GROUND.includes(name);
  return isIn([CONFIG], path) && isIn([...ROOTS, ...RIMS], name) && !isSection;
}

/** What native files outside of these folders include and should not. */
function includesOutside(folders: readonly string[], pattern: RegExp): string[] {
  const outside = native.filter(({ path }) => !isIn(folders, path));
  return outside.flatMap((file) =>
    includesOf(file)
      .filter((name) => pattern.test(name))
      .map((name) => `${file.path}: ${name}`),
  );
}

describe("TypeScript", () => {
  test("every folder of src is a noun, a rim or a root, and few files are in none", () => {
    const known = [...NOUNS, ...RIMS, CONFIG, ...ROOTS, "native", ""];
    expect(source.map(({ path }) => path).filter((path) => !isIn(known, path))).toEqual([]);
    expect(
      source
        .map(({ path }) => path)
        .filter((path) => folderOf(path) === "")
        .sort(),
    ).toEqual(TOP_FILES);
  });

  test("a noun imports nouns and the ground, never a rim or a root", () => {
    const allowed = (name: string) => !isOurs(name) || GROUND.includes(name) || isIn(NOUNS, name);
    expect(imports((name, path) => isIn(NOUNS, path) && !allowed(name))).toEqual([]);
  });

  test("a rim imports no root either, nor the configuration", () => {
    const isRoot = (name: string) => isOurs(name) && !DATA.includes(name) && isIn([CONFIG, ...ROOTS, ""], name);
    expect(imports((name, path) => isIn(RIMS, path) && isRoot(name))).toEqual([]);
  });

  test("the configuration as a whole is known to roots alone, and knows of a rim what its section says", () => {
    expect(imports(seesTooMuch)).toEqual([]);
  });

  test("what runs knows nothing of the commands that start it", () => {
    expect(imports((name, path) => isIn(["service", "replay"], path) && /^src\/(cli\/|main)/.test(name))).toEqual([]);
  });

  test("each package is known to one folder", () => {
    const homeOf = (name: string) => PACKAGE_HOMES[name] ?? PACKAGE_HOMES[name.split("/")[0] ?? ""];
    expect(imports((name, path) => (homeOf(name) ?? folderOf(path)) !== folderOf(path))).toEqual([]);
  });

  test("no files of src import each other in a circle, not even types", () => {
    expect(importCircles(production)).toEqual([]);
  });

  test("no folders of src import each other in a circle", () => {
    expect(importCircles(production, roomOf)).toEqual([]);
  });

  test("the addon's constants import nothing, and nothing in src imports from tests or benches", () => {
    expect(production.map(({ path }) => path)).toContain(CONSTANTS);
    const isTestCode = (name: string) => /^(test|bench)\//.test(name) || name.endsWith(".test.ts");
    expect(imports((name, path) => path === CONSTANTS || isTestCode(name))).toEqual([]);
  });

  test("the dashboard has the API's types from src, and nothing that runs but the limits and files without imports", () => {
    const values = /^import (?!type )[^;]*?from "((?:\.\.\/)+src\/[^"]+)";/gm;
    const alone = production.filter(({ text }) => !/^(import|export .* from) /m.test(text)).map(({ path }) => path);
    const faults = sourceFiles("dashboard")
      .filter((file) => !isTest(file) && /\.tsx?$/.test(file.path))
      .flatMap(({ path, text }) =>
        [...text.matchAll(values)].map(([, name = ""]) => [path, name.replace(/^[./]+/, "")]),
      )
      .filter(([, name = ""]) => name !== "src/limits.ts" && !alone.includes(name));
    expect(faults).toEqual([]);
  });

  test.each([
    ["dataplane", "loads the addon", /\.node["'`]|\bdlopen\(|\bcreateRequire\(/],
    [
      "system",
      "reads a clock, sets a timer, reads the environment or takes a signal",
      /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|\bhrtime\b|\bnanoseconds\(|\bset(Timeout|Interval|Immediate)\(|\bBun\.sleep|\bprocess\.env\b|\bBun\.env\b|\bimport\.meta\.env\b|\bprocess\.on\(/,
    ],
  ])("only %s %s", (folder, _, pattern) => {
    const others = production.filter(({ path }) => folderOf(path) !== folder);
    expect(others.flatMap(({ path, text }) => placesOf(pattern, { path, text: withoutComments(text) }))).toEqual([]);
  });

  test("a file of src exports what another file imports", () => {
    expect(unusedExports(production, importedNames(sourceFiles()))).toEqual([]);
  });

  test("no any", () => {
    const any = /[:<,|&(]\s*any\b\s*[^\w\s:]|\bas any\b|:\s*any$/;
    const faults = written
      .filter(({ path }) => /\.tsx?$/.test(path) && path !== "test/architecture.test.ts")
      .flatMap(({ path, text }) => placesOf(any, { path, text: withoutComments(text) }));
    expect(faults).toEqual([]);
  });
});

/**
 * The names of each circle, sorted: files that each reach all others, and themselves, by imports; with `nameOf` the
 * folders of such files, where an import within one folder does not count.
 */
function importCircles(files: readonly SourceFile[], nameOf?: (path: string) => string): string[] {
  const own = new Set(files.map(({ path }) => path));
  const arrows = new Map<string, Set<string>>();
  for (const file of files) {
    const from = nameOf?.(file.path) ?? file.path;
    const to = importsOf(file).filter((path) => own.has(path));
    const others = nameOf === undefined ? to : to.map(nameOf).filter((name) => name !== from);
    arrows.set(from, new Set([...(arrows.get(from) ?? []), ...others]));
  }
  const reached = (from: string): Set<string> => {
    const seen = new Set<string>();
    const open = [from];
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      for (const next of arrows.get(name) ?? []) {
        if (seen.has(next)) continue;
        seen.add(next);
        open.push(next);
      }
    }
    return seen;
  };
  const reaches = new Map([...arrows.keys()].map((name) => [name, reached(name)]));
  const circles = [...reaches]
    .map(([name, reach]) => [...reach].filter((other) => reaches.get(other)?.has(name)))
    .filter((circle) => circle.length > 0);
  return [...new Set(circles.map((circle) => circle.sort().join(" ")))].sort();
}

/** Names that any file imports, tests included, whichever file they are from. */
function importedNames(files: readonly SourceFile[]): ReadonlySet<string> {
  const lists = /\{([^{}]*)\}\s*(?:from\s|= await import\()|import\("[^"]+"\)\)?\.(\w+)/g;
  const names = files.flatMap(({ text }) => [...text.matchAll(lists)].map(([, list, name]) => list ?? name ?? ""));
  return new Set(
    names.flatMap((list) => [...list.matchAll(/(?:type )?(\w+)(?: as \w+|: \w+)?/g)].map(([, name = ""]) => name)),
  );
}

function unusedExports(files: readonly SourceFile[], imported: ReadonlySet<string>): string[] {
  const exported = /^export (?:async |abstract )?(?:function\*?|const|class|interface|type) (\w+)/gm;
  return files
    .filter(({ path }) => path.startsWith("src/") && path !== CONSTANTS && !path.endsWith(".d.ts"))
    .flatMap(({ path, text }) => [...text.matchAll(exported)].map(([, name = ""]) => ({ path, name })))
    .flatMap(({ path, name }) => (imported.has(name) ? [] : [`${path}: ${name}`]));
}

describe("the native side", () => {
  /** The folders that have a file of this name: a quoted include takes the one beside it first. */
  const homes = Map.groupBy(
    native.map(({ path }) => ({ name: basename(path), folder: folderOf(path) })),
    ({ name }) => name,
  );

  test("includes along binding → core → abi ← bpf", () => {
    const faults = native.flatMap((file) => {
      const allowed = NATIVE_ARROWS[folderOf(file.path)];
      if (allowed === undefined) return [];
      return includesOf(file)
        .filter((name) => homes.get(name)?.some(({ folder }) => allowed.includes(folder)) === false)
        .map((name) => `${file.path} includes ${name}`);
    });
    expect(faults).toEqual([]);
  });

  test("includes along the parts of the core, each header by its part", () => {
    const quoted = /^\s*#\s*include\s*"(?:(\w+)\/)?(\w+\.h)"/gm;
    const core = native.filter(({ path }) => path.startsWith("addon/core/"));
    const partOf = (path: string) => path.split("/").at(-2) ?? "";
    const faults = core.flatMap(({ path, text }) => {
      const allowed = [partOf(path), ...(CORE_ARROWS[partOf(path)] ?? [])];
      return [...text.matchAll(quoted)]
        .filter(([, of, name = ""]) => !(of === undefined ? /(_abi|\.skel)\.h$/.test(name) : allowed.includes(of)))
        .map(([line]) => `${path}: ${line}`);
    });
    expect(faults).toEqual([]);
    expect([...new Set(core.map(({ path }) => partOf(path)))].sort()).toEqual(Object.keys(CORE_ARROWS).sort());
  });

  test("docs/architecture.md describes every part of the core", () => {
    const [, table = ""] = readFileSync(join(ROOT, "docs/architecture.md"), "utf8").split(
      "## The parts of `addon/core`",
    );
    const described = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, part = ""]) => part);
    expect(described.sort()).toEqual(Object.keys(CORE_ARROWS).sort());
  });

  test("knows Node-API in binding only, and builds skeletons of BPF programs into core only", () => {
    expect(includesOutside(["binding"], /napi|node_api/)).toEqual([]);
    expect(includesOutside(["core", "test"], /\.skel\.h$/)).toEqual([]);
  });
});

describe("every file", () => {
  test("has at most 400 lines, but for the constants that the addon prints", () => {
    const files = written.filter(({ path }) => path !== "src/native/constants.ts");
    expect(files.filter(({ text }) => text.trimEnd().split("\n").length > 400).map(({ path }) => path)).toEqual([]);
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

/** A rule that finds nothing may be blind: each is shown one thing that it must find. */
test("the rules see what they forbid", () => {
  const file = (text: string, path = "src/net/x.ts"): SourceFile => ({ path, text });
  const all =
    'import { a } from "../http/a.ts";\nimport type { B } from "elysia";\nawait import("../bgp/a.ts");\nimport "./b.ts";';
  expect(importsOf(file(all))).toEqual(["src/http/a.ts", "elysia", "src/bgp/a.ts", "src/net/b.ts"]);
  expect(imports((name) => name === "elysia", [file(all)])).toEqual(["src/net/x.ts imports elysia"]);
  const section = file('import type { A } from "../bgp/bgp-config.ts";\nimport "../net/a.ts";', "src/config/x.ts");
  expect(imports(seesTooMuch, [section])).toEqual([]);
  const [noun, toRim] = [file('import "../config/a.ts";'), file('import "../bgp/a.ts";', "src/config/x.ts")];
  expect(imports(seesTooMuch, [noun, toRim])).toHaveLength(2);
  expect(includesOf(file('#include <napi.h>\n  #include "core/shard.h"'))).toEqual(["napi.h", "shard.h"]);
  expect(includesOutside([], /napi/)).not.toEqual([]);
  const importing = (name: string, ...of: string[]) =>
    file(of.map((other) => `import type { A } from "./${other}.ts";`).join("\n"), `src/${name}.ts`);
  const exporting = file("export const a = 1;\nexport type B = 1;\nexport async function c() {}");
  const uses = file('import { a, type B as D } from "./x.ts";');
  expect(unusedExports([exporting], importedNames([uses]))).toEqual(["src/net/x.ts: c"]);
  expect(unusedExports([exporting], importedNames([uses, file('(await import("./x.ts")).c();')]))).toEqual([]);
  const [a, b, d] = [importing("a", "b"), importing("b", "c", "d"), importing("d")];
  expect(importCircles([a, b, importing("c"), d])).toEqual([]);
  expect(importCircles([d, a, b, importing("c", "a")])).toEqual(["src/a.ts src/b.ts src/c.ts"]);
  const inFolder = (path: string, to: string) => file(`import type { A } from "${to}";`, `src/${path}`);
  const [net, own] = [inFolder("net/a.ts", "../geo/deep/a.ts"), inFolder("net/b.ts", "./a.ts")];
  const away = inFolder("geo/deep/a.ts", "../b.ts");
  expect(importCircles([net, own, away, file("", "src/geo/b.ts")], roomOf)).toEqual([]);
  const [back, top] = [inFolder("geo/b.ts", "../x.ts"), inFolder("x.ts", "./net/b.ts")];
  expect(importCircles([net, own, away, back, top], roomOf)).toEqual(["geo net x.ts"]);
  expect(withoutComments("a(); // Date.now()\n/* setTimeout( */ b();")).toBe("a(); \n b();");
});
