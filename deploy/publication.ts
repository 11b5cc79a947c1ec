/**
 * Puts what was built for all processors together as one downloads it: packages, repositories of them, an image, checksums,
 * bills of materials and notes, all signed. Builds nothing itself; the same files, time and key give the same bytes.
 */
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import manifest from "../package.json";
import { makeAptRepository, sha256 } from "./apt-repository.ts";
import type { ArchitectureBuild } from "./architecture-build.ts";
import { ROOT } from "./compile.ts";
import { makeImage } from "./image.ts";
import { releaseNotes } from "./release-notes.ts";
import { billOfMaterials } from "./sbom.ts";
import type { Signer } from "./signing.ts";
import type { Release } from "./version.ts";
import { makeYumRepository } from "./yum-repository.ts";

export interface PublicationOrder {
  /** Recreated. */
  readonly directory: string;
  /** The RPM packages are signed in place. */
  readonly builds: readonly ArchitectureBuild[];
  readonly release: Release;
  readonly signer: Signer;
}

/** Returns the paths of what was made, relative to the directory. */
export async function publish(order: PublicationOrder): Promise<readonly string[]> {
  const { directory, builds, signer } = order;
  const { version, time } = order.release;
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const { rpm } of builds) await signer.rpm(rpm);
  const published = (path: string) => {
    const to = join(directory, basename(path));
    copyFileSync(path, to);
    return to;
  };
  const [debs, rpms] = [builds.map(({ deb }) => published(deb)), builds.map(({ rpm }) => published(rpm))];
  await makeAptRepository({ directory: join(directory, "apt"), packages: debs, time, signer });
  await makeYumRepository({ directory: join(directory, "yum"), packages: rpms, time, signer });
  await makeImage({
    path: join(directory, `floodwall-${version}.oci.tar`),
    images: builds.map(({ architecture, layers }) => ({ architecture, folders: layers })),
    version,
    time,
  });
  writeBills(order);
  const changelog = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8");
  writeFileSync(join(directory, "release-notes.md"), releaseNotes(changelog, manifest.version));
  const sums = filesOf(directory).map((path) => `${sha256(join(directory, path))}  ${path}\n`);
  writeFileSync(join(directory, "SHA256SUMS"), sums.join(""));
  await signer.detached(join(directory, "SHA256SUMS"), join(directory, "SHA256SUMS.asc"));
  return filesOf(directory);
}

function writeBills({ directory, builds, release: { version, time } }: PublicationOrder): void {
  const packages = [...new Set(builds.flatMap((one) => one.packages))].toSorted();
  const systems = builds.map(({ architecture, versions }) => ({ architecture: architecture.name, versions }));
  const bills = { "sbom.cdx.json": [], "sbom-image.cdx.json": systems };
  for (const [name, inImage] of Object.entries(bills)) {
    const bill = billOfMaterials({ version, time, packages, systems: inImage });
    writeFileSync(join(directory, name), `${JSON.stringify(bill, null, 2)}\n`);
  }
}

function filesOf(directory: string): readonly string[] {
  return globSync(join(directory, "**/*"))
    .filter((path) => statSync(path).isFile())
    .map((path) => relative(directory, path))
    .toSorted();
}
