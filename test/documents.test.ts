/** The documents say what the tree has: configurations that are valid, metrics that exist, licences on what needs them. */
import { expect, test } from "bun:test";
import { parse } from "yaml";
import { parseConfig } from "../src/config/load/load.ts";
import { loadScrubAgent } from "../src/config/scrub-agent-config.ts";
import { PACKETS_KEPT } from "../src/detection/attack/attack-reading.ts";
import { AMPLIFIERS } from "../src/detection/attack/vector.ts";
import { HostSpread } from "../src/detection/carpet/host-spread.ts";
import { normalDeviate } from "../src/detection/certainty/sampling.ts";
import { DOUBTFUL_TARGETS_MAX } from "../src/detection/certainty/suspicion.ts";
import { DIVERSIONS_MAX } from "../src/divert/diversions.ts";
import * as limits from "../src/limits.ts";
import { PROFILED_HOSTS_MAX, SCREENED_ROWS_MAX } from "../src/native/constants.ts";
import { CAP_PAUSE_MS } from "../src/notify/cap-notices.ts";
import { ScrubAgentMetrics } from "../src/observability/scrub-agent-metrics.ts";
import { TRAFFIC_ROWS_MAX } from "../src/service/traffic-recorder.ts";
import { STATE_WAIT_MS } from "../src/storage/state-store.ts";
import { filledMetrics } from "./fixtures/metrics.ts";
import { isTest, sourceFiles } from "./source-tree.ts";

const PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];

const files = sourceFiles();
const documents = files.filter(({ path }) => PAGES.includes(path) || /^docs\/.*\.md$/.test(path));

/** What a part of the service's configuration leaves to the reader. */
const SERVICE = {
  networks: ["203.0.113.0/24", "2001:db8::/32"],
  thresholds: { pps: 1000, mbps: 10, flows_per_sec: 100 },
};
/** It is read where a file includes it. */
const CUSTOMER = "customers/acme.yaml";
const NODE = { node: "scrub1", dataplane: { interfaces: ["eth1"] } };

type Keys = Readonly<Record<string, unknown>>;

interface Example {
  readonly page: string;
  /** As its first line says: `# /etc/floodwall/floodwall.yaml`; one without is a whole configuration of the service. */
  readonly file: string;
  readonly keys: Keys;
}

const examples: readonly Example[] = documents.flatMap(({ path, text }) =>
  [...text.matchAll(/^```yaml\n(?:# \/etc\/floodwall\/(\S+)\n)?(.*?)^```/gms)]
    .map(([, file, body = ""]) => ({ page: path, file: file ?? "", keys: parse(body) as Keys }))
    .filter(({ file, keys }) => file !== "" || ("networks" in keys && "thresholds" in keys)),
);

const bytes = (keys: Keys) => ({ kind: "bytes", bytes: new TextEncoder().encode(JSON.stringify(keys)) }) as const;

function problemsOf({ page, file, keys }: Example): readonly object[] {
  if (file === "scrub.yaml") {
    const loaded = loadScrubAgent(bytes({ ...NODE, ...keys }));
    return loaded.kind === "valid" ? [] : loaded.problems;
  }
  const zones = examples.find((other) => other.page === page && other.file === "zones.yaml")?.keys ?? { zones: [] };
  if (file === CUSTOMER) return [];
  const service = file === "zones.yaml" ? { edge: { zones_file: "/zones.yaml", nodes: [{ name: "fra1" }] } } : keys;
  // Files that it includes are the page's own, and networks of a file are one.
  const read = (path: string) => {
    const part = examples.find((other) => other.page === page && path === `/${other.file}`);
    return part === undefined
      ? ({ kind: "bytes", bytes: Buffer.from("203.0.113.16/28\n") } as const)
      : bytes(part.keys);
  };
  const parts = { read, list: () => ["acme.yaml"], exists: () => false };
  const loaded = parseConfig(bytes({ ...SERVICE, ...service }).bytes, () => bytes(zones), {
    directory: "/",
    files: parts,
  });
  return loaded.kind === "valid" ? [] : loaded.problems;
}

test("configurations of each file are in the documents, and all are valid", () => {
  const files = new Set(examples.map(({ file }) => file));
  expect(files).toEqual(new Set(["", "floodwall.yaml", "scrub.yaml", "zones.yaml", CUSTOMER]));
  const faults = examples.map((example) => ({ ...example, problems: problemsOf(example) }));
  expect(faults.filter(({ problems }) => problems.length > 0)).toEqual([]);
});

test("every metric in the documents exists", async () => {
  const exposed = `${await filledMetrics().text()}${await new ScrubAgentMetrics("1").text()}`;
  const known = new Set([...exposed.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  const named = documents.flatMap(({ text }) => [...text.matchAll(/\bsvc_[a-z_]*[a-z]\b(?!_)/g)].map(([name]) => name));
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test("every row of a table is below a head: behind an empty line it is shown as text", () => {
  const orphans = documents.flatMap(({ path, text }) =>
    [...text.matchAll(/(?<!\|)\n(\|.*)\n(?!\|[ :|-]+\|\n)/g)].map(([, row = ""]) => `${path}: ${row.slice(0, 60)}`),
  );
  expect(orphans).toEqual([]);
});

test("the interface has the services that amplify with their ports, in their order", () => {
  const page = documents.find(({ path }) => path === "docs/interface.md")?.text ?? "";
  const [, table = ""] = /\| Service \| Port \|.*\n.*\n((?:\|.*\n)+)/.exec(page) ?? [];
  const services = [...table.matchAll(/`([\w-]+)` \| (\d+)/g)].map(([, name, port]) => [name, Number(port)]);
  expect(services).toEqual(Object.entries(AMPLIFIERS));
});

const textOf = (path: string) => files.find((file) => file.path === path)?.text ?? "";

test("every target of make and every bench in the documents exists", () => {
  const targets = new Set([...textOf("Makefile").matchAll(/^([a-z][a-z-]*):/gm)].map(([, name]) => name));
  const present = documents.filter(({ path }) => path !== "CHANGELOG.md").map(({ text }) => text);
  const blocks = present.flatMap((text) => [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = ""]) => block));
  const inText = present.flatMap((text) => [...text.matchAll(/`make\s+([a-z][a-z-]*)/g)]);
  const named = [...inText, ...blocks.flatMap((block) => [...block.matchAll(/^make ([a-z][a-z-]*)/gm)])];
  expect(named.length).toBeGreaterThan(30);
  expect(named.flatMap(([, name = ""]) => (targets.has(name) ? [] : [name]))).toEqual([]);
  const benches = present.flatMap((text) => [...text.matchAll(/BENCH='?([a-z-]+)/g)].map(([, name = ""]) => name));
  expect(benches).not.toBeEmpty();
  const tables = [...textOf("bench/run.ts").matchAll(/^const \w+: Readonly<Record<string, Bench>> = \{(.*?)\};$/gms)];
  const keys = tables.flatMap(([, rows = ""]) =>
    rows.split(",").map((row) => row.split(":")[0]?.replace(/["\s]/g, "")),
  );
  expect(benches.filter((name) => !keys.some((key) => key === name || key?.startsWith(`${name}-`)))).toEqual([]);
});

/** Texts of which the code has the parts in several places. */
const COMPOSED = /^(?:request body|report) exceeds |^state must be one of /;

test("every error text in the interface is in the code, apart from its values", () => {
  const page = textOf("docs/interface.md");
  const [, table = ""] = /### Error texts\n(.*?)\n## /s.exec(page) ?? [];
  const cells = table.split("\n").filter((line) => line.startsWith("| `"));
  const inTable = cells.flatMap((line) => [...(line.split(" | ")[0] ?? "").matchAll(/`([^`]+)`/g)]);
  const texts = [...inTable, ...page.matchAll(/\b[45]\d\d\s`([^`]+)`/g)].map(([, text = ""]) =>
    text.replace(/\s+/g, " "),
  );
  expect(texts.length).toBeGreaterThan(100);
  const product = files.filter((file) => file.path.startsWith("src/") && !isTest(file));
  const code = product.map(({ text }) => text.replace(/\s+/g, " ")).join("\n");
  const partsOf = (text: string) => text.split(/<[^>]+>|[\d,]*\d|…/).map((part) => part.replace(/^\W+|\W+$/g, ""));
  const isInCode = (text: string) => partsOf(text).every((part) => code.includes(part));
  expect(texts.filter((text) => !COMPOSED.test(text) && !isInCode(text))).toEqual([]);
});

test("the pages of measurements have the rows of the lab and of the bench", () => {
  const rowsOf = (page: string) => [...textOf(page).matchAll(/^\| ([^|]+?) \|/gm)].map(([, name = ""]) => name);
  const trials = [...textOf("test/lab/scrub/trials.ts").matchAll(/\bname: "([^"]+)"/g)].map(([, name = ""]) => name);
  expect(trials.length).toBeGreaterThan(20);
  const attacks = rowsOf("docs/operations/measured-attacks.md");
  expect(trials.filter((name) => !attacks.includes(name))).toEqual([]);
  const bench = textOf("bench/native_xdp/packet_times.cpp");
  const times = rowsOf("docs/packet-path.md").filter((name) => /^(?:Filter|Inline), /.test(name));
  const cases = times.map((name) => `"${name.replace(/^./, (first) => first.toLowerCase())}"`);
  expect(cases).not.toBeEmpty();
  expect(cases.filter((name) => !bench.includes(name))).toEqual([]);
});

/** How long the samples of a prefix are added up until they show that it has this number of hosts. */
function windowsUntilSpread(hosts: number, samples: number): number {
  const spread = new HostSpread(1);
  const [sum, squares] = [samples * 100, samples * 100 ** 2];
  const window = { sum, squares, variance: 100 * sum };
  const isOver = (pass: number) => spread.isOver(hosts, "", window, { nowMs: 1000 * pass, windowMs: 1000 });
  for (let pass = 1; pass < 2000; pass++) if (isOver(pass)) return pass;
  return Number.POSITIVE_INFINITY;
}

const leastSamples = (hosts: number) => {
  let samples = 1;
  while (!Number.isFinite(windowsUntilSpread(hosts, samples))) samples++;
  return samples;
};
const deviateIn = (seconds: number) => normalDeviate(0.025 / (10 * seconds)).toFixed(1);

/** Numbers that operators plan with. Those that a test of the API meets are not repeated here. */
test.each([
  ["detection.md", `At most ${limits.ACTIVE_ATTACKS_MAX} attacks are in progress at once`],
  ["detection.md", `In one tick at most ${SCREENED_ROWS_MAX} hosts`],
  ["detection.md", `At most ${limits.CARPETS_MAX} are in progress at once`],
  ["sampling.md", `and ${DOUBTFUL_TARGETS_MAX} prefixes, are watched`],
  ["sampling.md", `${deviateIn(10)} in ten seconds, ${deviateIn(300)} in five minutes, ${deviateIn(3600)} in an hour`],
  ["sampling.md", `after ${windowsUntilSpread(50, 30)} windows for 50 hosts, after ${windowsUntilSpread(1000, 30)}`],
  ["sampling.md", `1000 hosts need at least ${leastSamples(1000)} samples`],
  ["detection.md", `of up to ${PROFILED_HOSTS_MAX.toLocaleString("en-US")} hosts`],
  ["interface.md", `has not taken it within ${STATE_WAIT_MS / 1000} s`],
  ["interface.md", `| past bans kept | ${limits.ENDED_BANS_KEPT} |`],
  ["interface.md", `diversions by the scrubbing hook | ${DIVERSIONS_MAX} at once`],
  ["interface.md", `| levers set at once | ${limits.LEVERS_MAX} |`],
  [
    "interface.md",
    `event streams | ${limits.EVENT_STREAMS_PER_TOKEN} of one token, ${limits.EVENT_STREAMS_MAX} in all |`,
  ],
  [
    "interface.md",
    `zones, nodes of each kind, tokens | ${limits.ZONES_MAX}, ${limits.NODES_MAX}, ${limits.TOKENS_MAX} |`,
  ],
  ["operations/monitoring.md", `a queue of its own of ${limits.NOTIFY_QUEUE_MAX} events`],
  ["operations/monitoring.md", `of the ${TRAFFIC_ROWS_MAX.toLocaleString("en-US")} busiest rows`],
  ["operations/monitoring.md", `\`cap_reached\`; at most every ${CAP_PAUSE_MS / 60_000} min for each cap`],
  ["operations/replay.md", `of ${PACKETS_KEPT} packets`],
])("docs/%s says %j, as the code does", (page, words) => {
  const text = documents.find(({ path }) => path === `docs/${page}`)?.text.replace(/\s+/g, " ");
  expect(text?.includes(words)).toBe(true);
});

test("BPF programs and the headers that they share name their licences in the first line, and the texts are there", () => {
  const SPDX = "SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause";
  const programs = files.filter(({ path }) => path.endsWith(".bpf.c") || /^addon\/(bpf|abi)\//.test(path));
  expect(programs.length).toBeGreaterThan(10);
  expect(programs.filter(({ text }) => !text.split("\n")[0]?.includes(SPDX)).map(({ path }) => path)).toEqual([]);
  const texts = sourceFiles("LICENSES").map(({ path }) => path);
  expect(texts.toSorted()).toEqual(["LICENSES/BSD-2-Clause.txt", "LICENSES/GPL-2.0-only.txt"]);
});
