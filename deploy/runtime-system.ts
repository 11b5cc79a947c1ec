/**
 * Packages of Debian's archive that the executables need, for any processor: libraries, GoBGP, a shell and what
 * takes rights away. A build for another processor links against them, and they are the image's first layer.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Architecture } from "./architecture.ts";
import { buildFolder } from "./compile.ts";
import { fetchClosure } from "./debian-archive.ts";
import { USER_ID } from "./image.ts";

const NAMES = ["libxdp1", "libpcap0.8", "libstdc++6", "gobgpd", "busybox-static", "util-linux"];
/** Folders that are links, as on any Debian system of today: packages have files at both places. */
const MERGED = ["bin", "sbin", "lib", "lib64"];
/** Commands of the guard of gobgpd, and for those who look into a container. */
const BUSYBOX = ["cat", "grep", "ip", "kill", "ls", "ping", "ps", "sh", "sleep", "tail", "vi"];
const USERS = [
  ["root", 0, "/root"],
  ["nobody", 65534, "/nonexistent"],
  ["floodwall", USER_ID, "/var/lib/floodwall"],
] as const;

export interface DebianVersion {
  readonly name: string;
  readonly version: string;
}

export interface RuntimeSystem {
  /** All packages in one folder, as a system has them. */
  readonly root: string;
  /** Each package in a folder of its own, with its control files in `DEBIAN`. */
  readonly folders: readonly string[];
  /** Sorted by name. */
  readonly versions: readonly DebianVersion[];
}

/** Throws when Debian's archive cannot be reached. */
export async function runtimeSystem(architecture: Architecture): Promise<RuntimeSystem> {
  const debs = await fetchClosure({ suite: suiteOfMachine(), architecture: architecture.name, names: NAMES });
  const directory = join(buildFolder(architecture), "runtime");
  rmSync(directory, { recursive: true, force: true });
  const [root, apart] = [join(directory, "root"), join(directory, "packages")];
  mkdirSync(apart, { recursive: true });
  for (const name of MERGED) {
    mkdirSync(join(root, "usr", name), { recursive: true });
    symlinkSync(`usr/${name}`, join(root, name));
  }
  for (const deb of debs) {
    await Bun.$`dpkg-deb --fsys-tarfile ${deb} | tar --extract --keep-directory-symlink --directory ${root}`;
    const name = (await Bun.$`dpkg-deb --field ${deb} Package`.text()).trim();
    await Bun.$`dpkg-deb --raw-extract ${deb} ${join(apart, name)}`;
  }
  putSystemFiles(root);
  const names = readdirSync(apart).toSorted();
  return {
    root,
    folders: names.map((name) => join(apart, name)),
    versions: names.map((name) => ({ name, version: versionIn(join(apart, name, "DEBIAN/control")) })),
  };
}

/** Files that maintainer scripts, which are not run, make on a system. */
function putSystemFiles(root: string): void {
  for (const folder of ["dev", "etc", "proc", "run", "sys", "tmp", "var/lib/floodwall"]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  // The packet counter is unpacked there, by any user.
  chmodSync(join(root, "tmp"), 0o1777);
  const user = ([name, id, home]: (typeof USERS)[number]) => `${name}:x:${id}:${id}::${home}:/usr/sbin/nologin\n`;
  writeFileSync(join(root, "etc/passwd"), USERS.map(user).join(""));
  writeFileSync(join(root, "etc/group"), USERS.map(([name, id]) => `${name}:x:${id}:\n`).join(""));
  for (const name of BUSYBOX) {
    rmSync(join(root, "usr/bin", name), { force: true });
    symlinkSync("busybox", join(root, "usr/bin", name));
  }
}

function versionIn(control: string): string {
  const version = /^Version: (\S+)$/m.exec(readFileSync(control, "utf8"))?.[1];
  if (version === undefined) throw new Error(`${control} names no version`);
  return version;
}

/** The release of Debian that this machine has: the packages are for it and for newer ones. */
function suiteOfMachine(): string {
  const suite = /^VERSION_CODENAME=(\S+)$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1];
  if (suite === undefined) throw new Error("a release is built on Debian, and /etc/os-release names no release of it");
  return suite;
}
