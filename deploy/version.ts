/** Version and time of what is built, by package.json and git. */
import manifest from "../package.json";
import { ROOT } from "./compile.ts";

export interface Release {
  readonly version: string;
  /** Unix seconds; nothing in the package is younger. */
  readonly time: number;
}

/**
 * That of package.json where the commit bears its tag; else one that sorts before it and after older commits. Outside of
 * git the tree is taken for a release, of the time that SOURCE_DATE_EPOCH says.
 */
export async function releaseOf(): Promise<Release> {
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
