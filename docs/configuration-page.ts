/** The reference of the configuration as Markdown: a chapter for each file, in it a part for each section with an example. */
import { stringify } from "yaml";
import { type ChangeTime, changeTime } from "../src/config/reload.ts";
import { ScrubAgentFile } from "../src/config/scrub-agent-config.ts";
import { ConfigFile } from "../src/config/sections/schema.ts";
import { ZonesFile } from "../src/config/zones/file.ts";
import { formsTable } from "./configuration-forms.ts";
import {
  type Fallback,
  fallbackOf,
  keysAt,
  keysOf,
  type ReferenceKey,
  type ReferenceSchema,
} from "./configuration-keys.ts";
import { nameOf, type ReferenceMapping, type ReferenceRow, type Repeat, repeatsIn } from "./configuration-repeats.ts";

export interface Chapter {
  readonly title: string;
  readonly schema: ReferenceSchema;
  readonly changeTime: (key: string) => ChangeTime;
}

export interface Section {
  /** The top-level key; empty: those that are no section. */
  readonly name: string;
  readonly description: string;
  /** For a list, how many items and which; null: it is a mapping. */
  readonly items: string | null;
  readonly fallback: Fallback;
  readonly keys: readonly ReferenceKey[];
  readonly examples: readonly unknown[];
}

export const CHAPTERS: readonly Chapter[] = [
  { title: "The service", schema: ConfigFile, changeTime },
  { title: "The zones file", schema: ZonesFile, changeTime: () => ({ kind: "reload" }) },
  { title: "A scrub node", schema: ScrubAgentFile, changeTime: () => ({ kind: "restart" }) },
];

const INTRODUCTION = `# Configuration

\`make docs\` generates this page from the schema with which the program reads its files (\`src/config\`): do not edit it here.

The files are YAML 1.2 in UTF-8. An unknown key, a duplicate key, a second document and a tag are errors. Secrets are never
in a file: a key that ends in \`_env\` names the environment variable that has the secret.

\`\`\`sh
floodwall check /etc/floodwall/floodwall.yaml          # every error with its line, then warnings
floodwall check --here /etc/floodwall/floodwall.yaml   # as root: also what this machine lacks for it
systemctl reload floodwall                             # applies the file as a whole, or not at all
\`\`\`

- **Default** is what the program uses where the key is absent. \`inherited\` means the value of the same key at the top level of
  the file, or its default. \`none\` means that nothing takes its place.
- **Change** is how a changed value takes effect: \`reload\` (SIGHUP, or \`POST /api/v1/config/reload\`) or \`restart\`. A reload
  names keys that wait for a restart in its answer and in the log; until then the running values stay.
- \`floodwall schema\` prints the keys as a JSON Schema [for editors](operations/customers.md).
- Keys that two mappings have in common are described at one of them, and the other one refers to it.
- A path such as \`networks[]\` is a list; \`hostgroups[].name\` is the key \`name\` of each of its items.

Complete files: [\`mirror.yaml\`](../deploy/mirror.yaml), [\`inline.yaml\`](../deploy/inline.yaml),
[\`telemetry.yaml\`](../deploy/telemetry.yaml), [\`control-plane.yaml\`](../deploy/control-plane.yaml), [\`zones.yaml\`](../deploy/zones.yaml),
[\`scrub.yaml\`](../deploy/scrub.yaml); in the package they are in \`/usr/share/doc/floodwall/examples\` and \`/etc/floodwall\`.

## Forms of text

${formsTable()}
`;

export function configurationPage(): string {
  // Throws where a key has no meaning.
  for (const { schema } of CHAPTERS) keysOf(schema);
  const placed = CHAPTERS.flatMap((chapter) => sectionsOf(chapter.schema).map((section) => ({ chapter, section })));
  const named = placed.map(({ section }) => section.name);
  const sections = placed.map(({ chapter, section }, i) => {
    const before = named.slice(0, i).filter((name) => name === section.name).length;
    const anchor = before === 0 ? section.name : `${section.name}-${before}`;
    return { chapter, section, anchor, rows: section.keys.map((key) => rowOf(key, chapter)) };
  });
  const mappings = new Map(sections.map((placed) => [placed.section, mappingsOf(placed)] as const));
  const repeats = repeatsIn([...mappings.values()].flat());
  const text = sections.flatMap(({ chapter, section, rows }) => {
    const own = (mappings.get(section) ?? []).flatMap((mapping) => {
      const repeat = repeats.get(mapping);
      return repeat === undefined ? [] : [[mapping.path, repeat] as const];
    });
    const title = section.name === "" ? [`## ${chapter.title}\n`] : [];
    return [...title, ...sectionText({ chapter, section, rows, repeats: new Map(own) })];
  });
  return [INTRODUCTION, ...text].join("\n");
}

interface PlacedSection {
  readonly chapter: Chapter;
  readonly section: Section;
  readonly rows: readonly ReferenceRow[];
}

/** The section itself and the mappings inside of it, outer ones first. */
function mappingsOf({ section, anchor, rows }: PlacedSection & { readonly anchor: string }): ReferenceMapping[] {
  if (section.name === "") return [];
  const inner = rows.filter(({ type }) => type.includes("mapping")).map(({ path }) => path);
  const whole = section.items === null ? section.name : `${section.name}[]`;
  return [whole, ...inner].map((path) => ({
    ...{ path, anchor, isSection: path === whole },
    rows: rows.flatMap((row) => {
      return row.path.startsWith(`${path}.`) ? [{ ...row, path: row.path.slice(path.length + 1) }] : [];
    }),
  }));
}

/** The keys that are no section come first. */
export function sectionsOf(schema: ReferenceSchema): Section[] {
  const [plain, sections] = [[] as ReferenceKey[], [] as Section[]];
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const fallback = fallbackOf(name, inner, schema);
    const [own, ...keys] = keysAt(name, inner, fallback);
    if (own === undefined) continue;
    if (keys.length === 0) plain.push(own);
    else {
      const { description = "", examples = [] } = inner;
      sections.push({
        name,
        description,
        items: inner.type === "array" ? own.allowed : null,
        fallback,
        keys,
        examples,
      });
    }
  }
  const { description = "", examples = [] } = schema;
  const whole = {
    name: "",
    description,
    items: null,
    fallback: { kind: "required" },
    keys: plain,
    examples,
  } as const;
  return [whole, ...sections];
}

type Repeats = ReadonlyMap<string, Repeat>;

function* sectionText({ section, chapter, rows, repeats }: PlacedSection & { repeats: Repeats }): Generator<string> {
  const { name, items, description, keys, examples } = section;
  if (name !== "") yield `### ${name}\n`;
  const whole = repeats.get(items === null ? name : `${name}[]`);
  yield `${[description, ...presenceText(section, chapter), ...repeatText(whole)].join(" ")}\n`;
  for (const example of examples) yield `\`\`\`yaml\n${exampleText(section, example)}\`\`\`\n`;
  const shown = rows.filter((row) => !isRepeated(row, repeats));
  if (keys.length === 0 || shown.length === 0) return;
  yield "| Key | Type | Default | Allowed | Change | Meaning |\n|---|---|---|---|---|---|";
  for (const row of shown) yield rowText(row, repeats.get(row.path));
  yield "";
}

function isRepeated({ path }: ReferenceRow, repeats: Repeats): boolean {
  return [...repeats].some(([outer, { names }]) => {
    return path.startsWith(`${outer}.`) && names.has(nameOf({ path: path.slice(outer.length + 1) }));
  });
}

function* repeatText(repeat: Repeat | undefined): Generator<string> {
  if (repeat === undefined) return;
  const { names, of, isWhole, needsRestart } = repeat;
  const keys = isWhole ? "Its keys" : [...names].map((name) => `\`${name}\``).join(", ");
  const verb = names.size === 1 && !isWhole ? "is that" : "are those";
  yield `${keys} ${verb} of [\`${of.path}\`](#${of.anchor})${needsRestart ? "; a change needs a restart" : ""}.`;
}

/** The text in a file: with the name of the section above it. */
export function exampleText({ name }: Section, example: unknown): string {
  return stringify(name === "" ? example : { [name]: example }, { lineWidth: 0, flowCollectionPadding: true });
}

function* presenceText({ name, items, fallback }: Section, chapter: Chapter): Generator<string> {
  if (name === "") return;
  if (fallback.kind === "required") yield "This section is required.";
  if (items !== null) yield `A list of ${items}.`;
  if (items !== null && fallback.kind !== "required") yield `Default: ${fallbackText(fallback)}.`;
  const change = chapter.changeTime(name);
  if (change.kind === "partly") yield `A reload applies changes of it, except ${change.restart}: that needs a restart.`;
  if (change.kind === "restart" && fallback.kind !== "required")
    yield "Adding or removing this section needs a restart.";
}

function rowOf({ path, type, fallback, allowed, meaning }: ReferenceKey, chapter: Chapter): ReferenceRow {
  const change = chapter.changeTime(path.replaceAll("[]", ""));
  const changed = change.kind === "partly" ? `reload; restart for ${change.restart}` : change.kind;
  return { path, type, fallback: fallbackText(fallback), allowed, change: changed, meaning };
}

function rowText({ path, type, fallback, allowed, change, meaning }: ReferenceRow, repeat: Repeat | undefined): string {
  const cells = [`\`${path}\``, type, fallback, allowed, change, [meaning, ...repeatText(repeat)].join(" ")];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function fallbackText(fallback: Fallback): string {
  switch (fallback.kind) {
    case "required":
      return "required";
    case "value":
      return `\`${JSON.stringify(fallback.value).replaceAll(/^"|"$/g, "")}\``;
    case "words":
      return fallback.words;
  }
}
