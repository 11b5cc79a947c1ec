/**
 * Compiles one executable per role into a folder, each with all that it runs inside: Bun, our code, its threads and the
 * packet counter with its BPF programs. The same sources and tools give the same bytes.
 */
import { mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { BuiltDashboard } from "../src/http/server/dashboard-files.ts";
import { type Architecture, isNative, NATIVE } from "./architecture.ts";
import { packagesOf } from "./packages.ts";

export const ROOT = join(import.meta.dir, "..");
const PAGE = "build/dashboard/files.json";
/** Bun puts the files of an executable under one name each, and `new Worker(new URL("./x.ts", …))` looks there. */
const FLAT = "[name].[ext]";

export interface Executable {
  readonly name: string;
  /** Relative to the tree, as are the threads that it starts. */
  readonly entry: string;
  readonly threads: readonly string[];
}

/** A role's executable is a line here. */
export const EXECUTABLES: readonly Executable[] = [
  {
    name: "floodwall",
    entry: "src/main.ts",
    threads: [
      "src/service/config-thread.ts",
      "src/service/rule-thread.ts",
      "src/storage/sqlite/history-worker.ts",
      "src/storage/state-worker.ts",
      "src/prefixset/read-thread.ts",
    ],
  },
  { name: "floodwall-scrub", entry: "src/cli/scrub-main.ts", threads: ["src/prefixset/read-thread.ts"] },
];

export interface Compiled {
  readonly path: string;
  /** Names of the npm packages inside. */
  readonly packages: readonly string[];
}

/** Where what is built for a processor is: this machine's in `build`, another's in a folder of its own there. */
export function buildFolder(architecture: Architecture): string {
  return join(ROOT, "build", isNative(architecture) ? "" : architecture.name);
}

/**
 * The packet counter without its debugging information, a twentieth of the size. Returns its path, always the same: it
 * goes into the executables. With `libpcap` it asks for that library under this name.
 */
export async function strippedAddon(architecture: Architecture = NATIVE, libpcap?: string): Promise<string> {
  const path = join(buildFolder(architecture), "stripped", libpcap ?? "", "floodwall.node");
  const mine = `${path}.${process.pid}`;
  mkdirSync(dirname(path), { recursive: true });
  const strip = isNative(architecture) ? "strip" : `${architecture.triplet}-strip`;
  await Bun.$`${strip} --strip-unneeded -o ${mine} ${join(buildFolder(architecture), "addon/floodwall.node")}`;
  if (libpcap !== undefined) await Bun.$`patchelf --replace-needed libpcap.so.0.8 ${libpcap} ${mine}`;
  renameSync(mine, path);
  return path;
}

export interface CompileOrder {
  /** Path of the packet counter. */
  readonly addon: string;
  readonly directory: string;
  /** Default: this machine's. */
  readonly architecture?: Architecture;
  /** With the code compiled ahead, so that it starts in a third of the CPU time. Default: false. */
  readonly isAhead?: boolean;
}

/** Throws when something does not build; the message says what. */
export async function compile(executable: Executable, order: CompileOrder): Promise<Compiled> {
  const { name, entry, threads } = executable;
  const { addon, directory, architecture = NATIVE, isAhead = false } = order;
  const path = join(directory, name);
  const built = await Bun.build({
    entrypoints: [entry, ...threads].map((file) => join(ROOT, file)),
    naming: { entry: FLAT },
    target: "bun",
    sourcemap: "inline",
    metafile: true,
    format: "esm",
    bytecode: isAhead,
    plugins: [withAddon(addon)],
    // Else the folder of the tree on the build machine is in it. No module reads its own folder, which is nowhere else.
    define: { __dirname: '"/"', __filename: '"/"' },
    // Uses only the operator's environment, as in bunfig.toml: no file of the working directory is read.
    compile: { outfile: path, autoloadDotenv: false, autoloadBunfig: false, ...runtimeOf(architecture) },
  });
  // Bun writes them beside the executable as well.
  for (const file of [name, ...threads.map((thread) => `${basename(thread, ".ts")}.js`)]) {
    rmSync(join(directory, `${file}.map`), { force: true });
  }
  const inputs = Object.keys(built.metafile?.inputs ?? {});
  return { path, packages: [...new Set([...packagesOf(inputs), ...pagePackages(inputs)])].toSorted() };
}

/** This Bun, or that of another processor, which the build has put into its folder. */
function runtimeOf(architecture: Architecture): Bun.CompileBuildOptions {
  if (isNative(architecture)) return {};
  return { target: architecture.compileTarget, executablePath: join(buildFolder(architecture), "bun/bun") };
}

function withAddon(path: string): Bun.BunPlugin {
  return {
    name: "stripped addon",
    setup: (build) => {
      build.onResolve({ filter: /\/floodwall\.node$/ }, () => ({ path }));
    },
  };
}

/** Packages of the web page, where it is inside: it was put together before. */
function pagePackages(inputs: readonly string[]): readonly string[] {
  if (!inputs.some((path) => path.endsWith(PAGE))) return [];
  const { packages } = JSON.parse(readFileSync(join(ROOT, PAGE), "utf8")) as BuiltDashboard;
  return packages;
}

if (import.meta.main) {
  const directory = join(ROOT, "build/dist");
  const addon = await strippedAddon();
  for (const executable of EXECUTABLES) {
    const { path } = await compile(executable, { addon, directory });
    console.log(`${path}  ${Math.round(Bun.file(path).size / 1e6)} MB`);
  }
}
