/**
 * What one downloads of a release, in build/release: the package, a repository of it, checksums, the bill of materials and
 * the notes, signed: `make release KEY=…`. The same commit, tools and key give the same bytes.
 */
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../package.json";
import { makeAptRepository, sha256 } from "./apt-repository.ts";
import { ROOT } from "./compile.ts";
import { buildPackage } from "./package.ts";
import { releaseNotes } from "./release-notes.ts";
import { billOfMaterials } from "./sbom.ts";
import { signer } from "./signing.ts";

export interface ReleaseOrder {
  /** Recreated. */
  readonly directory: string;
  /** Of the caller's keyring. */
  readonly key: string;
  /** Default: of the environment. */
  readonly home?: string;
  /** The package is not compressed. */
  readonly isQuick: boolean;
}

/** Returns the paths of what was made, relative to the directory. */
export async function makeRelease({ directory, key, home, isQuick }: ReleaseOrder): Promise<readonly string[]> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const built = await buildPackage({ directory: join(directory, "work"), isQuick });
  const { version, time, packages } = built;
  const sign = signer({ key, time, ...(home === undefined ? {} : { home }) });
  copyFileSync(built.path, join(directory, basename(built.path)));
  rmSync(join(directory, "work"), { recursive: true });
  await makeAptRepository({
    directory: join(directory, "apt"),
    packages: [join(directory, basename(built.path))],
    time,
    signer: sign,
  });
  const bill = billOfMaterials({ version, time, packages });
  writeFileSync(join(directory, "sbom.cdx.json"), `${JSON.stringify(bill, null, 2)}\n`);
  const changelog = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8");
  writeFileSync(join(directory, "release-notes.md"), releaseNotes(changelog, manifest.version));
  const files = filesOf(directory);
  const sums = files.map((path) => `${sha256(join(directory, path))}  ${path}\n`).join("");
  writeFileSync(join(directory, "SHA256SUMS"), sums);
  await sign.detached(join(directory, "SHA256SUMS"), join(directory, "SHA256SUMS.asc"));
  return filesOf(directory);
}

function filesOf(directory: string): readonly string[] {
  return globSync(join(directory, "**/*"))
    .filter((path) => statSync(path).isFile())
    .map((path) => relative(directory, path))
    .toSorted();
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { key: { type: "string", default: "" } } });
  if (values.key === "") {
    console.error("name the key that signs, of your GnuPG keyring: make release KEY=release@example.net");
    process.exit(2);
  }
  const directory = join(ROOT, "build/release");
  for (const path of await makeRelease({ directory, key: values.key, isQuick: false }))
    console.log(join(directory, path));
}
