import { afterEach, beforeEach, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { chownSync, copyFileSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { BgpLab, until } from "../../../test/fixtures/bgp/bgp.ts";
import { findGobgpd, startTicks, unprivilegedUser } from "./gobgpd-process.ts";
import { SpeakerDirectory } from "./speaker-directory.ts";

let lab: BgpLab;
let run: string;
const children: ChildProcess[] = [];
const user = unprivilegedUser();

beforeEach(() => {
  lab = new BgpLab();
  run = new SpeakerDirectory(lab.stateDir).prepare(user);
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await lab.end();
});

/** A process of gobgpd's user, named gobgpd, in its folder. Resolves when it runs. */
async function impostor(program: string): Promise<number> {
  const child = spawn(program, program === "./gobgpd" ? ["60"] : [], {
    ...{ cwd: run, stdio: "ignore" },
    ...(user !== null && { uid: user.uid, gid: user.gid }),
  });
  children.push(child);
  const pid = child.pid ?? 0;
  await until("it runs", () => readFileSync(`/proc/${pid}/comm`, "utf8") === "gobgpd\n");
  return pid;
}

test.skipIf(user === null)("a program that gobgpd's user could have written is not taken for gobgpd", async () => {
  copyFileSync("/bin/sleep", join(run, "gobgpd"));
  chownSync(join(run, "gobgpd"), user?.uid ?? 0, user?.gid ?? 0);
  await impostor("./gobgpd");
  expect(findGobgpd(run)).toBeNull();
});

test("another program under its name is not taken for gobgpd", async () => {
  // A process is named after the name that it was executed by.
  symlinkSync("/bin/sleep", join(run, "gobgpd"));
  await impostor("./gobgpd");
  expect(findGobgpd(run)).toBeNull();
});

test("processes of one id are distinguished by their start", () => {
  expect(startTicks(process.pid)).toMatch(/^\d+$/);
  expect(startTicks(2 ** 30)).toBeNull();
});
