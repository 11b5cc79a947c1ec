/** Checks a file or a command against its schema, with error texts for operators. */
import { FormatRegistry, type Static, type TSchema } from "@sinclair/typebox";
import { Value, type ValueError, ValueErrorType } from "@sinclair/typebox/value";
import type { ConfigPath } from "./problem.ts";
import { FORMAT_PREFIX } from "./schema-forms.ts";
import { TEXT_FORMS, type TextForm } from "./text-forms.ts";

/** A violated rule and its path; the line is added later. */
export interface Finding {
  readonly path: ConfigPath;
  readonly rule: string;
}

/** The valid part of a file after everything with a wrong type was removed: a removed list item leaves a hole. */
export type Pruned<T> = T extends readonly (infer Item)[]
  ? readonly (Pruned<Item> | undefined)[]
  : T extends object
    ? { readonly [Key in keyof T]?: Pruned<T[Key]> | undefined }
    : T;

/** The keywords of JSON Schema that our schema uses. */
interface Shape {
  readonly type?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly items?: Shape & TSchema;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly anyOf?: readonly (Shape & TSchema)[];
  readonly const?: string | number | boolean;
  readonly default?: unknown;
}

for (const [form, rule] of Object.entries(TEXT_FORMS)) {
  FormatRegistry.Set(FORMAT_PREFIX + form, (text) => rule(text) === null);
}

/** Adds defaults, removes values with a wrong type, and returns the reasons. Changes `value`. */
export function takeShape<Schema extends TSchema>(
  schema: Schema,
  value: object,
): { readonly file: Pruned<Static<Schema>>; readonly findings: readonly Finding[] } {
  fillDefaults(schema, value);
  const findings = [...shapeFindings(schema, value)];
  for (const { path } of findings) prune(value, path);
  return { file: value as Pruned<Static<Schema>>, findings };
}

/** Own code, because TypeBox would treat a list as a mapping here, and a key named __proto__ as a prototype. */
function fillDefaults(shape: Shape, value: unknown): void {
  if (Array.isArray(value)) {
    if (shape.items !== undefined) for (const item of value) fillDefaults(shape.items, item);
  } else if (typeof value === "object" && value !== null) {
    const section = value as Record<string, unknown>;
    for (const [key, property] of Object.entries(shape.properties ?? {})) {
      if (!(key in section) && "default" in property) section[key] = structuredClone(property.default);
      fillDefaults(property, section[key]);
    }
  }
}

function* shapeFindings(schema: TSchema, value: unknown): Generator<Finding> {
  let last: string | null = null;
  for (const error of Value.Errors(schema, value)) {
    const isMissing = error.type === ValueErrorType.ObjectRequiredProperty;
    // A missing key is also reported as a wrong type. A value that could not be read was reported by the YAML reader.
    if (error.path === last || (error.value === undefined && !isMissing)) continue;
    const path = pathOf(error.path, value);
    last = error.path;
    const asList = error.type === ValueErrorType.Union && Array.isArray(error.value) ? listIn(error.schema) : undefined;
    if (asList === undefined) yield { path, rule: ruleOf(error) };
    else for (const inner of shapeFindings(asList, error.value)) yield { ...inner, path: [...path, ...inner.path] };
  }
}

/** Converts a JSON pointer; list indexes become numbers. */
function pathOf(pointer: string, root: unknown): ConfigPath {
  const path: (string | number)[] = [];
  let value = root;
  for (const escaped of pointer.split("/").slice(1)) {
    const key = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
    path.push(Array.isArray(value) ? Number(key) : key);
    value = (value as Record<string, unknown> | undefined)?.[key];
  }
  return path;
}

function prune(root: object, path: ConfigPath): void {
  let value = root as Record<string | number, unknown>;
  for (const step of path.slice(0, -1)) {
    const next = value[step];
    if (typeof next !== "object" || next === null) return;
    value = next as Record<string | number, unknown>;
  }
  const last = path.at(-1);
  if (last !== undefined) value[last] = undefined;
}

function ruleOf(error: ValueError): string {
  const shape: Shape = error.schema;
  switch (error.type) {
    case ValueErrorType.ObjectAdditionalProperties:
      return unknownKeyRule(error.path.slice(error.path.lastIndexOf("/") + 1), Object.keys(shape.properties ?? {}));
    case ValueErrorType.ObjectRequiredProperty:
      return `is required: ${shape.format === undefined ? expectation(shape) : textRule(shape.format, "")}`;
    case ValueErrorType.ArrayMinItems:
      return "must have at least one item";
    case ValueErrorType.ArrayMaxItems:
      return `must have at most ${shape.maxItems} items`;
    default:
      if (shape.format !== undefined) return textRule(shape.format, error.value);
      if (textIn(shape) !== undefined && typeof error.value !== "object")
        return textRule(textIn(shape) ?? "", error.value);
      return `${expectation(shape)}${butIs(shape, error.value)}`;
  }
}

function textRule(format: string, value: unknown): string {
  const form = format.slice(FORMAT_PREFIX.length) as TextForm;
  const text = isScalar(value) ? String(value) : "";
  // It would be valid as text, but YAML reads it as a number or a boolean.
  return TEXT_FORMS[form](text) ?? `must be text: write "${text}" in quotes`;
}

function expectation(shape: Shape): string {
  switch (shape.type) {
    case "integer":
      return `must be a whole number from ${shape.minimum} to ${shape.maximum}`;
    case "number":
      if (shape.maximum !== undefined) return `must be a number from ${shape.minimum} to ${shape.maximum}`;
      return shape.minimum === 0 ? "must be a number, 0 (off) or more" : "must be a number greater than 0";
    case "boolean":
      return "must be true or false";
    case "array":
      return "must be a list";
    case "object":
      return "must be a mapping of keys";
    default:
      if (numberIn(shape) !== undefined) {
        const number = expectation(numberIn(shape) ?? {}).replace("must be ", "");
        return `must be ${[...literalsIn(shape), number].join(" or ")}`;
      }
      return `must be ${literalsIn(shape).join(" or ")}${listIn(shape) === undefined ? "" : ", or a list"}`;
  }
}

function butIs(shape: Shape, value: unknown): string {
  if (value === null) return ", but is empty: give it a value, or remove the key";
  if (Array.isArray(value)) return ", not a list";
  if (!isScalar(value)) return ", not a mapping";
  if (typeof value !== "string") return `, not ${value}`;
  const type = numberIn(shape)?.type ?? shape.type;
  const isQuotedNumber = (type === "integer" || type === "number") && /^-?\d+(\.\d+)?$/.test(value);
  return `, not the text ${JSON.stringify(value)}${isQuotedNumber ? ": remove the quotes" : ""}`;
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** As written in the file, without duplicates: 1.2 may be a text or a number. */
function literalsIn(shape: Shape): string[] {
  return [...new Set((shape.anyOf ?? []).flatMap((alternative) => alternative.const ?? []).map(String))];
}

/** The form of the text that stands for a list of one item. */
function textIn(shape: Shape): string | undefined {
  return shape.anyOf?.find((alternative) => alternative.format !== undefined)?.format;
}

function listIn(shape: Shape): TSchema | undefined {
  return shape.anyOf?.find((alternative) => alternative.type === "array");
}

function numberIn(shape: Shape): Shape | undefined {
  return shape.anyOf?.find((alternative) => alternative.type === "number" && alternative.const === undefined);
}

function unknownKeyRule(key: string, known: readonly string[]): string {
  const longer = known.find((candidate) => candidate.startsWith(`${key.toLowerCase()}_`));
  if (longer !== undefined) return `unknown key: did you mean ${longer}?`;
  const nearest = known
    .map((candidate) => ({ candidate, edits: editDistance(key.toLowerCase(), candidate) }))
    .sort((a, b) => a.edits - b.edits)[0];
  if (nearest !== undefined && nearest.edits <= Math.max(2, nearest.candidate.length / 3)) {
    return `unknown key: did you mean ${nearest.candidate}?`;
  }
  return `unknown key: here go ${known.join(", ")}`;
}

/** Levenshtein distance. Long keys are cut, since they are similar to none of ours. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (const [i, letter] of from.slice(0, 64).split("").entries()) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j++) {
      const replaced = (row[j] ?? 0) + (letter === to[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
