/**
 * A repository of dnf and yum as a folder that any web server can serve: packages that bear their signatures, the index by
 * createrepo_c, and the index signed. The same packages, time and key give the same bytes.
 */
import { copyFileSync, mkdirSync, utimesSync } from "node:fs";
import { basename, join } from "node:path";
import type { RepositoryOrder } from "./apt-repository.ts";

/** @param order packages of any architectures, signed already */
export async function makeYumRepository({ directory, packages, time, signer }: RepositoryOrder): Promise<void> {
  mkdirSync(join(directory, "packages"), { recursive: true });
  for (const path of packages) {
    const to = join(directory, "packages", basename(path));
    copyFileSync(path, to);
    // The index has the times of the files.
    utimesSync(to, time, time);
  }
  const moments = ["--revision", String(time), "--set-timestamp-to-revision"];
  await Bun.$`createrepo_c --quiet --no-database --general-compress-type gz ${moments} ${directory}`.quiet();
  const index = join(directory, "repodata/repomd.xml");
  await signer.detached(index, `${index}.asc`);
  await signer.publicKey(join(directory, "floodwall.asc"));
}
