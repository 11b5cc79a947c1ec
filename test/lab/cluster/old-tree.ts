/** An earlier version of the product, ready to run, in a folder of its own below build/. */
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../fixtures/run-command.ts";
import { ROOT } from "../../source-tree.ts";

export interface OldTree {
  /** As `git describe` names it. */
  readonly name: string;
  readonly main: string;
  readonly hasCluster: boolean;
}

/** @param revision a tag or a commit. Its addon and its modules are built where they differ from those of this tree. */
export function oldTree(revision: string): OldTree {
  const git = (...argv: string[]) => runCommand(["git", "-C", ROOT, ...argv]).trim();
  const commit = git("rev-parse", "--verify", `${revision}^{commit}`);
  const folder = join(ROOT, "build/old", commit);
  if (!existsSync(join(folder, "ready"))) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    runCommand(["sh", "-ec", `git -C '${ROOT}' archive ${commit} | tar -x -C '${folder}'`]);
    const isSame = (...paths: string[]) => git("diff", "--stat", commit, "--", ...paths) === "";
    if (isSame("bun.lock")) symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    else runCommand([process.execPath, "install", "--cwd", folder, "--frozen-lockfile", "--silent"]);
    if (isSame("addon", "src/native"))
      cpSync(join(ROOT, "build/addon"), join(folder, "build/addon"), { recursive: true });
    else runCommand(["make", "-C", join(folder, "addon"), "--no-print-directory", "all"]);
    mkdirSync(join(folder, "ready"));
  }
  return {
    name: git("describe", "--always", "--tags", commit),
    main: join(folder, "src/main.ts"),
    hasCluster: existsSync(join(folder, "src/cluster")),
  };
}

/** The newest tag before this tree; null: there is none. */
export function tagBefore(): string | null {
  const tags = runCommand(["git", "-C", ROOT, "tag", "--merged", "HEAD", "--sort=-creatordate"]);
  return tags.split("\n").find(Boolean) ?? null;
}
