/** What the README has a newcomer do, step by step, on a bare system and on one that gets the package alone. */
import { appendFileSync, copyFileSync, globSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json";
import { datagram, flood } from "../fixtures/replay-command.ts";
import { ROOT } from "../source-tree.ts";
import { bareSystem, install, type Suite } from "./bare-system.ts";
import { bootPackage } from "./booted-package.ts";
import { installFromRepository } from "./repository-step.ts";
import { MACHINES, type RootFolder, runLogged } from "./root-folder.ts";
import type { Row } from "./step-table.ts";

const MINUTE_MS = 60_000;
/** Where the tree is on a system. */
const TREE = join("/usr/src", manifest.name);
const TOOL_VERSIONS = ["node_modules/.bin/bun", "setup/versions.ts", "--all"];
const VICTIM = "203.0.113.7";
const CONFIG = `networks: [203.0.113.0/24]\nthresholds: { pps: 1000, mbps: 100, flows_per_sec: 100000 }\n`;

/** Takes each result as it comes, with the path of the step's output. */
export type Report = (result: Omit<Row, "remark">, log: string) => void;

export interface BuildOrder {
  readonly suite: Suite;
  readonly commit: string;
  /** The long part. */
  readonly withTests: boolean;
  readonly report: Report;
}

/** Builds, shows and tests a clone of the tree on a bare system. Returns the package's file; null: it was not built. */
export async function buildOnBareSystem({ suite, commit, withTests, report }: BuildOrder): Promise<string | null> {
  const step = stepsOf(suite, "tree", report);
  return onBareSystem(suite, step, async (root) => {
    const tree = join(root.path, TREE);
    const clone = `git clone -q --no-hardlinks ${ROOT} ${tree} && git -C ${tree} checkout -q --detach ${commit}`;
    const cloned = (log: string) => runLogged(["sh", "-ec", clone], { log, deadlineMs: MINUTE_MS });
    const inTree = (name: string, ...command: string[]) =>
      step(name, (log) => root.run(command, { directory: TREE, log, deadlineMs: 90 * MINUTE_MS }));
    if (!(await step("clone", cloned))) return null;
    // First, so that its time has all that a newcomer waits for.
    if (withTests) await inTree("all checks and tests", ".ci/run");
    if (!(await inTree("make lab", "make", "lab"))) return null;
    const hasPackage = await inTree("make deb", "make", "deb");
    await inTree("versions", ...TOOL_VERSIONS);
    return hasPackage ? takenOver(root, suite) : null;
  });
}

/** To where it outlives the system that it was built on. */
function takenOver(root: RootFolder, suite: Suite): string {
  const [built] = globSync(join(root.path, TREE, "build/deb/floodwall_*.deb"));
  if (built === undefined) throw new Error("make deb has made no package");
  const directory = join(MACHINES, "packages", suite);
  mkdirSync(directory, { recursive: true });
  const path = join(directory, "floodwall.deb");
  copyFileSync(built, path);
  return path;
}

export interface PackageOrder {
  readonly suite: Suite;
  /** Which release the package was built on. */
  readonly builtOn: Suite;
  readonly deb: string;
  readonly report: Report;
}

/** Installs the package on a bare system, uses it and purges it; then boots one that has it. */
export async function usePackage({ suite, builtOn, deb, report }: PackageOrder): Promise<void> {
  const of = builtOn === suite ? "" : ` of ${builtOn}`;
  const step = stepsOf(suite, `package${of}`, report);
  await onBareSystem(suite, step, async (root) => {
    writeFileSync(join(root.path, "tmp/capture.pcap"), flood(datagram(VICTIM), 10_000, 3));
    writeFileSync(join(root.path, "tmp/replay.yaml"), CONFIG);
    if (!(await step("apt install", (log) => install(root, deb, log)))) return;
    for (const [name, script] of Object.entries(USES)) {
      await step(name, (log) => root.run(["sh", "-ec", script], { log, deadlineMs: 5 * MINUTE_MS }));
    }
    await step("apt install from a repository", (log) => installFromRepository(root, deb, log));
  });
  const booted = stepsOf(suite, `booted package${of}`, report);
  await booted("the unit's life", (log) => bootPackage(suite, deb, log));
}

const USES = {
  "floodwall version": "floodwall version && floodwall-scrub --version",
  "floodwall check": "for file in floodwall scrub; do floodwall check /etc/floodwall/$file.yaml; done",
  "floodwall replay": `floodwall replay /tmp/capture.pcap --config /tmp/replay.yaml | tee /tmp/replayed && grep -q ${VICTIM} /tmp/replayed`,
  // The user stays, as files of its id may; nothing else that bears the name does.
  purge: `
  mkdir -p /var/lib/floodwall && touch /var/lib/floodwall/state.db && echo A=b > /etc/floodwall/floodwall.env
  DEBIAN_FRONTEND=noninteractive apt-get purge -y floodwall
  left=$(find / -xdev -iname '*floodwall*'; grep -rl floodwall /etc --include='*' | grep -v -E '/(passwd|group|shadow|gshadow|subuid|subgid)-?$' || true)
  [ -z "$left" ] || { echo "left after the purge: $left"; exit 1; }`,
};

/** Runs a step, with a log of its own, and reports it; resolves with whether it passed. */
type Step = (name: string, work: (log: string) => Promise<number | null>) => Promise<boolean>;

/** Does `work` on a new bare system; null: the system was not made. */
async function onBareSystem<T>(suite: Suite, step: Step, work: (root: RootFolder) => Promise<T>): Promise<T | null> {
  const made: RootFolder[] = [];
  await step("bare system", async (log) => {
    made.push(await bareSystem(suite, log));
    return 0;
  });
  const [root] = made;
  if (root === undefined) return null;
  try {
    return await work(root);
  } finally {
    if (process.env["FRESH_KEEP"] === undefined) root.remove();
    else console.log(`  kept: ${root.path}`);
  }
}

function stepsOf(suite: Suite, part: string, report: Report): Step {
  return async (name, work) => {
    const log = join(MACHINES, "logs", `${suite}-${part}-${name}.log`.replaceAll(" ", "-"));
    mkdirSync(join(MACHINES, "logs"), { recursive: true });
    writeFileSync(log, "");
    const startMs = performance.now();
    const code = await work(log).catch((cause: unknown) => {
      appendFileSync(log, `${String(cause)}\n`);
      return 1;
    });
    report({ suite, part, step: name, ok: code === 0, seconds: (performance.now() - startMs) / 1000 }, log);
    return code === 0;
  };
}
