/**
 * Which versions of its tools a machine has: `setup/versions.ts` prints them, and refuses by name what is too old, with
 * the remedy. The bounds are what Debian 12 has, the oldest release that everything is built and tested on.
 */

export interface Tool {
  readonly name: string;
  readonly command: readonly string[];
  /** Debian's package of it. */
  readonly package: string;
  /** Numbers with dots; null: every version will do. */
  readonly minimum: string | null;
}

export interface FoundTool extends Tool {
  /** Where it is; null: it is not installed. */
  readonly path: string | null;
  /** Null: not installed, or it does not report a version. */
  readonly version: string | null;
}

/** Tools of the build, the service and the lab. */
const TOOLS: readonly Tool[] = [
  { name: "g++", command: ["g++", "-dumpfullversion"], package: "g++", minimum: "12" },
  { name: "clang", command: ["clang", "--version"], package: "clang", minimum: "14" },
  { name: "bpftool", command: ["bpftool", "version"], package: "bpftool", minimum: "7" },
  { name: "gobgpd", command: ["gobgpd", "--version"], package: "gobgpd", minimum: "3.10" },
  { name: "BIRD", command: ["bird", "--version"], package: "bird2", minimum: "2.0.12" },
];

/** The ground of everything, and of fetching the first Bun: any version will do. */
const GROUND: readonly Tool[] = [
  { name: "Linux", command: ["uname", "-r"], package: "linux-image-amd64", minimum: null },
  { name: "npm", command: ["npm", "--version"], package: "npm", minimum: null },
  { name: "node", command: ["node", "--version"], package: "nodejs", minimum: null },
];

/** Tests of a missing one of these are skipped. */
const TEST_TOOLS: readonly Tool[] = [
  { name: "Chromium", command: ["chromium", "--version"], package: "chromium", minimum: null },
  { name: "ClickHouse", command: ["clickhouse-server", "--version"], package: "clickhouse-server", minimum: "18.16" },
  { name: "Prometheus", command: ["promtool", "--version"], package: "prometheus", minimum: "2.42" },
];

const ALL_TOOLS: readonly Tool[] = [...GROUND, ...TOOLS, ...TEST_TOOLS];

export async function findTool(tool: Tool): Promise<FoundTool> {
  const [program = "", ...args] = tool.command;
  const path = Bun.which(program);
  if (path === null) return { ...tool, path, version: null };
  // Debian's ClickHouse has no option that reports it.
  const version = (await numberFrom([path, ...args])) ?? (await numberFrom(versionOfPackage(tool.package)));
  return { ...tool, path, version };
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder is dpkg-query's
const versionOfPackage = (name: string) => ["dpkg-query", "--show", "--showformat=${source:Upstream-Version}", name];

/** The first number with dots that a program prints; null when it fails. */
async function numberFrom(command: readonly string[]): Promise<string | null> {
  const child = Bun.spawn([...command], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const output = (await Promise.all([child.stdout.text(), child.stderr.text()])).join("\n");
  return (await child.exited) === 0 ? (/\d+(?:\.\d+)*/.exec(output)?.[0] ?? null) : null;
}

/** Why a tool cannot be used, with the remedy; null: it can. One that is not installed is for others to judge. */
export function refusal({ name, path, version, minimum, package: debianPackage }: FoundTool): string | null {
  if (path === null || minimum === null) return null;
  const remedy = `Debian 12 has a newer one in its package ${debianPackage}: install it, and have it come first in PATH`;
  if (version === null) return `${path} reports no version, and ${name} ${minimum} or newer is needed. ${remedy}`;
  return isOlder(version, minimum)
    ? `${path} is ${name} ${version}, and ${minimum} or newer is needed. ${remedy}`
    : null;
}

function isOlder(version: string, minimum: string): boolean {
  const whole = [...version.split("."), "0", "0"].slice(0, 3).join(".");
  return !Bun.semver.satisfies(whole, `>=${minimum}`);
}

if (import.meta.main) {
  const found = await Promise.all((process.argv.includes("--all") ? ALL_TOOLS : TOOLS).map(findTool));
  const known = found.filter(({ version }) => version !== null);
  console.log(known.map(({ name, version }) => `${name} ${version}`).join(", "));
  const refusals = found.map(refusal).filter((text) => text !== null);
  for (const text of refusals) console.error(text);
  process.exit(refusals.length === 0 ? 0 : 1);
}
