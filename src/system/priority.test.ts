import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";

const MODULE = join(import.meta.dir, "priority.ts");
const PROGRAM = `
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { raisePriority } from ${JSON.stringify(MODULE)};
const returned = raisePriority();
const threads = readdirSync("/proc/self/task").map((thread) => getPriority(Number(thread)));
const child = Number(Bun.spawnSync(["nice"]).stdout.toString());
const file = "/proc/self/autogroup";
const session = existsSync(file) ? Number(readFileSync(file, "utf8").split(" ").at(-1)) : null;
console.log(JSON.stringify({ returned, threads: [...new Set(threads)], child, session }));
`;
const NOT_PERMITTED = ["setpriv", "--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice"];
const mayRaise = Bun.spawnSync(["nice", "-n", "-10", "true"], { stderr: "pipe" }).stderr.length === 0;
const unavailable =
  getPriority() !== 0 ? " (runs at a chosen nice value)" : mayRaise ? "" : " (no permission to raise a priority)";

/** The output of the program, run in the session of its parent unless `prefix` changes it. */
function run(prefix: readonly string[]): Record<string, unknown> {
  const { stdout, stderr } = Bun.spawnSync([...prefix, process.execPath, "-e", PROGRAM], { stderr: "pipe" });
  expect(stderr.toString()).toBe("");
  return JSON.parse(stdout.toString()) as Record<string, unknown>;
}

test.skipIf(unavailable !== "")(`all threads and what they start go before other work${unavailable}`, () => {
  expect(run([])).toMatchObject({ returned: -10, threads: [-10], child: -10 });
});

test("a nice value that was set on purpose stays", () => {
  expect(run(["nice", "-n", "5"])).toMatchObject({ returned: 5, threads: [5], child: 5 });
});

test.skipIf(unavailable !== "")(`goes on as it is without the permission${unavailable}`, () => {
  expect(run(NOT_PERMITTED)).toMatchObject({ returned: 0, threads: [0], child: 0 });
});

const BEHIND_PROGRAM = `
import { getPriority } from "node:os";
const source = 'import { getPriority } from "node:os"; import { lowerPriority } from ${JSON.stringify(MODULE)};' +
  'import { setPriority } from "node:os"; lowerPriority(); lowerPriority(); const worker = getPriority(0);' +
  "setPriority(0, 19); lowerPriority(); postMessage({ worker, back: getPriority(0) });";
const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
worker.onmessage = ({ data }) => {
  console.log(JSON.stringify({ ...data, loop: getPriority(process.pid) }));
  process.exit(0);
};
`;

test.each([0, 3, 30])(
  "a thread with a lower priority is five steps behind the event loop, which stays as it was: +%d",
  (more) => {
    const command = ["nice", "-n", String(more), process.execPath, "-e", BEHIND_PROGRAM];
    const { stdout, stderr } = Bun.spawnSync(command, { stderr: "pipe" });
    expect(stderr.toString()).toBe("");
    const loop = Math.min(getPriority() + more, 19);
    expect(JSON.parse(stdout.toString())).toEqual({ loop, worker: Math.min(loop + 5, 19), back: 19 });
  },
);

const AUTOGROUP = "/proc/self/autogroup";
const withoutGroups = existsSync(AUTOGROUP) ? unavailable : " (this kernel has no autogroups)";

test.skipIf(withoutGroups !== "")(`a session that it leads goes before other sessions${withoutGroups}`, () => {
  expect(run(["setsid", "--wait"])).toMatchObject({ returned: -10, session: -10 });
});

test.skipIf(withoutGroups !== "")(`a session that it does not lead stays as it is${withoutGroups}`, () => {
  const own = Number(readFileSync(AUTOGROUP, "utf8").split(" ").at(-1));
  expect(run([])).toMatchObject({ returned: -10, session: own });
});

test.skipIf(withoutGroups !== "")(`a session stays as it is without the permission${withoutGroups}`, () => {
  expect(run(["setsid", "--wait", ...NOT_PERMITTED])).toMatchObject({ returned: 0, session: 0 });
});
