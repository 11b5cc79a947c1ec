import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import { makePrivateFolder } from "./private-folder.ts";

const base = emptiedFolder("private");
const modeOf = (path: string) => statSync(path).mode & 0o777;

test("closes a folder and its files to others, and makes it where it is missing", () => {
  const folder = join(base, "state");
  mkdirSync(folder, { mode: 0o755 });
  const elsewhere = join(base, "elsewhere");
  for (const path of [elsewhere, join(folder, "state.db")]) {
    writeFileSync(path, "");
    chmodSync(path, 0o644);
  }
  symlinkSync(elsewhere, join(folder, "link"));
  makePrivateFolder(folder);
  expect([folder, join(folder, "state.db"), elsewhere].map(modeOf)).toEqual([0o700, 0o600, 0o644]);
  makePrivateFolder(join(base, "new"));
  expect(modeOf(join(base, "new"))).toBe(0o700);
});
