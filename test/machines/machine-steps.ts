/** What the README has a newcomer do, step by step, on a bare system and on one that gets the package alone. */
import { copyFileSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json";
import { datagram, flood } from "../fixtures/replay-command.ts";
import { ROOT } from "../source-tree.ts";
import { bareSystem, install, type Suite } from "./bare-system.ts";
import { bootPackage } from "./booted-package.ts";
import { runLogged } from "./logged-command.ts";
import { MACHINES, type RootFolder } from "./root-folder.ts";
import type { StepResult } from "./step-table.ts";

const MINUTE_MS = 60_000;
/** Where the tree is on a system. */
const TREE = join("/usr/src", manifest.name);
const TOOL_VERSIONS = ["node_modules/.bin/bun", "setup/versions.ts", "--all"];
const VICTIM = "203.0.113.7";
const CONFIG = `networks: [203.0.113.0/24]\nthresholds: { pps: 1000, mbps: 100, flows_per_sec: 100000 }\n`;

/** Takes each result as it comes. */
export type Report = (result: StepResult) => void;

export interface BuildOrder {
  readonly suite: Suite;
  readonly commit: string;
  /** The long part. */
  readonly withTests: boolean;
  readonly report: Report;
}

/** Builds, shows and tests a clone of the tree on a bare system. Returns the package's file; null: it was not built. */
export async function buildOnBareSystem(order: BuildOrder): Promise<string | null> {
  const { suite, commit, withTests, report } = order;
  const steps = new Steps(suite, "tree", report);
  const root = await steps.system();
  if (root === null) return null;
  try {
    const tree = join(root.path, TREE);
    const clone = `git clone -q --no-hardlinks ${ROOT} ${tree} && git -C ${tree} checkout -q --detach ${commit}`;
    if (!(await steps.here("clone", ["sh", "-ec", clone]))) return null;
    const make = (name: string, ...targets: string[]) =>
      steps.inside(root, name, ["make", ...targets], { directory: TREE, deadlineMs: 90 * MINUTE_MS });
    if (!(await make("make lab", "lab"))) return null;
    const hasPackage = await make("make deb", "deb");
    if (withTests) await make("make test", "test");
    await steps.inside(root, "versions", TOOL_VERSIONS, { directory: TREE, deadlineMs: MINUTE_MS });
    return hasPackage ? takenOver(root, suite) : null;
  } finally {
    finish(root);
  }
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

/** Installs the package on a bare system, uses it and purges it. */
export async function usePackage({ suite, builtOn, deb, report }: PackageOrder): Promise<void> {
  const steps = new Steps(suite, builtOn === suite ? "package" : `package of ${builtOn}`, report);
  const root = await steps.system();
  if (root === null) return;
  try {
    writeFileSync(join(root.path, "tmp/capture.pcap"), flood(datagram(VICTIM), 10_000, 3));
    writeFileSync(join(root.path, "tmp/replay.yaml"), CONFIG);
    if (!(await steps.timed("apt install", (log) => install(root, deb, log)))) return;
    const run = (name: string, script: string) =>
      steps.inside(root, name, ["sh", "-ec", script], { deadlineMs: 5 * MINUTE_MS });
    await run("floodwall version", "floodwall version && floodwall-scrub --version");
    await run("floodwall check", "for file in floodwall scrub; do floodwall check /etc/floodwall/$file.yaml; done");
    await run("floodwall replay", REPLAY);
    await run("purge", PURGE);
  } finally {
    finish(root);
  }
}

/** Boots a system that has the package with its own kernel and systemd. */
export async function bootWithPackage({ suite, builtOn, deb, report }: PackageOrder): Promise<void> {
  const steps = new Steps(suite, builtOn === suite ? "booted" : `booted, package of ${builtOn}`, report);
  await steps.timed("the unit's life", (log) => bootPackage({ suite, deb, log }));
}

const REPLAY = `floodwall replay /tmp/capture.pcap --config /tmp/replay.yaml | tee /tmp/replayed && grep -q ${VICTIM} /tmp/replayed`;

/** The user stays, as files of its id may; nothing else that bears the name does. */
const PURGE = `
  mkdir -p /var/lib/floodwall && touch /var/lib/floodwall/state.db && echo A=b > /etc/floodwall/floodwall.env
  DEBIAN_FRONTEND=noninteractive apt-get purge -y floodwall
  left=$(find / -xdev -iname '*floodwall*'; grep -rl floodwall /etc --include='*' | grep -v -E '/(passwd|group|shadow|gshadow|subuid|subgid)-?$' || true)
  [ -z "$left" ] || { echo "left after the purge: $left"; exit 1; }`;

function finish(root: RootFolder): void {
  if (process.env["FRESH_KEEP"] === undefined) root.remove();
  else console.log(`  kept: ${root.path}`);
}

interface InsideOptions {
  readonly directory?: string;
  readonly deadlineMs: number;
}

/** Steps of one system: each has a log of its own, and is reported when it is over. */
class Steps {
  readonly #suite: Suite;
  readonly #part: string;
  readonly #report: Report;

  constructor(suite: Suite, part: string, report: Report) {
    this.#suite = suite;
    this.#part = part;
    this.#report = report;
  }

  /** null: it was not made. */
  async system(): Promise<RootFolder | null> {
    let root: RootFolder | null = null;
    await this.timed("bare system", async (log) => {
      root = await bareSystem({ suite: this.#suite, log });
      return 0;
    });
    return root;
  }

  here(name: string, command: readonly string[]): Promise<boolean> {
    return this.timed(name, (log) => runLogged(command, { environment: process.env, log, deadlineMs: MINUTE_MS }));
  }

  inside(root: RootFolder, name: string, command: readonly string[], options: InsideOptions): Promise<boolean> {
    return this.timed(name, (log) => root.run(command, { log, ...options }));
  }

  async timed(name: string, work: (log: string) => Promise<number | null>): Promise<boolean> {
    const log = join(MACHINES, "logs", `${this.#suite}-${this.#part}-${name}.log`.replaceAll(" ", "-"));
    mkdirSync(join(MACHINES, "logs"), { recursive: true });
    writeFileSync(log, "");
    const startMs = performance.now();
    const code = await work(log).catch((cause: unknown) => {
      writeFileSync(log, `${readFileSync(log, "utf8")}${String(cause)}\n`);
      return 1;
    });
    const seconds = (performance.now() - startMs) / 1000;
    this.#report({ suite: this.#suite, part: this.#part, step: name, ok: code === 0, seconds, log });
    return code === 0;
  }
}
