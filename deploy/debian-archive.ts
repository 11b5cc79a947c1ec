/**
 * Packages of any Debian suite, fetched from the mirror that this machine uses itself, checked by apt against Debian's
 * keys, and unpacked under build/debian without being installed. One folder a package; a later call finds it there.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "./compile.ts";

const ARCHIVE = join(ROOT, "build/debian");
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
/** Suites are updated: an index older than this is fetched again, and a package with it. */
const STALE_MS = 24 * 3600 * 1000;

const DOWNLOAD = ["install", "-y", "--no-install-recommends", "--download-only"];

const REPOSITORIES = {
  main: { label: "Debian", suites: /^(bookworm|trixie|forky|sid|oldstable|stable|testing|unstable)$/ },
  security: {
    label: "Debian-Security",
    suites: /^(bookworm|trixie|forky|oldstable|stable|testing)-security$/,
  },
} as const;

export interface DebianPackage {
  /** Codename, with `-backports` for that part: `bookworm`, `trixie-backports`. Security updates are looked up with it. */
  readonly suite: string;
  readonly name: string;
}

export interface Closure {
  readonly suite: string;
  /** Debian's name of it. */
  readonly architecture: string;
  readonly names: readonly string[];
}

/**
 * The packages and all that they need, resolved by apt as on a system that has nothing. Returns the paths of their files,
 * sorted. Throws as fetchPackage does.
 */
export async function fetchClosure({ suite, architecture, names }: Closure): Promise<readonly string[]> {
  const options = await indexOf(suite, architecture);
  const directory = join(ARCHIVE, `${suite}-${architecture}`);
  const name = `closure-${new Bun.CryptoHasher("sha256").update(names.join(" ")).digest("hex").slice(0, 16)}`;
  return locked(directory, async () => {
    const files = join(directory, name);
    if (!isFresh(files)) await downloadClosure({ files, options, names });
    return readdirSync(files)
      .filter((file) => file.endsWith(".deb"))
      .toSorted()
      .map((file) => join(files, file));
  });
}

interface Download {
  readonly files: string;
  readonly options: readonly string[];
  readonly names: readonly string[];
}

async function downloadClosure({ files, options, names }: Download): Promise<void> {
  const mine = `${files}.new`;
  for (const path of [mine, files]) rmSync(path, { recursive: true, force: true });
  mkdirSync(join(mine, "partial"), { recursive: true });
  const status = `${files}.status`;
  writeFileSync(status, "");
  const alone = ["-o", `Dir::State::Status=${status}`, "-o", `Dir::Cache::Archives=${mine}`];
  await run(["apt-get", "-q", ...options, ...alone, ...DOWNLOAD, ...names]);
  renameSync(mine, files);
}

/**
 * Returns the folder with the package's files. Throws when the suite, the package or the mirror is not there; the message
 * ends with apt's.
 */
export async function fetchPackage({ suite, name }: DebianPackage): Promise<string> {
  const options = await indexOf(suite);
  return locked(join(ARCHIVE, suite), async () => {
    const files = join(ARCHIVE, suite, "unpacked", name);
    if (isFresh(files)) return files;
    const download = join(ARCHIVE, suite, `download-${name}`);
    for (const path of [download, files]) rmSync(path, { recursive: true, force: true });
    for (const path of [download, dirname(files)]) mkdirSync(path, { recursive: true });
    await run(["apt-get", "-q", ...options, "download", name], download);
    const [deb = ""] = readdirSync(download);
    await run(["dpkg-deb", "-x", join(download, deb), join(download, "files")]);
    renameSync(join(download, "files"), files);
    rmSync(download, { recursive: true });
    return files;
  });
}

/** The packages that a package needs: of a meta package what it stands for. Alternatives are left out. */
export async function dependenciesOf({ suite, name }: DebianPackage): Promise<readonly string[]> {
  const output = await run(["apt-cache", "-q", ...(await indexOf(suite)), "depends", "--important", name]);
  return output.split("\n").flatMap((line) => /^ {2}Depends: (\S+)$/.exec(line)?.[1] ?? []);
}

/** The mirror of this machine, without a slash at its end. */
export async function mirrorOf(kind: keyof typeof REPOSITORIES): Promise<string | null> {
  const format = "$(CREATED_BY)|$(LABEL)|$(RELEASE)|$(REPO_URI)";
  const { label, suites } = REPOSITORIES[kind];
  for (const line of (await run(["apt-get", "indextargets", "--format", format])).split("\n")) {
    const [createdBy, labelled = "", suite = "", uri = ""] = line.split("|");
    // Before the first `apt-get update` a repository has no label.
    const isWanted = labelled.startsWith("$") ? suites.test(suite) : labelled === label;
    if (createdBy === "Packages" && isWanted) return uri.replace(/\/+$/, "");
  }
  return null;
}

/** Lines of a sources.list for the suite and its security updates, from this machine's mirror. */
export async function sourcesOf(suite: string, option = ""): Promise<readonly string[]> {
  const [main, security] = [await mirrorOf("main"), await mirrorOf("security")];
  if (main === null) throw new Error("apt on this machine has no Debian mirror in its sources");
  const hasSecurity = security !== null && !suite.includes("-") && suite !== "sid";
  const repositories = [`${main} ${suite}`, ...(hasSecurity ? [`${security} ${suite}-security`] : [])];
  return repositories.map((repository) => `deb ${option}${repository} main\n`);
}

/**
 * Brings the index of a suite up to date. Returns the options that make apt look at this suite alone, and at this
 * machine's architecture unless another is named.
 */
async function indexOf(suite: string, architecture?: string): Promise<readonly string[]> {
  if (Bun.which("apt-get") === null || !existsSync(KEYRING))
    throw new Error("this machine has no apt with Debian's keys");
  const directory = join(ARCHIVE, architecture === undefined ? suite : `${suite}-${architecture}`);
  const [lists, sources, updated] = ["lists", "sources.list", "updated"].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  const settings = {
    "Dir::Etc::SourceList": sources,
    "Dir::Etc::SourceParts": "/dev/null",
    "Dir::State::Lists": lists,
    "Dir::Cache": join(directory, "cache"),
    "APT::Sandbox::User": "",
    "Acquire::Languages": "none",
    "Acquire::Retries": "3",
    ...(architecture === undefined ? {} : { "APT::Architecture": architecture, "APT::Architectures": architecture }),
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`]);
  mkdirSync(join(lists, "partial"), { recursive: true });
  await locked(directory, async () => {
    if (isFresh(updated)) return;
    writeFileSync(sources, (await sourcesOf(suite, `[signed-by=${KEYRING}] `)).join(""));
    await run(["apt-get", "-q", ...options, "update"]);
    writeFileSync(updated, "");
  });
  return options;
}

/** Written in the last day. */
export function isFresh(path: string): boolean {
  const age = statSync(path, { throwIfNoEntry: false })?.ctimeMs;
  return age !== undefined && Date.now() - age < STALE_MS;
}

/** One at a time in a folder, here and among other processes. */
async function locked<T>(directory: string, work: () => Promise<T>): Promise<T> {
  const command = ["flock", join(directory, "lock"), "sh", "-c", "echo; cat"];
  const holder = Bun.spawn(command, { stdin: "pipe", stdout: "pipe" });
  try {
    await holder.stdout.getReader().read();
    return await work();
  } finally {
    void holder.stdin.end();
    await holder.exited;
  }
}

/** Returns what it printed. */
async function run(command: readonly string[], cwd = ROOT): Promise<string> {
  const env = { ...process.env, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" };
  const child = Bun.spawn([...command], { cwd, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(`${command[0]} ${command.at(-1)}: ${errors.trim() || output.trim()}`);
  return output;
}
