/** What the README has a newcomer do, step by step, on a bare system and on one that gets the package alone. */
import { appendFileSync, cpSync, existsSync, globSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ARCHITECTURES, type Architecture, isNative, NATIVE } from "../../deploy/architecture.ts";
import manifest from "../../package.json";
import { makeReleaseKey, RELEASE_KEY } from "../fixtures/package-repository.ts";
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
const BUILD_AGAIN = `
  git clone -q . ../again && make -C ../again deb
  cmp ../again/build/deb/floodwall_*.deb build/release/floodwall_*_${NATIVE.name}.deb`;
const VICTIM = "203.0.113.7";
const CONFIG = `networks: [203.0.113.0/24]\nthresholds: { pps: 1000, mbps: 100, flows_per_sec: 100000 }\n`;

/** Takes each result as it comes, with the path of the step's output. */
export type Report = (result: Omit<Row, "remark">, log: string) => void;

export interface BuildOrder {
  readonly suite: Suite;
  readonly commit: string;
  /** The commit of an older version, from which one upgrades; null: there is none. */
  readonly older: string | null;
  /** The long part. */
  readonly withTests: boolean;
  readonly report: Report;
}

export interface BuiltRelease {
  /** The folder of `make release`. */
  readonly folder: string;
  /** The package in it for this machine. */
  readonly deb: string;
  /** The package of the older version. */
  readonly older: string | null;
}

/** Builds, shows and tests a clone of the tree on a bare system. null: no release was built. */
export async function buildOnBareSystem(order: BuildOrder): Promise<BuiltRelease | null> {
  const { suite, commit, older, withTests, report } = order;
  const step = stepsOf(suite, "tree", report);
  return onBareSystem({ suite, step }, async (root) => {
    const tree = join(root.path, TREE);
    const clone = `git clone -q --no-hardlinks ${ROOT} ${tree} && git -C ${tree} checkout -q --detach ${commit}`;
    const cloned = (log: string) => runLogged(["sh", "-ec", clone], { log, deadlineMs: MINUTE_MS });
    const inTree = (name: string, ...command: string[]) =>
      step(name, (log) => root.run(command, { directory: TREE, log, deadlineMs: 90 * MINUTE_MS }));
    if (!(await step("clone", cloned))) return null;
    // First, so that its time has all that a newcomer waits for.
    if (withTests) await inTree("all checks and tests", ".ci/run");
    if (!(await inTree("make lab", "make", "lab"))) return null;
    makeReleaseKey(join(root.path, "root/.gnupg"));
    const isBuilt = await inTree("make release", "make", "release", `KEY=${RELEASE_KEY}`, "TRIAL=1");
    await inTree("versions", ...TOOL_VERSIONS);
    if (!isBuilt) return null;
    await inTree("the same package of a clone elsewhere", "sh", "-ec", BUILD_AGAIN);
    const folder = join(MACHINES, "releases", suite);
    rmSync(folder, { recursive: true, force: true });
    cpSync(join(tree, "build/release"), folder, { recursive: true });
    if (older !== null && (await upgradeInTree(inTree, { commit, older })))
      cpSync(join(tree, "build/older.deb"), join(folder, "older.deb"));
    return releaseIn(folder);
  });
}

/** The release of this folder. */
export function releaseIn(folder: string): BuiltRelease {
  const older = join(folder, "older.deb");
  const deb = only(join(folder, `floodwall_*_${NATIVE.name}.deb`));
  return { folder, deb, older: existsSync(older) ? older : null };
}

interface Versions {
  readonly commit: string;
  readonly older: string;
}

/** Builds the older version, and upgrades its service to the release. Returns whether the older package is there. */
async function upgradeInTree(
  inTree: (name: string, ...command: string[]) => Promise<boolean>,
  { commit, older }: Versions,
): Promise<boolean> {
  const build = `git checkout -q --detach ${older} && make deb && mv build/deb/floodwall_*.deb build/older.deb`;
  if (!(await inTree("make deb of the older version", "sh", "-ec", build))) return false;
  const upgrade = `git checkout -q --detach ${commit} && make setup
    OLDER=build/older.deb NEWER=$(ls build/release/floodwall_*_${NATIVE.name}.deb)
    export OLDER NEWER
    node_modules/.bin/bun test ./test/machines/upgrade.cases.ts`;
  await inTree("an upgrade beside a BIRD", "sh", "-ec", upgrade);
  return true;
}

function only(pattern: string): string {
  const [path, ...others] = globSync(pattern);
  if (path === undefined || others.length > 0) throw new Error(`not one ${pattern}`);
  return path;
}

/** Where a package is used: on a bare system of each architecture, and on a booted one of this machine's. */
export const PARTS = ["amd64", "arm64", "booted"] as const;

export interface PackageOrder {
  readonly suite: Suite;
  readonly parts: readonly (typeof PARTS)[number][];
  /** Which release the package was built on. */
  readonly builtOn: Suite;
  readonly release: BuiltRelease;
  readonly report: Report;
}

/** Installs the package on bare systems of these processors, uses it and purges it; then boots one that has it. */
export async function usePackage({ suite, builtOn, parts, release, report }: PackageOrder): Promise<void> {
  const { folder, deb, older } = release;
  const of = builtOn === suite ? "" : ` of ${builtOn}`;
  const repository = join(folder, "apt");
  for (const architecture of ARCHITECTURES.filter(({ name }) => parts.includes(name))) {
    const native = isNative(architecture);
    const step = stepsOf(suite, `package${of}${native ? "" : `, ${architecture.name} emulated`}`, report);
    await onBareSystem({ suite, step, architecture }, async (root) => {
      const fromRepository = () =>
        step("apt install from a repository", (log) => installFromRepository(root, repository, log));
      if (native ? await step("apt install", (log) => install(root, deb, log)) : await fromRepository())
        await useInstalled(root, step);
      if (native) await fromRepository();
    });
  }
  if (!parts.includes("booted")) return;
  const booted = stepsOf(suite, `booted package${of}`, report);
  await booted("the unit's life", (log) => bootPackage({ suite, deb, older, log }));
}

async function useInstalled(root: RootFolder, step: Step): Promise<void> {
  writeFileSync(join(root.path, "tmp/capture.pcap"), flood(datagram(VICTIM), 10_000, 3));
  writeFileSync(join(root.path, "tmp/replay.yaml"), CONFIG);
  for (const [name, script] of Object.entries(USES)) {
    await step(name, (log) => root.run(["sh", "-ec", script], { log, deadlineMs: 5 * MINUTE_MS }));
  }
}

const USES = {
  "floodwall version": "floodwall version && floodwall-scrub --version",
  "floodwall check": "for file in floodwall scrub; do floodwall check /etc/floodwall/$file.yaml; done",
  "floodwall replay": `floodwall replay /tmp/capture.pcap --config /tmp/replay.yaml | tee /tmp/replayed && grep -q ${VICTIM} /tmp/replayed`,
  // The user stays, as files of its id may; nothing else that bears the name does, but packages that apt has fetched.
  purge: `
  mkdir -p /var/lib/floodwall && touch /var/lib/floodwall/state.db && echo A=b > /etc/floodwall/floodwall.env
  DEBIAN_FRONTEND=noninteractive apt-get purge -y floodwall && apt-get clean
  left=$(find / -xdev -iname '*floodwall*'; grep -rl floodwall /etc --include='*' | grep -v -E '/(passwd|group|shadow|gshadow|subuid|subgid)-?$' || true)
  [ -z "$left" ] || { echo "left after the purge: $left"; exit 1; }`,
};

/** Runs a step, with a log of its own, and reports it; resolves with whether it passed. */
type Step = (name: string, work: (log: string) => Promise<number | null>) => Promise<boolean>;

interface SystemOrder {
  readonly suite: Suite;
  readonly step: Step;
  /** Default: this machine's. */
  readonly architecture?: Architecture;
}

/** Does `work` on a new bare system; null: the system was not made. */
async function onBareSystem<T>(order: SystemOrder, work: (root: RootFolder) => Promise<T>): Promise<T | null> {
  const { suite, step, architecture } = order;
  const made: RootFolder[] = [];
  await step("bare system", async (log) => {
    made.push(await bareSystem(suite, log, architecture));
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
