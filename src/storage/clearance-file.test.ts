import { beforeEach, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import { type ClearanceKey, ClearanceKeys } from "../edge/zones/clearance-keys.ts";
import { ClearanceFile } from "./clearance-file.ts";

const CHILD = join(import.meta.dir, "../../test/fixtures/storage/clearing-process.ts");
const START_MS = Date.parse("2026-11-22T12:00:00.000Z");
const KILLS = 6;
const TIMEOUT_MS = 60_000;

const directory = emptiedFolder("clearance");
let file: ClearanceFile;

beforeEach(() => {
  file = new ClearanceFile(join(directory, "state"));
});

const master = (day: number) => ({ day, secret: randomBytes(32) });

describe("the file", () => {
  test("gives what it was given", async () => {
    const masters = [master(20_778), master(20_779)];
    await file.save([master(1)]);
    await file.save(masters);
    expect(new ClearanceFile(join(directory, "state")).load()).toEqual(masters);
    expect(existsSync(`${file.path}.new`)).toBe(false);
  });

  test("takes the days of a clock that begins in 1970", async () => {
    const masters = [master(-1), master(0), master(1)];
    await file.save(masters);
    expect(file.load()).toEqual(masters);
  });

  test("that is not there has no masters", () => expect(file.load()).toEqual([]));

  test("is its owner's alone, whatever the umask, a leftover or someone made of it", async () => {
    const modeOf = () => statSync(file.path).mode & 0o777;
    const umask = process.umask(0);
    try {
      mkdirSync(join(directory, "state"));
      writeFileSync(`${file.path}.new`, "left over", { mode: 0o666 });
      await file.save([master(1)]);
      expect(modeOf()).toBe(0o600);
      chmodSync(file.path, 0o644);
      file.load();
      expect(modeOf()).toBe(0o600);
    } finally {
      process.umask(umask);
    }
  });

  const whole = `floodwall clearance masters 1\n20778 ${"A".repeat(43)}\n`;

  test.each([
    ["empty", ""],
    ["cut short", whole.slice(0, -1)],
    ["cut shorter", whole.slice(0, -9)],
    ["of a later version", whole.replace(" 1\n", " 2\n")],
    ["with a line of another kind", `${whole}x\n`],
    ["with a day twice", `${whole}20778 ${"B".repeat(43)}\n`],
  ])("%s is moved aside, so that the service starts", (_name, text) => {
    mkdirSync(join(directory, "state"));
    writeFileSync(file.path, whole);
    expect(file.load()).toHaveLength(1);
    writeFileSync(file.path, text);
    const moved: string[] = [];
    const damaged = new ClearanceFile(join(directory, "state"), (error) => moved.push(error));
    expect(damaged.load()).toEqual([]);
    expect(moved).toEqual([expect.stringMatching(/clearance-masters: it has a format that this build does not know/)]);
    expect(readFileSync(`${file.path}.damaged`, "utf8")).toBe(text);
  });

  test("that cannot be read or written names the remedy", async () => {
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, "state"), "a file in place of the folder");
    expect(() => file.load()).toThrow(/^cannot read .*clearance-masters: .*: check state_dir/);
    expect(file.save([master(1)])).rejects.toThrow(/^cannot write .*clearance-masters: .*: check state_dir/);
  });

  test("larger than any that is written is not read", () => {
    mkdirSync(join(directory, "state"));
    writeFileSync(file.path, " ".repeat(4097));
    expect(file.load()).toEqual([]);
  });
});

test(
  "a published key survives kill -9 at any moment",
  async () => {
    const stateDir = join(directory, "state");
    for (let round = 0; round < KILLS; round++) {
      const printed = await printedUntilKilled(stateDir, 1 + 7 * round);
      const last = printed.at(-1);
      const days = printed.length - 1;
      if (last === undefined) throw new Error("the process printed nothing");
      const onUnsaved = (cause: unknown) => {
        throw cause;
      };
      const nowMs = START_MS + days * 86_400_000;
      const keys = new ClearanceKeys({ store: new ClearanceFile(stateDir), randomBytes, onUnsaved }, nowMs);
      await keys.saved;
      expect(keys.at(nowMs)({ name: "www.example.net" })).toEqual(last);
      expect(statSync(file.path).mode & 0o777).toBe(0o600);
    }
  },
  TIMEOUT_MS,
);

/** The keys that a process printed for each day before it was killed after about `count` days. */
async function printedUntilKilled(stateDir: string, count: number): Promise<ClearanceKey[][]> {
  rmSync(stateDir, { recursive: true, force: true });
  const child = Bun.spawn([process.execPath, CHILD, stateDir, String(START_MS)], { stdout: "pipe", stderr: "inherit" });
  let text = "";
  let isKilled = false;
  for await (const chunk of child.stdout) {
    text += new TextDecoder().decode(chunk);
    if (isKilled || text.split("\n").length <= count) continue;
    isKilled = true;
    child.kill("SIGKILL");
  }
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
  const lines = text.split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as ClearanceKey[]);
}
