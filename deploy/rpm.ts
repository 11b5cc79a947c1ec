/**
 * Builds the package of distributions that use RPM (Fedora 38, Red Hat Enterprise Linux 9, Rocky 9 and newer), by rpmbuild
 * alone, out of files that are staged already. The same files, version and tools give the same bytes.
 */
import { globSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Architecture } from "./architecture.ts";
import { ROOT } from "./compile.ts";
import { filled, put } from "./staged-files.ts";
import type { Release } from "./version.ts";

const SPEC = join(ROOT, "deploy/rpm/floodwall.spec");
/** The name of libpcap's library there; Debian has its own. */
export const LIBPCAP = "libpcap.so.1";

/** Versions of symbols that Red Hat Enterprise Linux 9 has: those of glibc 2.34 and of GCC 11's libraries. */
const NEWEST: Readonly<Record<string, string>> = { GLIBC: "2.34", GLIBCXX: "3.4.29", CXXABI: "1.3.13", GCC: "11.0" };

/** Where these distributions have other folders than Debian. null: nothing of it is for them. */
const MOVED: readonly (readonly [string, string | null])[] = [
  ["lib/systemd", "usr/lib/systemd"],
  ["usr/share/zsh/vendor-completions", "usr/share/zsh/site-functions"],
  ["usr/share/lintian", null],
];

export interface RpmOrder {
  /** Files as Debian has them, without its control files; they are moved to where these distributions have them. */
  readonly stage: string;
  readonly release: Release;
  readonly architecture: Architecture;
  /** Programs and libraries whose libraries the package needs. */
  readonly programs: readonly string[];
  /** Not compressed. */
  readonly isQuick: boolean;
  /** Recreated; the package is in it. */
  readonly directory: string;
}

/** Returns the path of the package, which is not signed. */
export async function buildRpm(order: RpmOrder): Promise<string> {
  const { stage, release, architecture, programs, isQuick, directory } = order;
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const [from, to] of MOVED) {
    if (to === null) rmSync(join(stage, from), { recursive: true, force: true });
    else move(stage, from, to);
  }
  const files = globSync("**/*", { cwd: stage }).filter((path) => statSync(join(stage, path)).isFile());
  const units = files.filter((path) => path.endsWith(".service")).map((path) => basename(path));
  const needs = await requirementsOf(programs);
  const spec = filled(SPEC, {
    VERSION: release.version,
    STAGE: stage,
    REQUIRES: needs.map((name) => `Requires: ${name}`).join("\n"),
    UNITS: units.toSorted().join(" "),
    FILES: entriesOf(files).join("\n"),
  });
  put(directory, "floodwall.spec", spec);
  const settings = {
    _topdir: directory,
    _rpmdir: directory,
    _rpmfilename: "%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm",
    _buildhost: "localhost",
    _binary_payload: isQuick ? "w0.gzdio" : "w9.zstdio",
    _build_id_links: "none",
    use_source_date_epoch_as_buildtime: "1",
    clamp_mtime_to_source_date_epoch: "1",
    // Executables of Bun have our code appended: nothing may be stripped or split.
    __os_install_post: "%{nil}",
    debug_package: "%{nil}",
  };
  const defines = Object.entries(settings).flatMap(([name, value]) => ["--define", `${name} ${value}`]);
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(release.time), LC_ALL: "C" };
  const target = `${architecture.machine}-linux`;
  await Bun.$`rpmbuild -bb --quiet --target ${target} ${defines} floodwall.spec`.cwd(directory).env(env).quiet();
  return join(directory, `floodwall-${release.version}-1.${architecture.machine}.rpm`);
}

function move(stage: string, from: string, to: string): void {
  if (globSync(join(stage, from)).length === 0) return;
  mkdirSync(dirname(join(stage, to)), { recursive: true });
  renameSync(join(stage, from), join(stage, to));
}

/** Lines of %files: settings keep what the operator wrote, and folders that are ours go with the package. */
function entriesOf(files: readonly string[]): readonly string[] {
  const own = new Set(files.flatMap(ownFolders));
  const kind = (path: string) => (path.startsWith("etc/") ? "%config(noreplace) " : "");
  return [
    ...[...own].toSorted().map((path) => `%dir "/${path}"`),
    ...files.toSorted().map((path) => `${kind(path)}"/${path}"`),
  ];
}

/** The folder of our name on the way to a file, and those below it. */
function ownFolders(path: string): readonly string[] {
  const parts = dirname(path).split("/");
  const first = parts.indexOf("floodwall");
  if (first === -1) return [];
  return parts.slice(first).map((_, index) => parts.slice(0, first + index + 1).join("/"));
}

/** Throws when one of these programs does not run on the oldest distribution, as if it was built on a newer Debian. */
export async function refuseNewerSymbols(programs: readonly string[]): Promise<void> {
  const newer = newerSymbols(await requirementsOf(programs));
  if (newer.length === 0) return;
  throw new Error(`build on Debian 12: Red Hat Enterprise Linux 9 does not have ${newer.join(", ")}`);
}

/** @param needs as an RPM package has them: `libc.so.6(GLIBC_2.34)(64bit)`. */
export function newerSymbols(needs: readonly string[]): readonly string[] {
  return needs.filter((need) => {
    const [, library = "", version = ""] = /\(([A-Z]+)_([0-9.]+)\)/.exec(need) ?? [];
    const newest = NEWEST[library];
    return newest !== undefined && Bun.semver.order(inThree(version), inThree(newest)) > 0;
  });
}

const inThree = (version: string) => [...version.split("."), "0", "0"].slice(0, 3).join(".");

/** By the names and the versions of symbols that their loader looks for: `libc.so.6(GLIBC_2.34)(64bit)`. Sorted. */
async function requirementsOf(programs: readonly string[]): Promise<readonly string[]> {
  const output = await Bun.$`/usr/lib/rpm/elfdeps --requires ${programs}`.text();
  return [...new Set(output.trim().split("\n"))].filter((name) => name !== "").toSorted();
}
