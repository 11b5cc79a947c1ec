/**
 * Templates of messages for people: text with `{{name}}` for a value, `{{#name}}…{{/name}}` for a part that is there with
 * the value, and `{{^name}}…{{/name}}` for one that is there without it. No expressions, no loops, no code: what a
 * template may say is bounded by its own length.
 */
import { NOTIFY_TEXT_CHARACTERS_MAX } from "../limits.ts";

/** Characters of a template of messages. */
export const NOTIFY_TEMPLATE_CHARACTERS_MAX = 4000;
/** Parts in parts. */
const DEPTH_MAX = 8;

export type Template = readonly Part[];

type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "value"; readonly name: string }
  | { readonly kind: "section"; readonly name: string; readonly isWithout: boolean; readonly parts: Part[] };

/** Why a text is no template, and where. */
interface TemplateProblem {
  /** From 1. */
  readonly line: number;
  readonly rule: string;
}

type ParsedTemplate =
  | { readonly kind: "template"; readonly template: Template }
  | { readonly kind: "problem"; readonly problem: TemplateProblem };

/** The values of an event; null: it has none. */
export type TemplateValues = ReadonlyMap<string, string | null>;

/** @param names of the values that there are. */
export function parseTemplate(text: string, names: ReadonlySet<string>): ParsedTemplate {
  if (text.length > NOTIFY_TEMPLATE_CHARACTERS_MAX)
    return problemAt(text, 0, `is too long: at most ${NOTIFY_TEMPLATE_CHARACTERS_MAX} characters`);
  const root: Part[] = [];
  const open: { readonly name: string; readonly at: number; readonly parts: Part[] }[] = [];
  const here = () => open.at(-1)?.parts ?? root;
  let from = 0;
  for (let at = text.indexOf("{{"); at >= 0; at = text.indexOf("{{", from)) {
    const end = text.indexOf("}}", at);
    const [tag, sign = "", name = ""] = /^\{\{([#^/]?) *([a-z_]+) *\}\}$/.exec(text.slice(at, end + 2)) ?? [];
    if (end < 0 || tag === undefined) return problemAt(text, at, "{{ begins no value: write {{name}}, or {{#name}}");
    if (!names.has(name)) return problemAt(text, at, `there is no value ${name}: there are ${[...names].join(", ")}`);
    if (at > from) here().push({ kind: "text", text: text.slice(from, at) });
    from = end + 2;
    if (sign === "") here().push({ kind: "value", name });
    else if (sign === "/") {
      if (open.pop()?.name !== name) return problemAt(text, at, `{{/${name}}} ends no part that is open there`);
    } else {
      if (open.length >= DEPTH_MAX) return problemAt(text, at, `more than ${DEPTH_MAX} parts in one another`);
      const parts: Part[] = [];
      here().push({ kind: "section", name, isWithout: sign === "^", parts });
      open.push({ name, at, parts });
    }
  }
  const unclosed = open.at(-1);
  if (unclosed !== undefined) return problemAt(text, unclosed.at, `has no end: write {{/${unclosed.name}}}`);
  if (from < text.length) root.push({ kind: "text", text: text.slice(from) });
  return { kind: "template", template: root };
}

function problemAt(text: string, at: number, rule: string): ParsedTemplate {
  return { kind: "problem", problem: { line: text.slice(0, at).split("\n").length, rule } };
}

/** At most NOTIFY_TEXT_CHARACTERS_MAX, with at most one empty line at a time. */
export function render(template: Template, values: TemplateValues): string {
  let [text, room] = ["", 4 * NOTIFY_TEXT_CHARACTERS_MAX];
  const write = (more: string) => {
    text += more.slice(0, room);
    room -= Math.min(room, more.length);
  };
  const walk = (parts: Template) => {
    for (const part of parts) {
      if (room === 0) return;
      if (part.kind === "text") write(part.text);
      else if (part.kind === "value") write(values.get(part.name) ?? "");
      else if (((values.get(part.name) ?? "") === "") === part.isWithout) walk(part.parts);
    }
  };
  walk(template);
  const plain = text.replace(/\n{3,}/g, "\n\n").trim();
  return plain.length <= NOTIFY_TEXT_CHARACTERS_MAX ? plain : `${plain.slice(0, NOTIFY_TEXT_CHARACTERS_MAX)}…`;
}
