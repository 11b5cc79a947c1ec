import { expect, test } from "bun:test";
import { getPriority } from "node:os";
import { join } from "node:path";

const MODULE = join(import.meta.dir, "priority.ts");
const PROGRAM = `
import { readdirSync } from "node:fs";
import { getPriority } from "node:os";
import { raisePriority } from ${JSON.stringify(MODULE)};
const returned = raisePriority();
const threads = readdirSync("/proc/self/task").map((thread) => getPriority(Number(thread)));
const child = Number(Bun.spawnSync(["nice"]).stdout.toString());
console.log(JSON.stringify({ returned, threads: [...new Set(threads)], child }));
`;
const NOT_PERMITTED = ["setpriv", "--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice"];
const mayRaise = Bun.spawnSync(["nice", "-n", "-10", "true"], { stderr: "pipe" }).stderr.length === 0;
const unavailable =
  getPriority() !== 0 ? " (runs at a chosen nice value)" : mayRaise ? "" : " (no permission to raise a priority)";

function run(prefix: readonly string[]): unknown {
  const { stdout, stderr } = Bun.spawnSync([...prefix, process.execPath, "-e", PROGRAM], { stderr: "pipe" });
  expect(stderr.toString()).toBe("");
  return JSON.parse(stdout.toString());
}

test.skipIf(unavailable !== "")(`all threads and what they start go before other work${unavailable}`, () => {
  expect(run([])).toEqual({ returned: -10, threads: [-10], child: -10 });
});

test("a nice value that somebody chose stays", () => {
  expect(run(["nice", "-n", "5"])).toEqual({ returned: 5, threads: [5], child: 5 });
});

test.skipIf(unavailable !== "")(`goes on as it is without the permission${unavailable}`, () => {
  expect(run(NOT_PERMITTED)).toEqual({ returned: 0, threads: [0], child: 0 });
});
