/**
 * The files of a release to download, in build/release: `make release KEY=…`. The same commit, tools, key and versions in
 * Debian's archive give the same bytes. One with `--trial` is not to be published: it may need libraries that are too new for
 * some distributions.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ARCHITECTURES } from "./architecture.ts";
import { type ArchitectureBuild, buildForArchitecture } from "./architecture-build.ts";
import { ROOT } from "./compile.ts";
import { publish } from "./publication.ts";
import { signer } from "./signing.ts";
import { releaseOf } from "./version.ts";

const WORK = join(ROOT, "build/release-work");

const { values } = parseArgs({
  options: {
    key: { type: "string", default: "" },
    directory: { type: "string", default: join(ROOT, "build/release") },
    trial: { type: "boolean", default: false },
  },
});
if (values.key === "") {
  console.error("name the key that signs, of your GnuPG keyring: make release KEY=release@example.net");
  process.exit(2);
}
// Folders of packages and image have the same modes in each build.
process.umask(0o022);
rmSync(WORK, { recursive: true, force: true });
mkdirSync(WORK, { recursive: true });
const release = await releaseOf();
const sign = signer({ key: values.key, time: release.time });
await sign.check().catch(({ message }: Error) => {
  console.error(message);
  process.exit(2);
});
const builds: ArchitectureBuild[] = [];
for (const architecture of ARCHITECTURES) {
  console.log(`building for ${architecture.name}`);
  const directory = join(WORK, architecture.name);
  builds.push(await buildForArchitecture({ architecture, release, directory, isTrial: values.trial }));
}
const { directory } = values;
for (const path of await publish({ directory, builds, release, signer: sign })) console.log(join(directory, path));
rmSync(WORK, { recursive: true });
