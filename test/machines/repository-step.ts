/** Installs the package of a signed repository that is served on loopback, on a bare system, as the pages for operators say. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeAptRepository } from "../../deploy/apt-repository.ts";
import { signer } from "../../deploy/signing.ts";
import { makeReleaseKey, RELEASE_KEY, serveFolder } from "../fixtures/package-repository.ts";
import { apt } from "./bare-system.ts";
import type { RootFolder } from "./root-folder.ts";

/** @param deb its path. @returns the exit code */
export async function installFromRepository(root: RootFolder, deb: string, log: string): Promise<number | null> {
  const folder = mkdtempSync(join(tmpdir(), `floodwall-repository-${process.pid}-`));
  try {
    const [home, directory] = [join(folder, "gnupg"), join(folder, "apt")];
    makeReleaseKey(home);
    const time = Math.floor(Date.now() / 1000);
    const sign = signer({ key: RELEASE_KEY, time, home });
    await makeAptRepository({ directory, packages: [deb], time, signer: sign });
    const keyrings = join(root.path, "etc/apt/keyrings");
    mkdirSync(keyrings, { recursive: true });
    copyFileSync(join(directory, "floodwall.asc"), join(keyrings, "floodwall.asc"));
    await using server = serveFolder(directory);
    const source = `deb [signed-by=/etc/apt/keyrings/floodwall.asc] ${server.base} stable main`;
    const script = `
      echo '${source}' > /etc/apt/sources.list.d/floodwall.list
      apt-get update && apt-get install -y floodwall && floodwall version && floodwall-scrub --version
      code=$?
      rm -f /etc/apt/sources.list.d/floodwall.list /etc/apt/keyrings/floodwall.asc
      apt-get update
      exit $code`;
    return await apt(root, script, log);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
