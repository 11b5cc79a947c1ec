/** Installs the package of a signed repository that is served on loopback, on a bare system, as the pages for operators say. */
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { serveFolder } from "../fixtures/package-repository.ts";
import { apt } from "./bare-system.ts";
import type { RootFolder } from "./root-folder.ts";

/** @param directory the repository. @returns the exit code */
export async function installFromRepository(root: RootFolder, directory: string, log: string): Promise<number | null> {
  const keyrings = join(root.path, "etc/apt/keyrings");
  mkdirSync(keyrings, { recursive: true });
  copyFileSync(join(directory, "floodwall.asc"), join(keyrings, "floodwall.asc"));
  await using server = serveFolder(directory);
  const source = `deb [signed-by=/etc/apt/keyrings/floodwall.asc] ${server.base} stable main`;
  const script = `
    echo '${source}' > /etc/apt/sources.list.d/floodwall.list
    apt-get update && apt-get install -y floodwall && floodwall version && floodwall-scrub --version
    code=$?
    rm -f /etc/apt/sources.list.d/floodwall.list /etc/apt/keyrings/floodwall.asc /var/lib/apt/lists/127.0.0.1_*
    exit $code`;
  return await apt(root, script, log);
}
