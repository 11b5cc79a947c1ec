/** The systemd units in deploy/ are ones that systemd takes. What they run is in booted-units.test.ts. */
import { afterAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Undo } from "../fixtures/undo.ts";
import { ROOT } from "../source-tree.ts";

const analyze = Bun.which("systemd-analyze");
const skipped = analyze === null ? " (skipped: systemd-analyze is not installed)" : "";

const undo = new Undo();
const directory = undo.folder("units");
afterAll(() => undo.all());

const UNITS = ["floodwall.service", "floodwall-scrub.service"];
test.skipIf(analyze === null).each(UNITS)(`systemd finds nothing amiss in %s${skipped}`, async (name) => {
  const file = join(directory, name);
  // Its program must be there to be found.
  const text = readFileSync(join(ROOT, "deploy", name), "utf8");
  writeFileSync(file, text.replaceAll(/^ExecStart=\S+/gm, `ExecStart=${process.execPath}`));
  const { exitCode, stdout, stderr } = Bun.spawnSync([analyze ?? "", "verify", "--man=no", file], { stderr: "pipe" });
  expect([exitCode, stdout.toString() + stderr.toString()]).toEqual([0, ""]);
});

test.each(UNITS)("%s is started again for ever, and its failed starts are counted over restarts", (name) => {
  const text = readFileSync(join(ROOT, "deploy", name), "utf8");
  const [unit = "", service = ""] = text.split(/^\[Service\]$/m);
  expect(unit).toMatch(/^StartLimitIntervalSec=0$/m);
  for (const line of ["Restart=always", "RuntimeDirectoryPreserve=restart", `RuntimeDirectory=${name.split(".")[0]}`]) {
    expect(service.split("\n")).toContain(line);
  }
});
