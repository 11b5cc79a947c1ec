/** A folder for what other users of the machine must not read: state has victims, keys of cookies and audit rows. */
import { chmodSync, lstatSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** Makes files and folders that the process creates from now on private. */
export function makeFilesPrivate(): void {
  process.umask(0o077);
}

/** Makes the folder where it is missing; closes it and its files to others, also those of an earlier version. */
export function makePrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  close(folder, 0o700);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (lstatSync(path).isFile()) close(path, 0o600);
  }
}

/** A file of another user is left as its owner has it. */
function close(path: string, mode: number): void {
  const stats = statSync(path);
  if (stats.uid === process.getuid?.() && (stats.mode & 0o077) !== 0) chmodSync(path, mode);
}
