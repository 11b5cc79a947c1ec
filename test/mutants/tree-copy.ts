/**
 * A copy of the project in which a file may be changed. Files are copied, not linked: a test that wrote to one would
 * write to the project's own. What is installed and built is not changed by tests, and is linked.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const LEFT_OUT = new Set([".git", "build", "node_modules"]);

export class TreeCopy {
  readonly directory: string;

  /** Of `root` as it is now, below its build/mutants. `name` is one among the copies of this process. */
  constructor(root: string, name: string) {
    this.directory = join(mutantsFolder(root), `${process.pid}-${name}`);
    mkdirSync(join(this.directory, "build"), { recursive: true });
    for (const entry of readdirSync(root)) {
      if (!LEFT_OUT.has(entry)) cpSync(join(root, entry), join(this.directory, entry), { recursive: true });
    }
    symlinkSync(join(root, "node_modules"), join(this.directory, "node_modules"));
    for (const entry of readdirSync(join(root, "build"))) {
      if (entry !== "mutants") symlinkSync(join(root, "build", entry), join(this.directory, "build", entry));
    }
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.directory, path), text);
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Removes the copies of processes that have ended without it. */
  static removeAbandoned(root: string): void {
    for (const name of readdirSync(mutantsFolder(root))) {
      const owner = /^(\d+)-/.exec(name)?.[1];
      if (owner !== undefined && !existsSync(`/proc/${owner}`))
        rmSync(join(mutantsFolder(root), name), { recursive: true });
    }
  }
}

export function mutantsFolder(root: string): string {
  const folder = join(root, "build/mutants");
  mkdirSync(folder, { recursive: true });
  return folder;
}
