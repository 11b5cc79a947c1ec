/**
 * Reads YAML text as plain values with their lines. Does not know the keys' meanings. Stricter than YAML: one document,
 * no duplicate or compound keys, no custom tags, and a limit on the values created by aliases.
 */
import { type Document, isAlias, isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";

import type { ConfigPath, ConfigProblem } from "../../schema/problem.ts";

/** Values in the configuration after aliases are resolved, and levels of nesting. */
export const CONFIG_VALUES_MAX = 500_000;
const CONFIG_DEPTH_MAX = 32;

export interface YamlDocument {
  /** undefined if nothing could be read, also for values inside. */
  readonly value: unknown;
  /** Errors of the YAML text itself. */
  readonly problems: readonly ConfigProblem[];
  /** The line of the key or list item at `path`, or of its nearest ancestor. */
  lineOf(path: ConfigPath): number;
}

type MaybeNode = Node | null;

/** The node of a key, for its line, and its value. */
interface Entry {
  readonly key: Node;
  readonly value: MaybeNode;
}

export function readYaml(text: string): YamlDocument {
  const lines = new LineCounter();
  // Duplicate keys are detected below, since the library compares all pairs of keys.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false, schema: "core" });
  const unreadable = syntaxProblem(document, lines);
  if (unreadable !== null) return { value: undefined, problems: [unreadable], lineOf: () => 1 };
  const reader = new NodeReader(document.contents, lines);
  const value = reader.read(document.contents, [], 0);
  return {
    value: reader.isExhausted ? undefined : value,
    problems: reader.problems,
    lineOf: (path) => reader.lineOf(document.contents, path),
  };
}

/** The first error only: errors after a syntax error usually follow from it. */
function syntaxProblem(document: Document.Parsed, lines: LineCounter): ConfigProblem | null {
  const fault = document.errors[0] ?? document.warnings[0];
  if (fault !== undefined) {
    return {
      line: lines.linePos(fault.pos[0]).line,
      path: [],
      rule: SYNTAX_RULES[fault.code] ?? yamlRule(fault.message),
    };
  }
  const { yaml } = document.directives;
  if (yaml.explicit && yaml.version !== "1.2") {
    return { line: 1, path: [], rule: `is YAML ${yaml.version}, but 1.2 is read: remove the %YAML line` };
  }
  return null;
}

const SYNTAX_RULES: Partial<Record<string, string>> = {
  TAB_AS_INDENT: "a tab indents this line: use spaces",
  MULTIPLE_DOCS: "a second document starts here: keep one, and remove the `---` between",
  BLOCK_AS_IMPLICIT_KEY:
    "a key stands where its value was to end: check the indentation, and quote text that has a colon",
  RESOURCE_EXHAUSTION: "nested too deeply",
};

function yamlRule(message: string): string {
  return `not YAML: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}

class NodeReader {
  readonly problems: ConfigProblem[] = [];
  readonly #lines: LineCounter;
  readonly #targets: ReadonlyMap<Node, Node>;
  readonly #entries = new Map<Node, Map<string, Entry>>();
  /** The limit is reached: no further value is read. */
  isExhausted = false;
  #values = 0;
  /** Anchored nodes that are being read through an alias. */
  readonly #openTargets = new Set<Node>();

  constructor(root: MaybeNode, lines: LineCounter) {
    this.#lines = lines;
    this.#targets = aliasTargets(root);
  }

  /** undefined if the node cannot be read; the reason is in `problems`. */
  read(node: MaybeNode, path: ConfigPath, depth: number): unknown {
    if (this.isExhausted) return undefined;
    if (depth > CONFIG_DEPTH_MAX) return this.#report(node, path, `nested more than ${CONFIG_DEPTH_MAX} levels deep`);
    if (++this.#values > CONFIG_VALUES_MAX) {
      this.isExhausted = true;
      return this.#report(node, path, `more than ${CONFIG_VALUES_MAX} values, aliases resolved: use fewer aliases`);
    }
    if (isAlias(node)) {
      const target = this.#targets.get(node);
      if (target === undefined) return this.#report(node, path, `no anchor &${node.source} before this alias`);
      return this.#readTarget(target, node, path, depth);
    }
    if (isMap(node)) return this.#readMap(node, path, depth);
    if (isSeq(node)) return node.items.map((item, i) => this.read(item as MaybeNode, [...path, i], depth + 1));
    return isScalar(node) ? node.value : null;
  }

  #readTarget(target: Node, alias: Node, path: ConfigPath, depth: number): unknown {
    if (this.#openTargets.has(target)) return this.#report(alias, path, "this alias stands inside its own anchor");
    this.#openTargets.add(target);
    const value = this.read(target, path, depth + 1);
    this.#openTargets.delete(target);
    return value;
  }

  #readMap(node: Node, path: ConfigPath, depth: number): Record<string, unknown> {
    // Without a prototype, so that __proto__ is a normal key.
    const value = Object.create(null) as Record<string, unknown>;
    for (const [key, entry] of this.#entriesOf(node, path)) {
      value[key] = this.read(entry.value, [...path, key], depth + 1);
    }
    return value;
  }

  #entriesOf(node: Node, path: ConfigPath): ReadonlyMap<string, Entry> {
    const known = this.#entries.get(node);
    if (known !== undefined) return known;
    const entries = new Map<string, Entry>();
    this.#entries.set(node, entries);
    if (!isMap<Node, MaybeNode>(node)) return entries;
    for (const { key, value } of node.items) {
      if (!isScalar(key)) {
        this.#report(key, path, "a key must be one plain word");
        continue;
      }
      const name = String(key.value);
      const first = entries.get(name);
      if (first === undefined) entries.set(name, { key, value });
      else this.#report(key, [...path, name], `duplicate key, first on line ${this.#lineOfNode(first.key)}`);
    }
    return entries;
  }

  #report(node: MaybeNode, path: ConfigPath, rule: string): undefined {
    this.problems.push({ line: this.#lineOfNode(node), path, rule });
  }

  #lineOfNode(node: MaybeNode): number {
    return node?.range ? this.#lines.linePos(node.range[0]).line : 1;
  }

  lineOf(root: MaybeNode, path: ConfigPath): number {
    let nearest = root;
    let node = root;
    for (const step of path) {
      if (isAlias(node)) node = this.#targets.get(node) ?? null;
      if (typeof step === "number") {
        node = isSeq(node) ? ((node.items[step] as MaybeNode | undefined) ?? null) : null;
        nearest = node ?? nearest;
      } else {
        const entry = node === null ? undefined : this.#entries.get(node)?.get(step);
        nearest = entry?.key ?? nearest;
        node = entry?.value ?? null;
      }
    }
    return this.#lineOfNode(nearest);
  }
}

/** An alias refers to the last anchor of its name before it. */
function aliasTargets(root: MaybeNode): ReadonlyMap<Node, Node> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Node, Node>();
  const walk = (node: unknown, depth: number): void => {
    // Deeper values are refused when they are read.
    if (!isNode(node) || depth > CONFIG_DEPTH_MAX) return;
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target !== undefined) targets.set(node, target);
      return;
    }
    if (node.anchor !== undefined) anchors.set(node.anchor, node);
    if (isSeq(node)) for (const item of node.items) walk(item, depth + 1);
    if (!isMap(node)) return;
    for (const { key, value } of node.items) {
      walk(key, depth + 1);
      walk(value, depth + 1);
    }
  };
  walk(root, 0);
  return targets;
}
