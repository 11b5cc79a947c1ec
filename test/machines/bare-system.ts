/**
 * Debian systems with nothing on them but what the README asks for. Made by debootstrap from this machine's own mirror, and
 * kept as an archive for a day.
 */
import { copyFileSync, existsSync, globSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type Architecture, isNative, NATIVE } from "../../deploy/architecture.ts";
import { isFresh, mirrorOf, sourcesOf } from "../../deploy/debian-archive.ts";
import { MACHINES, RootFolder, runLogged } from "./root-folder.ts";

/** Codenames of the releases that are supported. */
export const SUITES = ["bookworm", "trixie"] as const;
export type Suite = (typeof SUITES)[number];

/** As the README has it: what a machine needs before `make start`. */
const PREREQUISITES = ["git", "make", "ca-certificates"];
const MINUTE_MS = 60_000;
/** Certificate authorities that this machine's operator has added. */
const OWN_AUTHORITIES = "usr/local/share/ca-certificates";

/**
 * A new root folder: the caller removes it. Programs of another architecture are emulated. Throws when a step fails; the log
 * says why.
 */
export async function bareSystem(suite: Suite, log: string, architecture = NATIVE): Promise<RootFolder> {
  const archive = join(MACHINES, `${suite}${isNative(architecture) ? "" : `-${architecture.name}`}.tar`);
  if (!isFresh(archive)) await makeArchive(suite, { log, archive, architecture });
  return unpacked(suite, { log, archive, architecture });
}

/** The same, with packages whose daemons are not started; kept as an archive of this name. */
export async function systemWith(suite: Suite, name: string, packages: readonly string[]): Promise<RootFolder> {
  mkdirSync(MACHINES, { recursive: true });
  const log = join(MACHINES, `${suite}-${name}.log`);
  const archive = join(MACHINES, `${suite}-${name}.tar`);
  if (isFresh(archive)) return unpacked(suite, { log, archive });
  const root = await bareSystem(suite, log);
  try {
    writeFileSync(join(root.path, "usr/sbin/policy-rc.d"), "#!/bin/sh\nexit 101\n", { mode: 0o755 });
    const install = `apt-get update && apt-get install -y --no-install-recommends ${packages.join(" ")}`;
    if ((await apt(root, install, log)) !== 0) throw new Error(`${packages.join(", ")} not installed: see ${log}`);
    await pack(root, { log, archive });
    return root;
  } catch (cause) {
    root.remove();
    throw cause;
  }
}

/** Installs a package's file as the README says it. Returns the exit code. */
export async function install(root: RootFolder, deb: string, log: string): Promise<number | null> {
  copyFileSync(deb, join(root.path, "tmp", basename(deb)));
  return apt(root, `apt-get update && apt-get install -y /tmp/${basename(deb)} && rm /tmp/${basename(deb)}`, log);
}

/** Runs a script that installs packages. Returns the exit code. */
export function apt(root: RootFolder, script: string, log: string): Promise<number | null> {
  const environment = { DEBIAN_FRONTEND: "noninteractive" };
  return root.run(["sh", "-c", script], { log, environment, deadlineMs: 15 * MINUTE_MS });
}

interface Archive {
  readonly log: string;
  readonly archive: string;
  readonly architecture?: Architecture;
}

async function pack(root: RootFolder, { log, archive }: Archive): Promise<void> {
  const mine = `${archive}.${process.pid}`;
  await onThisMachine(["tar", "-cf", mine, "--numeric-owner", "-C", root.path, "."], log);
  renameSync(mine, archive);
}

async function unpacked(suite: Suite, { log, archive, architecture }: Archive): Promise<RootFolder> {
  const root = RootFolder.make(suite, architecture);
  await onThisMachine(["tar", "-xf", archive, "--numeric-owner", "-C", root.path], log);
  return root;
}

async function makeArchive(suite: Suite, { log, archive, architecture = NATIVE }: Archive): Promise<void> {
  const sources = await sourcesOf(suite);
  const mirror = (await mirrorOf("main")) as string;
  const root = RootFolder.make(suite, architecture);
  try {
    copyAuthorities(root);
    // It may leave /proc mounted where that was busy at its end: in a namespace of its own nothing stays.
    const alone = ["unshare", "--mount", "--propagation", "private"];
    // A tree is built on systems of this machine's processor only; under emulation each package costs seconds to minutes.
    const forApt = mirror.startsWith("https:") ? ["ca-certificates"] : [];
    const include = isNative(architecture) ? PREREQUISITES : forApt;
    const more = include.length === 0 ? [] : [`--include=${include.join(",")}`];
    const stage = isNative(architecture) ? [] : ["--foreign"];
    const options = [`--arch=${architecture.name}`, "--variant=minbase", ...more, ...stage];
    await onThisMachine([...alone, "debootstrap", ...options, suite, root.path, mirror], log);
    if (!isNative(architecture)) await secondStage(root, log);
    const updates = `deb ${mirror} ${suite}-updates main\n`;
    writeFileSync(join(root.path, "etc/apt/sources.list"), [...sources, updates].join(""));
    copyResolver(root);
    await pack(root, { log, archive });
  } finally {
    root.remove();
  }
}

/** What debootstrap does by programs of the system itself. */
async function secondStage(root: RootFolder, log: string): Promise<void> {
  // It makes no devices then, which a user namespace may not: they are mounted.
  const environment = { container: "lxc" };
  const stage = ["/debootstrap/debootstrap", "--second-stage"];
  const code = await root.run(stage, { log, environment, deadlineMs: 20 * MINUTE_MS });
  if (code !== 0) throw new Error(`debootstrap failed under emulation: see ${log}`);
}

/** A system trusts authorities as this machine does: their package takes them up when it is configured. */
function copyAuthorities(root: RootFolder): void {
  mkdirSync(join(root.path, OWN_AUTHORITIES), { recursive: true });
  for (const path of globSync(`/${OWN_AUTHORITIES}/*.crt`)) copyFileSync(path, join(root.path, path));
}

/** A system on this machine's network resolves names as this machine does. */
function copyResolver(root: RootFolder): void {
  if (!existsSync("/etc/resolv.conf")) return;
  rmSync(join(root.path, "etc/resolv.conf"), { force: true });
  copyFileSync("/etc/resolv.conf", join(root.path, "etc/resolv.conf"));
}

async function onThisMachine(command: readonly string[], log: string): Promise<void> {
  const environment = { ...process.env, LC_ALL: "C" };
  const code = await runLogged(command, { environment, log, deadlineMs: 15 * MINUTE_MS });
  if (code !== 0) throw new Error(`${command[0]} failed: see ${log}`);
}
