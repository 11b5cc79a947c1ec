/**
 * The files that every package of a processor has, in a folder that stands for the root of a system: executables, units,
 * examples, documents. What a format needs beside them is its own.
 */
import { chmodSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { completion, OWN } from "../src/cli/ctl/completion.ts";
import { COMMANDS, COMMON } from "../src/cli/ctl/ctl.ts";
import { manualPage } from "../src/cli/ctl/help.ts";
import type { Architecture } from "./architecture.ts";
import { compile, EXECUTABLES, ROOT } from "./compile.ts";
import type { Release } from "./version.ts";

export const DEBIAN = join(ROOT, "deploy/debian");
const DOC = "usr/share/doc/floodwall";

/** Headers that are compiled into the packet counter, which no bundler sees. */
const NATIVE_PACKAGES = ["node-addon-api", "node-api-headers"];

/** Files that are taken as they are: from, to, in the package. */
const FILES: readonly (readonly [string, string])[] = [
  ["deploy/floodwall.service", "lib/systemd/system/floodwall.service"],
  ["deploy/floodwall-scrub.service", "lib/systemd/system/floodwall-scrub.service"],
  ["deploy/floodwall.tmpfiles", "usr/lib/tmpfiles.d/floodwall.conf"],
  // It has to be edited before a first start: no machine has its interface.
  ["deploy/mirror.yaml", "etc/floodwall/floodwall.yaml"],
  ["deploy/scrub.yaml", "etc/floodwall/scrub.yaml"],
  ["deploy/mirror.yaml", `${DOC}/examples/mirror.yaml`],
  ["deploy/inline.yaml", `${DOC}/examples/inline.yaml`],
  ["deploy/telemetry.yaml", `${DOC}/examples/telemetry.yaml`],
  ["deploy/control-plane.yaml", `${DOC}/examples/control-plane.yaml`],
  ["deploy/zones.yaml", `${DOC}/examples/zones.yaml`],
  ["deploy/prometheus/floodwall.rules.yml", `${DOC}/prometheus/floodwall.rules.yml`],
  ["deploy/grafana/floodwall.json", `${DOC}/grafana/floodwall.json`],
  ["deploy/nginx.conf", `${DOC}/nginx.conf`],
  ["deploy/debian/copyright", `${DOC}/copyright`],
  ["deploy/debian/lintian-overrides", "usr/share/lintian/overrides/floodwall"],
];

export interface StageOrder {
  /** Created. */
  readonly stage: string;
  readonly release: Release;
  readonly architecture: Architecture;
  /** Path of the packet counter that goes into the executables. */
  readonly addon: string;
}

/** Returns the names of the npm packages inside, sorted. */
export async function stageFiles({ stage, release, architecture, addon }: StageOrder): Promise<readonly string[]> {
  mkdirSync(join(stage, "usr/bin"), { recursive: true });
  const names = new Set(NATIVE_PACKAGES);
  for (const executable of EXECUTABLES) {
    const directory = join(stage, "usr/bin");
    for (const name of (await compile(executable, { addon, directory, architecture })).packages) names.add(name);
  }
  const packages = [...names].toSorted();
  for (const [from, to] of FILES) put(stage, to, readFileSync(join(ROOT, from)));
  putDocuments(stage, release, packages);
  return packages;
}

export function put(stage: string, path: string, content: string | Uint8Array, mode = 0o644): void {
  const file = join(stage, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  chmodSync(file, mode);
}

function putDocuments(stage: string, { version, time }: Release, packages: readonly string[]): void {
  const zipped = (text: string) => Bun.gzipSync(new TextEncoder().encode(text), { level: 9 });
  const date = new Date(time * 1000).toUTCString().replace("GMT", "+0000");
  const entry = `floodwall (${version}) unstable; urgency=medium\n\n  * Built from the sources of this version.\n\n`;
  put(stage, `${DOC}/changelog.gz`, zipped(`${entry} -- Floodwall <floodwall@localhost>  ${date}\n`));
  for (const page of ["README.md", ...globSync("docs/**/*.md", { cwd: ROOT })]) {
    put(stage, `${DOC}/${page}.gz`, zipped(readFileSync(join(ROOT, page), "utf8")));
  }
  put(stage, `${DOC}/third-party.txt`, packages.map(licenceOf).join("\n"));
  for (const path of globSync(join(DEBIAN, "*.1"))) {
    put(stage, `usr/share/man/man1/${basename(path)}.gz`, zipped(filled(path, { VERSION: version })));
  }
  put(stage, "usr/share/man/man1/floodwall-ctl.1.gz", zipped(manualPage([...COMMANDS, ...OWN], COMMON, version)));
  put(stage, "usr/share/bash-completion/completions/floodwall", `${completion("bash", COMMANDS, COMMON)}\n`);
  put(stage, "usr/share/zsh/vendor-completions/_floodwall", `${completion("zsh", COMMANDS, COMMON)}\n`);
  put(stage, "usr/share/fish/vendor_completions.d/floodwall.fish", `${completion("fish", COMMANDS, COMMON)}\n`);
  for (const path of globSync("docs/**/*.md", { cwd: ROOT })) {
    put(stage, join(DOC, path), readFileSync(join(ROOT, path), "utf8"));
  }
}

/** The licence that an npm package asks to be passed on with it. */
function licenceOf(name: string): string {
  const directory = join(ROOT, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as {
    readonly version: string;
    readonly license?: string;
  };
  const files = readdirSync(directory).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
  const texts = files.map((file) => readFileSync(join(directory, file), "utf8").trim());
  return [`==== ${name} ${version}: ${license ?? "see below"}`, ...texts, ""].join("\n\n");
}

/** The file with each `@NAME@` replaced. */
export function filled(path: string, values: Readonly<Record<string, string>>): string {
  return readFileSync(path, "utf8").replaceAll(/@([A-Z]+)@/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${path}: nothing is known of @${name}@`);
    return value;
  });
}
