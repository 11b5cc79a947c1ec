/** What readers copy from docs/operations is right: configurations are valid, metrics and linked files exist. */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { parseConfig } from "../../src/config/load/load.ts";
import { loadScrubAgent } from "../../src/config/scrub-agent-config.ts";
import { ScrubAgentMetrics } from "../../src/observability/scrub-agent-metrics.ts";
import { filledMetrics } from "../fixtures/metrics.ts";
import { ROOT } from "../source-tree.ts";

const PAGES = join(ROOT, "docs/operations");
/** What a part of the service's configuration leaves to the reader. */
const SERVICE = {
  networks: ["203.0.113.0/24", "2001:db8::/32"],
  thresholds: { pps: 1000, mbps: 10, flows_per_sec: 100 },
};
const NODE = { node: "scrub1", dataplane: { interfaces: ["eth1"] } };

type Keys = Readonly<Record<string, unknown>>;

interface Example {
  readonly page: string;
  /** As its first line says: `floodwall.yaml`. */
  readonly file: string;
  readonly keys: Keys;
}

const pages = readdirSync(PAGES).map((page) => ({ page, text: readFileSync(join(PAGES, page), "utf8") }));
const examples: readonly Example[] = pages.flatMap(({ page, text }) =>
  [...text.matchAll(/```yaml\n# \/etc\/floodwall\/(\S+)\n(.*?)```/gs)].map(([, file = "", body = ""]) => ({
    page,
    file,
    keys: parse(body) as Keys,
  })),
);

const bytes = (keys: Keys) => ({ kind: "bytes", bytes: new TextEncoder().encode(JSON.stringify(keys)) }) as const;

function problemsOf({ page, file, keys }: Example): readonly object[] {
  if (file === "scrub.yaml") {
    const loaded = loadScrubAgent(bytes({ ...NODE, ...keys }));
    return loaded.kind === "valid" ? [] : loaded.problems;
  }
  const zones = examples.find((other) => other.page === page && other.file === "zones.yaml")?.keys ?? { zones: [] };
  const service = file === "zones.yaml" ? { edge: { zones_file: "/zones.yaml", nodes: [{ name: "fra1" }] } } : keys;
  const loaded = parseConfig(bytes({ ...SERVICE, ...service }).bytes, () => bytes(zones));
  return loaded.kind === "valid" ? [] : loaded.problems;
}

/** As GitHub makes them of headings. */
function anchorsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

describe("the operations pages", () => {
  test("have examples of all three files", () => {
    expect(new Set(examples.map(({ file }) => file))).toEqual(new Set(["floodwall.yaml", "scrub.yaml", "zones.yaml"]));
  });

  test.each(examples.map((example, i) => [`${example.page} ${i} ${example.file}`, example] as const))(
    "have a valid %s",
    (_, example) => {
      expect(problemsOf(example)).toEqual([]);
    },
  );

  test("name metrics that exist", async () => {
    const exposed = `${await filledMetrics().text()}${await new ScrubAgentMetrics("1").text()}`;
    const known = new Set([...exposed.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    const named = pages.flatMap(({ text }) => [...text.matchAll(/\bsvc_[a-z_]*[a-z]\b(?!_)/g)].map(([name]) => name));
    expect(named.length).toBeGreaterThan(40);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  test("link to pages, headings and files that are there", () => {
    const links = pages.flatMap(({ page, text }) =>
      [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].map(([, path = "", anchor]) => ({
        page,
        path: path === "" ? page : path,
        anchor,
      })),
    );
    const broken = links.filter(({ path, anchor }) => {
      const file = join(PAGES, path);
      return !existsSync(file) || (anchor !== undefined && !anchorsOf(readFileSync(file, "utf8")).includes(anchor));
    });
    expect(broken).toEqual([]);
  });
});
