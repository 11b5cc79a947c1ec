/**
 * Debian systems with nothing on them but what the README asks for, and such systems with the package installed. Made by
 * debootstrap from this machine's own mirror; the bare one is kept as an archive for a day.
 */
import { copyFileSync, existsSync, globSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isFresh, mirrorOf } from "./debian-archive.ts";
import { runLogged } from "./logged-command.ts";
import { MACHINES, RootFolder } from "./root-folder.ts";

/** Codenames of the releases that are supported. */
export const SUITES = ["bookworm", "trixie"] as const;
export type Suite = (typeof SUITES)[number];

/** As the README has it: what a machine needs before `make start`. */
const PREREQUISITES = ["git", "make", "ca-certificates"];
const MINUTE_MS = 60_000;
/** Certificate authorities that this machine's operator has added, and the tool of Debian that adds them. */
const OWN_AUTHORITIES = "usr/local/share/ca-certificates";

export interface SystemOptions {
  readonly suite: Suite;
  /** On this machine: what is done is appended there. */
  readonly log: string;
}

/** A new root folder: the caller removes it. Throws when a step fails; the log says why. */
export async function bareSystem({ suite, log }: SystemOptions): Promise<RootFolder> {
  const archive = join(MACHINES, `${suite}.tar`);
  if (!isFresh(archive)) await makeArchive({ suite, log, archive });
  const root = RootFolder.make(suite);
  await onThisMachine(["tar", "-xf", archive, "--numeric-owner", "-C", root.path], log);
  return root;
}

export interface InstalledOptions extends SystemOptions {
  /** The package's file, on this machine. */
  readonly deb: string;
}

/** A bare system on which apt has installed the package, with its dependencies and what it recommends. */
export async function installedSystem({ suite, deb, log }: InstalledOptions): Promise<RootFolder> {
  const root = await bareSystem({ suite, log });
  try {
    if ((await install(root, deb, log)) !== 0) throw new Error(`${basename(deb)} is not installed: see ${log}`);
    return root;
  } catch (cause) {
    root.remove();
    throw cause;
  }
}

/** As the README says it. Returns the exit code. */
export async function install(root: RootFolder, deb: string, log: string): Promise<number | null> {
  copyFileSync(deb, join(root.path, "tmp", basename(deb)));
  const script = `apt-get update && apt-get install -y /tmp/${basename(deb)} && rm /tmp/${basename(deb)}`;
  const environment = { DEBIAN_FRONTEND: "noninteractive" };
  return root.run(["sh", "-c", script], { log, environment, deadlineMs: 15 * MINUTE_MS });
}

async function makeArchive({ suite, log, archive }: SystemOptions & { readonly archive: string }): Promise<void> {
  const mirror = await mirrorOf();
  if (mirror === null) throw new Error("apt on this machine has no Debian mirror in its sources");
  const root = RootFolder.make(suite);
  try {
    const include = `--include=${PREREQUISITES.join(",")}`;
    // It may leave /proc mounted where that was busy at its end: in a namespace of its own nothing stays.
    const alone = ["unshare", "--mount", "--propagation", "private"];
    await onThisMachine([...alone, "debootstrap", "--variant=minbase", include, suite, root.path, mirror], log);
    const security = await mirrorOf("security");
    const lines = [
      `deb ${mirror} ${suite} main`,
      `deb ${mirror} ${suite}-updates main`,
      ...(security === null ? [] : [`deb ${security} ${suite}-security main`]),
    ];
    writeFileSync(join(root.path, "etc/apt/sources.list"), lines.map((line) => `${line}\n`).join(""));
    copyNetwork(root);
    const code = await root.run(["update-ca-certificates"], { log, deadlineMs: MINUTE_MS });
    if (code !== 0) throw new Error(`certificate authorities of this machine are not taken over: see ${log}`);
    const mine = `${archive}.${process.pid}`;
    await onThisMachine(["tar", "-cf", mine, "--numeric-owner", "-C", root.path, "."], log);
    renameSync(mine, archive);
  } finally {
    root.remove();
  }
}

/** A system on this machine's network resolves names and trusts authorities as this machine does. */
function copyNetwork(root: RootFolder): void {
  if (existsSync("/etc/resolv.conf")) {
    rmSync(join(root.path, "etc/resolv.conf"), { force: true });
    copyFileSync("/etc/resolv.conf", join(root.path, "etc/resolv.conf"));
  }
  mkdirSync(join(root.path, OWN_AUTHORITIES), { recursive: true });
  for (const path of globSync(`/${OWN_AUTHORITIES}/*.crt`)) copyFileSync(path, join(root.path, path));
}

async function onThisMachine(command: readonly string[], log: string): Promise<void> {
  const environment = { ...process.env, LC_ALL: "C" };
  const code = await runLogged(command, { environment, log, deadlineMs: 15 * MINUTE_MS });
  if (code !== 0) throw new Error(`${command[0]} failed: see ${log}`);
}
