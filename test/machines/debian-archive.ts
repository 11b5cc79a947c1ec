/**
 * Packages of any Debian suite, fetched from the mirror that this machine uses itself, checked by apt against Debian's
 * keys, and unpacked under build/debian without being installed. One folder a package; a later call finds it there.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../source-tree.ts";

const ARCHIVE = join(ROOT, "build/debian");
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
/** Suites are updated: an index older than this is fetched again, and a package with it. */
const STALE_MS = 24 * 3600 * 1000;

const SUITE_NAMES = {
  main: /^(bookworm|trixie|forky|sid|oldstable|stable|testing|unstable)$/,
  security: /^(bookworm|trixie|forky|oldstable|stable|testing)-security$/,
} as const;

export interface DebianPackage {
  /** Codename, with `-backports` for that part: `bookworm`, `trixie-backports`. Security updates are looked up with it. */
  readonly suite: string;
  readonly name: string;
}

/** Why nothing can be fetched on this machine, or null. */
export const archiveUnavailable: string | null =
  Bun.which("apt-get") === null || !existsSync(KEYRING) ? "this machine has no apt with Debian's keys" : null;

/**
 * Returns the folder with the package's files. Throws when the suite, the package or the mirror is not there; the message
 * ends with apt's.
 */
export async function fetchPackage({ suite, name }: DebianPackage): Promise<string> {
  const index = await openIndex(suite);
  return locked(index.directory, async () => {
    const files = join(index.directory, "unpacked", name);
    if (isFresh(files)) return files;
    const download = join(index.directory, `download-${name}`);
    for (const path of [download, files]) rmSync(path, { recursive: true, force: true });
    mkdirSync(download, { recursive: true });
    await run([...index.apt, "download", name], download);
    const [deb] = readdirSync(download);
    if (deb === undefined) throw new Error(`apt downloaded no ${name} of ${suite}`);
    await run(["dpkg-deb", "-x", join(download, deb), join(download, "files")]);
    mkdirSync(join(index.directory, "unpacked"), { recursive: true });
    renameSync(join(download, "files"), files);
    rmSync(download, { recursive: true });
    return files;
  });
}

/** The packages that a package needs: of a meta package what it stands for. Alternatives are left out. */
export async function dependenciesOf({ suite, name }: DebianPackage): Promise<readonly string[]> {
  const { apt } = await openIndex(suite);
  const command = ["apt-cache", ...apt.slice(1), "depends", "--important", name];
  const lines = (await run(command)).split("\n");
  return lines.flatMap((line) => /^ {2}Depends: (\S+)$/.exec(line)?.[1] ?? []);
}

/** The mirror of this machine, without a slash at its end. */
export async function mirrorOf(kind: "main" | "security" = "main"): Promise<string | null> {
  const format = "$(CREATED_BY)|$(LABEL)|$(RELEASE)|$(REPO_URI)";
  const label = kind === "security" ? "Debian-Security" : "Debian";
  for (const line of (await run(["apt-get", "indextargets", "--format", format])).split("\n")) {
    const [createdBy, labelled = "", suite = "", uri = ""] = line.split("|");
    // Before the first `apt-get update` a repository has no label.
    const isWanted = labelled.startsWith("$") ? SUITE_NAMES[kind].test(suite) : labelled === label;
    if (createdBy === "Packages" && isWanted) return uri.replace(/\/+$/, "");
  }
  return null;
}

interface Index {
  readonly directory: string;
  /** `apt-get` with the options that make it look at this suite alone. */
  readonly apt: readonly string[];
}

async function openIndex(suite: string): Promise<Index> {
  if (archiveUnavailable !== null) throw new Error(archiveUnavailable);
  const directory = join(ARCHIVE, suite);
  const lists = join(directory, "lists");
  const sources = join(directory, "sources.list");
  const settings = {
    "Dir::Etc::SourceList": sources,
    "Dir::Etc::SourceParts": "/dev/null",
    "Dir::State::Lists": lists,
    "Dir::Cache": join(directory, "cache"),
    "APT::Sandbox::User": "",
    "Acquire::Languages": "none",
    "Acquire::Retries": "3",
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`]);
  const apt = ["apt-get", "-q", ...options];
  mkdirSync(join(lists, "partial"), { recursive: true });
  await locked(directory, async () => {
    if (isFresh(join(directory, "updated"))) return;
    writeFileSync(sources, (await sourcesOf(suite)).map((line) => `${line}\n`).join(""));
    await run([...apt, "update"]);
    writeFileSync(join(directory, "updated"), "");
  });
  return { directory, apt };
}

async function sourcesOf(suite: string): Promise<string[]> {
  const [main, security] = [await mirrorOf(), await mirrorOf("security")];
  if (main === null) throw new Error("apt on this machine has no Debian mirror in its sources");
  const line = (uri: string, name: string) => `deb [signed-by=${KEYRING}] ${uri} ${name} main`;
  const hasSecurity = security !== null && !suite.includes("-") && suite !== "sid";
  return [line(main, suite), ...(hasSecurity ? [line(security, `${suite}-security`)] : [])];
}

/** Written in the last day. */
export function isFresh(path: string): boolean {
  const age = statSync(path, { throwIfNoEntry: false })?.ctimeMs;
  return age !== undefined && Date.now() - age < STALE_MS;
}

const locks = new Map<string, Promise<unknown>>();

/** One at a time in a folder, among the tests of this process and of others. */
function locked<T>(directory: string, work: () => Promise<T>): Promise<T> {
  const turn = (locks.get(directory) ?? Promise.resolve()).then(async () => {
    const holder = Bun.spawn(["flock", join(directory, "lock"), "sh", "-c", "echo; cat"], {
      stdin: "pipe",
      stdout: "pipe",
    });
    try {
      await holder.stdout.getReader().read();
      return await work();
    } finally {
      void holder.stdin.end();
      await holder.exited;
    }
  });
  locks.set(
    directory,
    turn.catch(() => {}),
  );
  return turn;
}

/** Returns what it printed. */
async function run(command: readonly string[], cwd = ROOT): Promise<string> {
  const env = { ...process.env, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" };
  const child = Bun.spawn([...command], { cwd, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(`${command[0]} ${command.at(-1)}: ${errors.trim() || output.trim()}`);
  return output;
}
