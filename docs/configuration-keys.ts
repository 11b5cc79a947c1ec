/** The keys of a configuration file as its schema has them, in the words of the reference. It knows nothing of the page. */
import { formText } from "./configuration-forms.ts";

export interface ReferenceKey {
  /** As in the file, lists as `networks[]`. */
  readonly path: string;
  readonly type: string;
  readonly fallback: Fallback;
  /** Bounds, lengths and literal values, in words; empty: none. */
  readonly allowed: string;
  readonly meaning: string;
}

/** The value or the effect where the key is absent. */
export type Fallback =
  | { readonly kind: "required" }
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "words"; readonly words: string };

/** The words of JSON Schema that our schema uses, and the notes of `described`. */
export interface ReferenceSchema {
  readonly type?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: ReferenceSchema;
  readonly properties?: Readonly<Record<string, ReferenceSchema>>;
  readonly required?: readonly string[] | undefined;
  readonly anyOf?: readonly ReferenceSchema[];
  readonly const?: string | number | boolean;
  readonly default?: unknown;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly valueIfAbsent?: unknown;
  readonly ifAbsent?: string;
  readonly sameKeysAs?: string;
}

/** Units by the endings of keys, the longest first. */
const UNITS: readonly (readonly [ending: string, unit: string])[] = [
  ["flows_per_sec", "flows per second"],
  ["_seconds", "seconds"],
  ["_days", "days"],
  ["_ms", "milliseconds"],
  ["mbps", "megabits per second"],
  ["pps", "packets per second"],
  ["rps", "requests per second"],
];

/** The keys of a file, each followed by those inside of it. Throws, with the paths, where one has no meaning. */
export function keysOf(schema: ReferenceSchema): ReferenceKey[] {
  const keys = [...keysIn(schema, "")];
  const silent = keys.filter(({ meaning }) => meaning === "").map((key) => key.path);
  if (silent.length > 0) throw new Error(`without a description in the schema: ${silent.join(", ")}`);
  return keys;
}

/** The key itself, and those inside of it. */
export function* keysAt(path: string, schema: ReferenceSchema, fallback: Fallback): Generator<ReferenceKey> {
  const place = schema.type === "array" ? `${path}[]` : path;
  yield {
    path: place,
    type: typeOf(schema, path),
    fallback,
    allowed: allowedIn(schema),
    meaning: schema.description ?? "",
  };
  if (schema.sameKeysAs === undefined) yield* keysIn(schema.items ?? schema, place);
}

function* keysIn(schema: ReferenceSchema, path: string): Generator<ReferenceKey> {
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    yield* keysAt(path === "" ? name : `${path}.${name}`, inner, fallbackOf(name, inner, schema));
  }
}

export function fallbackOf(name: string, schema: ReferenceSchema, parent: ReferenceSchema): Fallback {
  if (schema.ifAbsent !== undefined) return { kind: "words", words: schema.ifAbsent };
  const value = schema.default ?? schema.valueIfAbsent;
  if (value !== undefined && schema.properties === undefined) return { kind: "value", value };
  if (schema.default !== undefined) return { kind: "words", words: "the defaults below" };
  if (parent.required?.includes(name) === true) return { kind: "required" };
  // Keys of a mapping have its note, unless they say something of their own.
  if (parent.ifAbsent === "inherited") return { kind: "words", words: parent.ifAbsent };
  if (parent.valueIfAbsent !== undefined) return { kind: "value", value: parent.valueIfAbsent };
  return { kind: "words", words: "none" };
}

function typeOf(schema: ReferenceSchema, path: string): string {
  if (schema.anyOf !== undefined) {
    const list = schema.anyOf.find(({ type }) => type === "array");
    const number = numberIn(schema.anyOf);
    if (number !== undefined) return typeOf(number, path);
    const single = schema.anyOf.some(({ format }) => format !== undefined) ? "text" : "choice";
    return list === undefined ? single : `${single}, or ${typeOf(list, "")}`;
  }
  switch (schema.type) {
    case "array":
      return `list of ${PLURALS[typeOf(schema.items ?? {}, "")] ?? "values"}`;
    case "object":
      return "mapping";
    case "boolean":
      return "boolean";
    case "string":
      return "text";
    default:
      return [schema.type === "integer" ? "integer" : "number", unitOf(path)].filter((part) => part !== "").join(", ");
  }
}

const PLURALS: Readonly<Record<string, string>> = { mapping: "mappings", text: "text values", integer: "integers" };

function unitOf(path: string): string {
  return UNITS.find(([ending]) => path.endsWith(ending))?.[1] ?? "";
}

function allowedIn(schema: ReferenceSchema): string {
  if (schema.anyOf !== undefined) return choicesIn(schema.anyOf);
  switch (schema.type) {
    case "array":
      return listBounds(schema);
    case "integer":
    case "number":
      return numberBounds(schema);
    case "string":
      return schema.format === undefined ? (schema.minLength === 1 ? "not empty" : "") : formText(schema.format);
    default:
      return "";
  }
}

/** A value that may be written as a text or as a number is named once. */
function choicesIn(alternatives: readonly ReferenceSchema[]): string {
  const literals = alternatives.flatMap((one) => (one.const === undefined ? [] : [`\`${one.const}\``]));
  const list = alternatives.find(({ type }) => type === "array");
  const rest = [list, numberIn(alternatives)].filter((one) => one !== undefined).map(allowedIn);
  return [...new Set(literals), ...rest].join(", ");
}

function numberIn(alternatives: readonly ReferenceSchema[]): ReferenceSchema | undefined {
  return alternatives.find((one) => one.type === "number" && one.const === undefined);
}

function listBounds({ minItems, maxItems, items = {} }: ReferenceSchema): string {
  const count = `${minItems === undefined ? "at most " : `${minItems} to `}${maxItems} items`;
  const each = allowedIn(items);
  return each === "" ? count : `${count}, each ${each}`;
}

function numberBounds({ minimum, exclusiveMinimum, maximum }: ReferenceSchema): string {
  if (exclusiveMinimum !== undefined) return `greater than ${exclusiveMinimum}`;
  return maximum === undefined ? `${minimum} or more` : `${minimum} to ${maximum}`;
}
