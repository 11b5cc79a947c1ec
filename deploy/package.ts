/**
 * Builds the Debian package out of the tree, with dpkg-deb alone: `make deb`. With `--quick` it is not compressed, with
 * `--directory` it is made there. The same commit and tools give the same bytes.
 */
import { globSync, readFileSync, rmSync, statSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { type Architecture, isNative, NATIVE } from "./architecture.ts";
import { EXECUTABLES, ROOT, strippedAddon } from "./compile.ts";
import { DEBIAN, filled, put, stageFiles } from "./staged-files.ts";
import { type Release, releaseOf } from "./version.ts";

const SCRIPTS = ["postinst", "prerm", "postrm"];

interface Order {
  /** Recreated for each package. */
  readonly directory: string;
  readonly isQuick: boolean;
  /** Default: this machine's. Another one has to be built before. */
  readonly architecture?: Architecture;
  /** Default: of the tree as it is now. */
  readonly release?: Release;
  /** For another architecture: folders with the Debian packages of its libraries, control files included. */
  readonly libraries?: readonly string[];
}

export interface BuiltPackage extends Release {
  readonly path: string;
  /** The files of it, unpacked, without its control files. */
  readonly stage: string;
  /** Names of the npm packages inside. */
  readonly packages: readonly string[];
}

export async function buildPackage(order: Order): Promise<BuiltPackage> {
  const { directory, isQuick, architecture = NATIVE, libraries = [] } = order;
  const stage = join(directory, "root");
  rmSync(directory, { recursive: true, force: true });
  const release = order.release ?? (await releaseOf());
  const addon = await strippedAddon(architecture);
  const packages = await stageFiles({ stage, release, architecture, addon });
  const programs = [addon, ...EXECUTABLES.map(({ name }) => join(stage, "usr/bin", name))];
  const depends = await librariesOf({ programs, architecture, libraries, directory });
  putControl(stage, release, { DEPENDS: depends, ARCHITECTURE: architecture.name });
  const path = join(directory, `floodwall_${release.version}_${architecture.name}.deb`);
  // As small as by xz at its fastest, in a sixth of the time. The bytes depend on the number of threads.
  const compression = isQuick ? ["-Znone"] : ["-Zzstd", "-z9", "--threads-max=1"];
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(release.time) };
  await Bun.$`dpkg-deb ${compression} --root-owner-group --build ${stage} ${path}`.env(env).quiet();
  rmSync(join(stage, "DEBIAN"), { recursive: true });
  return { ...release, path, stage, packages };
}

function putControl(stage: string, { version }: Release, known: Readonly<Record<string, string>>): void {
  const files = globSync(join(stage, "**/*")).filter((path) => statSync(path).isFile());
  const inPackage = (path: string) => relative(stage, path);
  const units = files.filter((path) => path.endsWith(".service")).map((path) => basename(path));
  const values = {
    ...known,
    VERSION: version,
    KILOBYTES: String(Math.ceil(files.reduce((bytes, path) => bytes + statSync(path).size, 0) / 1024)),
    UNITS: units.join(" "),
  };
  const sums = files.map(
    (path) => `${new Bun.CryptoHasher("md5").update(readFileSync(path)).digest("hex")}  ${inPackage(path)}\n`,
  );
  const settings = files.map(inPackage).filter((path) => path.startsWith("etc/"));
  put(stage, "DEBIAN/control", filled(join(DEBIAN, "control"), values));
  put(stage, "DEBIAN/md5sums", sums.join(""));
  put(stage, "DEBIAN/conffiles", settings.map((path) => `/${path}\n`).join(""));
  for (const name of SCRIPTS) put(stage, `DEBIAN/${name}`, filled(join(DEBIAN, name), values), 0o755);
}

interface LibraryOrder {
  readonly programs: readonly string[];
  readonly architecture: Architecture;
  readonly libraries: readonly string[];
  /** To work in. */
  readonly directory: string;
}

/** Debian's packages of the libraries that these programs load, as a control field has them. */
async function librariesOf({ programs, architecture, libraries, directory }: LibraryOrder): Promise<string> {
  const work = join(directory, "shlibdeps");
  put(work, "debian/control", "Source: floodwall\n\nPackage: floodwall\nArchitecture: any\n");
  const names = programs.flatMap((path) => ["-e", path]);
  const folders = isNative(architecture) ? [] : libraries.map((path) => `-S${path}`);
  const env = { ...process.env, DEB_HOST_ARCH: architecture.name };
  const fields = await Bun.$`dpkg-shlibdeps -O --warnings=0 ${folders} ${names}`.cwd(work).env(env).text();
  const depends = /^shlibs:Depends=(.*)$/m.exec(fields)?.[1];
  if (depends === undefined) throw new Error(`dpkg-shlibdeps names no libraries: ${fields}`);
  return depends;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      directory: { type: "string", default: join(ROOT, "build/deb") },
    },
  });
  // Folders of the package have the same modes in each build.
  process.umask(0o022);
  const { path } = await buildPackage({ directory: values.directory, isQuick: values.quick });
  console.log(`${path}  ${(statSync(path).size / 1e6).toFixed(1)} MB`);
}
