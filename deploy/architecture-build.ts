/** All that a release has for one processor: both packages and the layers of its image. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Architecture } from "./architecture.ts";
import { EXECUTABLES, strippedAddon } from "./compile.ts";
import { crossBuild } from "./cross-build.ts";
import { buildPackage } from "./package.ts";
import { buildRpm, LIBPCAP, refuseNewerSymbols } from "./rpm.ts";
import { type DebianVersion, runtimeSystem } from "./runtime-system.ts";
import { stageFiles } from "./staged-files.ts";
import type { Release } from "./version.ts";

export interface BuildOrder {
  readonly architecture: Architecture;
  /** One for all: the tree may get a commit meanwhile. */
  readonly release: Release;
  /** To work in. */
  readonly directory: string;
  /** Takes programs that are too new for some distributions. */
  readonly isTrial: boolean;
}

export interface ArchitectureBuild {
  readonly architecture: Architecture;
  /** Paths of the packages. */
  readonly deb: string;
  readonly rpm: string;
  /** Names of the npm packages inside. */
  readonly packages: readonly string[];
  /** Folders, each as the root of a system. */
  readonly layers: readonly string[];
  /** Debian's packages in the first of the layers. */
  readonly versions: readonly DebianVersion[];
}

export async function buildForArchitecture(order: BuildOrder): Promise<ArchitectureBuild> {
  const { architecture, release, directory, isTrial } = order;
  const { root, folders, versions } = await runtimeSystem(architecture);
  await crossBuild(architecture, root);
  const built = await buildPackage({
    directory: join(directory, "deb"),
    isQuick: false,
    architecture,
    release,
    libraries: folders,
  });
  const rpm = await rpmOf({ architecture, release, directory: join(directory, "rpm"), isTrial });
  // Units are of no use in the image, and the folder is a link there.
  rmSync(join(built.stage, "lib"), { recursive: true });
  return { architecture, deb: built.path, rpm, packages: built.packages, layers: [root, built.stage], versions };
}

async function rpmOf({ architecture, release, directory, isTrial }: BuildOrder): Promise<string> {
  const stage = join(directory, "stage");
  mkdirSync(stage, { recursive: true });
  const addon = await strippedAddon(architecture, LIBPCAP);
  await stageFiles({ stage, release, architecture, addon });
  const programs = [addon, ...EXECUTABLES.map(({ name }) => join(stage, "usr/bin", name))];
  if (!isTrial) await refuseNewerSymbols(programs);
  return buildRpm({ stage, release, architecture, programs, isQuick: false, directory: join(directory, "build") });
}
