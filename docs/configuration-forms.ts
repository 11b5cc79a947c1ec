/** Forms of text that many keys have: the page has the rule of each once, and the tables of keys refer to it. */
import { FORMAT_PREFIX } from "../src/schema/schema-forms.ts";
import { TEXT_FORMS, type TextForm } from "../src/schema/text-forms.ts";

/** Texts that break the rules of a form which allows more than one kind; of all others the empty text does. */
const REFUSED: Partial<Readonly<Record<TextForm, readonly string[]>>> = {
  addressOrPrefix: ["", "/"],
  httpServer: ["http://host/path"],
};

/** The words for a form, and one of the forms with its rule: names of all things have the same. */
const SHARED: Readonly<Record<string, TextForm>> = {
  "a name": "groupName",
  "an address": "address",
  "a prefix": "prefix",
  "an address or prefix": "addressOrPrefix",
  "a community": "community",
  "a port range": "portRange",
  "an absolute path": "absolutePath",
  "a variable": "variableName",
};

const WORDS = new Map(Object.entries(SHARED).map(([words, form]) => [ruleOf(form), words]));

/** The rule of the form, or a reference to it. */
export function formText(format: string): string {
  const rule = ruleOf(format.slice(FORMAT_PREFIX.length) as TextForm);
  const words = WORDS.get(rule);
  return words === undefined ? rule : words.replace(/^(an?) (.*)/, "$1 [$2](#forms-of-text)");
}

export function formsTable(): string {
  const rows = Object.entries(SHARED).map(([words, form]) => `| ${words} | ${ruleOf(form)} |`);
  return ["| Form | Rule |", "|---|---|", ...rows].join("\n");
}

/** As the loader would print it. */
function ruleOf(form: TextForm): string {
  return (REFUSED[form] ?? [""]).map((text) => (TEXT_FORMS[form](text) ?? "").replace(/^must be /, "")).join(", or ");
}
