/** The reference of the configuration is the schema's, its examples load, and its defaults are those of the loader. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import { parse } from "yaml";
import { type LoadedConfig, parseConfig } from "../src/config/load/load.ts";
import { RESTART_KEY_NAMES } from "../src/config/reload.ts";
import { loadScrubAgent } from "../src/config/scrub-agent-config.ts";
import { ConfigFile } from "../src/config/sections/schema.ts";
import { describeProblem } from "../src/schema/problem.ts";
import { described } from "../src/schema/schema-forms.ts";
import { keysOf } from "./configuration-keys.ts";
import { CHAPTERS, type Chapter, configurationPage, exampleText, sectionsOf } from "./configuration-page.ts";
import { type ReferenceRow, repeatsIn } from "./configuration-repeats.ts";

// The keys are many, and each is loaded twice.
setDefaultTimeout(60_000);

const PAGE = readFileSync(join(import.meta.dir, "configuration.md"), "utf8");

type Mapping = Record<string, unknown>;

/** What each file needs beside the section that is tried. */
const MINIMAL: Readonly<Record<string, Mapping>> = {
  "The service": {
    networks: ["192.0.2.0/24", "2001:db8::/32"],
    thresholds: { pps: 100_000, mbps: 1000, flows_per_sec: 50_000 },
    dataplane: { interfaces: ["eth0"] },
  },
  "The zones file": {},
  "A scrub node": {
    node: "scrub1",
    controller: { url: "http://127.0.0.1:8080" },
    dataplane: { interfaces: ["eth1"] },
  },
};

const bytesOf = (file: Mapping) => new TextEncoder().encode(JSON.stringify(file));

/** What the real loader makes of a file. Throws with its faults. */
function load({ title }: Chapter, file: Mapping): object {
  const loaded =
    title === "A scrub node" ? loadScrubAgent({ kind: "bytes", bytes: bytesOf(file) }) : service(title, file);
  if (loaded.kind === "valid") return loaded.config;
  throw new Error(loaded.problems.map((problem) => describeProblem(title, problem)).join("\n"));
}

function service(title: string, file: Mapping): LoadedConfig {
  if (title !== "The zones file") return parseConfig(bytesOf(file));
  const naming = { ...MINIMAL["The service"], edge: { zones_file: "/zones.yaml" } };
  return parseConfig(bytesOf(naming), () => ({ kind: "bytes", bytes: bytesOf(file) }));
}

/** null: it does not load. */
function loadOrNull(chapter: Chapter, file: Mapping): object | null {
  try {
    return load(chapter, file);
  } catch {
    return null;
  }
}

test("docs/configuration.md is what the schema says", () => {
  const [committed, generated] = [PAGE.split("\n"), configurationPage().split("\n")];
  const line = generated.findIndex((text, i) => text !== committed[i]);
  if (PAGE === configurationPage()) return;
  throw new Error(
    `docs/configuration.md is out of date, from line ${line + 1} on: run \`make docs\` and commit it.\n` +
      `schema:    ${generated[line]}\ncommitted: ${committed[line]}`,
  );
});

test("a key without a description is refused by its path", () => {
  const file = Type.Object({
    named: described(Type.Boolean(), "Has one."),
    nodes: described(Type.Array(Type.Object({ silent: Type.String() })), "Has one, and its items do not."),
  });
  expect(() => keysOf(file)).toThrow("without a description in the schema: nodes[].silent");
});

const row = (path: string, changes: Partial<ReferenceRow> = {}): ReferenceRow => ({
  ...{ path, type: "integer", fallback: "`1`", allowed: "", change: "reload", meaning: `What ${path} is.` },
  ...changes,
});
const [A, B, C] = [row("a"), row("b[]"), row("b[].c")];
const section = (path: string, ...rows: ReferenceRow[]) => ({ path, anchor: path, isSection: true, rows });
const inner = (...rows: ReferenceRow[]) => ({ path: "groups[].one", anchor: "groups", isSection: false, rows });

test.each([
  ["the same keys", [A, B, C], "a b, all"],
  ["inherited keys", [A, B, C].map((each) => ({ ...each, fallback: "inherited" })), "a b, all"],
  ["keys that a restart alone applies", [A, B, C].map((each) => ({ ...each, change: "restart" })), "a b, all, restart"],
  ["one more key", [A, B, C, row("d")], "a b"],
  ["a key that means something else", [row("a", { meaning: "Another." }), B, C, row("d")], null],
  ["a key of a list that differs", [A, B, row("b[].c", { allowed: "1 to 2" })], null],
])("a mapping with %s is described by the section of its name", (_, rows, expected) => {
  const [one, group] = [section("one", A, B, C), inner(...rows)];
  const repeat = repeatsIn([group, one]).get(group);
  const words = repeat && [[...repeat.names].join(" "), repeat.isWhole && "all", repeat.needsRestart && "restart"];
  expect(words?.filter(Boolean).join(", ") ?? null).toBe(expected);
});

test("every key that a reload leaves for a restart is a key of the file", () => {
  const known = keysOf(ConfigFile).map(({ path }) => path.replaceAll("[]", ""));
  expect(RESTART_KEY_NAMES.filter((key) => !known.includes(key))).toEqual([]);
});

describe.each(CHAPTERS.map((chapter) => [chapter.title, chapter] as const))("%s", (title, chapter) => {
  const sections = sectionsOf(chapter.schema).filter(({ name, keys }) => name !== "" || keys.length > 0);

  test.each(sections.map((section) => [section.name, section] as const))("the examples of %p load", (_, section) => {
    expect(section.examples).not.toBeEmpty();
    for (const example of section.examples) {
      const config = load(chapter, { ...MINIMAL[title], ...parse(exampleText(section, example)) });
      // Code asks for null alone.
      expect(Bun.inspect(config, { depth: 20 })).not.toContain(": undefined");
    }
  });

  test("the loader uses the printed defaults, and other values make a difference", () => {
    const rows = [...defaultsOf(chapter)];
    expect(rows.length).toBeGreaterThan(5);
    const faults = rows.map((row) => faultOf(chapter, row)).filter((fault) => fault !== null);
    expect(faults).toEqual([]);
  });
});

interface PrintedDefault {
  readonly path: string;
  readonly value: unknown;
  /** The choices that are printed with it. */
  readonly choices: readonly unknown[];
}

/** Of a chapter, those that are printed as a value and not in words, also of keys that the page describes elsewhere. */
function* defaultsOf({ schema }: Chapter): Generator<PrintedDefault> {
  for (const { path, fallback, allowed } of sectionsOf(schema).flatMap(({ keys }) => keys)) {
    if (fallback.kind !== "value") continue;
    const choices = [...allowed.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => parse(text));
    yield { path, value: fallback.value, choices };
  }
}

/** null: the file without the key, and with the key at its printed default, make the same configuration. */
function faultOf(chapter: Chapter, { path, value, choices }: PrintedDefault): string | null {
  for (const file of filesWith(chapter, path)) {
    const [absent, printed] = [loadOrNull(chapter, file.with(undefined)), loadOrNull(chapter, file.with(value))];
    if (absent === null || printed === null) continue;
    if (!Bun.deepEquals(absent, printed)) return `${path}: the loader does not use ${JSON.stringify(value)}`;
    if (COUPLED.has(path)) return null;
    const makesDifference = (other: unknown) => {
      const loaded = loadOrNull(chapter, file.with(other));
      return loaded !== null && !Bun.deepEquals(absent, loaded);
    };
    const lists = choices.map((choice) => [choice]);
    if ([...choices, ...lists, ...otherValues(value)].some(makesDifference)) return null;
  }
  return `${path}: no example shows a difference between its default and another value`;
}

/** Another value of these goes with another key only, or matters only there: they are not tried with one. */
const COUPLED: ReadonlySet<string> = new Set([
  "flowspec.action",
  "bgp.speaker",
  "bgp.communities_at[]",
  "bgp.policies[]",
  "scrubbing.communities_at[]",
  "controller.plain_http",
  "dataplane.tunnels[]",
  "maintenance[].hostgroups[]",
  "order_templates[].rules[].ports[]",
  "order_templates[].rules[].source_ports[]",
  "filter_rules[].not_source_sets[]",
  "filter_rules[].source_sets[]",
  "filter_rules[].payload[]",
  "filter_rules[].tcp_flags.set[]",
  "filter_rules[].tcp_flags.unset[]",
  "filter_rules[].tcp_options.set[]",
  "filter_rules[].tcp_options.unset[]",
  "scrub_profiles[].services[].ports[]",
  "scrub_profiles[].services[].source_ports[]",
]);

interface FileWith {
  /** undefined leaves the key out. */
  readonly with: (value: unknown) => Mapping;
}

/** A file for each example of the key's section, and one with the section alone. */
function* filesWith(chapter: Chapter, path: string): Generator<FileWith> {
  const steps = path.replace(/\[\]$/, "").split(".");
  const name = steps.length === 1 ? "" : (steps[0] ?? "").replace("[]", "");
  const section = sectionsOf(chapter.schema).find((one) => one.name === name);
  const examples = section === undefined ? [] : section.examples.map((example) => parse(exampleText(section, example)));
  for (const example of [...examples, {}]) {
    yield { with: (value) => withValue({ ...MINIMAL[chapter.title], ...example }, steps, value) };
  }
}

function withValue(file: Mapping, steps: readonly string[], value: unknown): Mapping {
  const whole = structuredClone(file);
  let place: Mapping = whole;
  for (const [i, step] of steps.slice(0, -1).entries()) {
    const key = step.replace("[]", "");
    place[key] ??= step.endsWith("[]") ? [{}] : {};
    // Of a list, the item that has the next key, else the first.
    const itemOf = (items: Mapping[]) => items.find((item) => (steps[i + 1] ?? "") in item) ?? items[0];
    place = (step.endsWith("[]") ? itemOf(place[key] as Mapping[]) : place[key]) as Mapping;
  }
  const last = steps.at(-1) ?? "";
  if (value === undefined) delete place[last];
  else place[last] = value;
  return whole;
}

/** Some of which is right for a key of this type, whatever it means. */
function otherValues(value: unknown): unknown[] {
  if (typeof value === "boolean") return [!value];
  if (typeof value === "number") return [value + 1, value - 1, value * 2, value / 2, 1, 0.99];
  if (Array.isArray(value))
    return [
      ["192.0.2.1"],
      [1],
      ["64500:1"],
      ["/path"],
      ["443"],
      ["gre"],
      ["openid"],
      ["02:00:5e:10:00:01"],
      ["https://192.0.2.9"],
      ["2001:db8::/96"],
      ...LISTED,
    ];
  return [[0], "/path", "127.0.0.1:9", "2001:db8::9", "https://192.0.2.9/", "other", "/other/", "Asia/Tokyo"];
}

/** Items of lists of mappings. */
const LISTED: readonly unknown[] = [
  [{ name: "one", networks: ["192.0.2.0/25"] }],
  [{ name: "one", token_env: "ONE", role: "viewer" }],
  [{ name: "one" }],
  [{ tenant: "one" }],
  [{ address: "192.0.2.1", remote_asn: 1 }],
  [{ address: "192.0.2.1", from: ["192.0.2.0/24"] }],
];

/** Defaults that are printed in words, and what the loader makes of them. */
test("defaults that depend on other keys are as the words say", () => {
  const [chapter] = CHAPTERS;
  if (chapter === undefined) throw new Error("there is no chapter");
  const file = {
    ...MINIMAL["The service"],
    mitigation: "flowspec",
    state_dir: "/srv",
    carpet: { thresholds: { pps: 1 } },
  };
  expect(load(chapter, file)).toMatchObject({
    storage: { driver: { path: "/srv/history.sqlite" } },
    carpet: { prefixV4: 24, widestV4: 20, prefixV6: 48, widestV6: 44 },
    mitigations: [{ ladder: [{ afterSeconds: 0, action: "flowspec" }] }],
  });
});
