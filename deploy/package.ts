/**
 * Builds the Debian package out of the tree, with dpkg-deb alone: `make deb`. With `--quick` it is not compressed, with
 * `--directory` it is made there. The same commit and tools give the same bytes.
 */
import { chmodSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../package.json";
import { completion } from "../src/cli/ctl/completion.ts";
import { COMMANDS, COMMON } from "../src/cli/ctl/ctl.ts";
import { manualPage } from "../src/cli/ctl/help.ts";
import { compile, EXECUTABLES, ROOT, strippedAddon } from "./compile.ts";

const DEBIAN = join(ROOT, "deploy/debian");
const SCRIPTS = ["postinst", "prerm", "postrm"];
const DOC = "usr/share/doc/floodwall";

/** Headers that are compiled into the packet counter, which no bundler sees. */
const NATIVE_PACKAGES = ["node-addon-api", "node-api-headers"];

/** What is taken as it is: from, to, in the package. */
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

interface Release {
  readonly version: string;
  /** Unix seconds; nothing in the package is younger. */
  readonly time: number;
}

interface Order {
  /** Recreated for each package. */
  readonly directory: string;
  readonly isQuick: boolean;
}

export interface BuiltPackage extends Release {
  readonly path: string;
  /** Names of the npm packages inside. */
  readonly packages: readonly string[];
}

export async function buildPackage({ directory, isQuick }: Order): Promise<BuiltPackage> {
  const stage = join(directory, "root");
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(join(stage, "usr/bin"), { recursive: true });
  const release = await releaseOf();
  const addon = await strippedAddon();
  const packages = new Set(NATIVE_PACKAGES);
  for (const executable of EXECUTABLES) {
    for (const name of (await compile(executable, addon, join(stage, "usr/bin"))).packages) packages.add(name);
  }
  for (const [from, to] of FILES) put(stage, to, readFileSync(join(ROOT, from)));
  const architecture = (await Bun.$`dpkg --print-architecture`.text()).trim();
  putDocuments(stage, release, [...packages].toSorted());
  const depends = await librariesOf([addon, ...EXECUTABLES.map(({ name }) => join(stage, "usr/bin", name))], directory);
  putControl(stage, release, { DEPENDS: depends, ARCHITECTURE: architecture });
  const path = join(directory, `floodwall_${release.version}_${architecture}.deb`);
  const compression = isQuick ? ["-Znone"] : ["-Zxz", "-z1"];
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(release.time) };
  await Bun.$`dpkg-deb ${compression} --root-owner-group --build ${stage} ${path}`.env(env).quiet();
  return { ...release, path, packages: [...packages].toSorted() };
}

/**
 * That of package.json where the commit bears its tag; else one that sorts before it and after older commits. Outside of
 * git the tree is taken for a release, of the time that SOURCE_DATE_EPOCH says.
 */
async function releaseOf(): Promise<Release> {
  const git = async (...args: string[]) => (await Bun.$`git -C ${ROOT} ${args}`.nothrow().quiet().text()).trim();
  const log = await git("log", "-1", "--format=%ct %h");
  const [seconds = "", hash = ""] = log.split(" ");
  const time = Number(process.env["SOURCE_DATE_EPOCH"] ?? (seconds || "0"));
  const isTagged = (await git("tag", "--points-at", "HEAD")).split("\n").includes(`v${manifest.version}`);
  if (log === "" || isTagged) return { version: manifest.version, time };
  const moment = new Date(time * 1000).toISOString().replaceAll(/[-:T]|\..*/g, "");
  const changes = (await git("status", "--porcelain", "--untracked-files=no")) === "" ? "" : ".changed";
  return { version: `${manifest.version}~${moment}.g${hash}${changes}`, time };
}

function put(stage: string, path: string, content: string | Uint8Array, mode = 0o644): void {
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
  put(stage, "usr/share/man/man1/floodwall-ctl.1.gz", zipped(manualPage(COMMANDS, COMMON, version)));
  put(stage, "usr/share/bash-completion/completions/floodwall", `${completion("bash", COMMANDS, COMMON)}\n`);
  put(stage, "usr/share/zsh/vendor-completions/_floodwall", `${completion("zsh", COMMANDS, COMMON)}\n`);
  put(stage, "usr/share/fish/vendor_completions.d/floodwall.fish", `${completion("fish", COMMANDS, COMMON)}\n`);
  for (const path of globSync("docs/**/*.md", { cwd: ROOT })) {
    put(stage, join(DOC, path), readFileSync(join(ROOT, path), "utf8"));
  }
}

/** What an npm package asks to be passed on with it. */
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

/** Debian's packages of the libraries that these programs load, as a control field has them. */
async function librariesOf(programs: readonly string[], workingDirectory: string): Promise<string> {
  const directory = join(workingDirectory, "shlibdeps");
  put(directory, "debian/control", "Source: floodwall\n\nPackage: floodwall\nArchitecture: any\n");
  const names = programs.flatMap((path) => ["-e", path]);
  const fields = await Bun.$`dpkg-shlibdeps -O --warnings=0 ${names}`.cwd(directory).text();
  const depends = /^shlibs:Depends=(.*)$/m.exec(fields)?.[1];
  if (depends === undefined) throw new Error(`dpkg-shlibdeps names no libraries: ${fields}`);
  return depends;
}

/** The file with each `@NAME@` replaced. */
function filled(path: string, values: Readonly<Record<string, string>>): string {
  return readFileSync(path, "utf8").replaceAll(/@([A-Z]+)@/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${path}: nothing is known of @${name}@`);
    return value;
  });
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      directory: { type: "string", default: join(ROOT, "build/deb") },
    },
  });
  const { path } = await buildPackage({ directory: values.directory, isQuick: values.quick });
  console.log(`${path}  ${(statSync(path).size / 1e6).toFixed(1)} MB`);
}
