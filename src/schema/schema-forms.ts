/** The building blocks of schemas of files, commands and the wire: formatted texts, ranges, lists, sections. */
import { type ObjectOptions, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import type { TextForm } from "./text-forms.ts";

/** TypeBox has one registry of formats for the whole process, so ours have a prefix. */
export const FORMAT_PREFIX = "config/";

export function text(form: TextForm, options: { default?: string } = {}) {
  return Type.String({ ...options, format: FORMAT_PREFIX + form });
}

export function integer(minimum: number, maximum: number, fallback?: number) {
  return Type.Integer({ minimum, maximum, ...(fallback === undefined ? {} : { default: fallback }) });
}

/** A rate of which 0 sets none; the kernel cannot represent one between 0 and `least`. */
export function zeroOr(least: number, most: number) {
  return Type.Unsafe<number>(Type.Union([Type.Literal(0), Type.Number({ minimum: least, maximum: most })]));
}

export function boolean(fallback: boolean) {
  return Type.Boolean({ default: fallback });
}

/** A closed set of words. */
export function oneOf<const Values extends readonly (string | boolean)[]>(...values: Values) {
  return Type.Unsafe<Values[number]>(Type.Union(values.map((value) => Type.Literal(value))));
}

/** A list; `atLeastOne` if an empty list has no meaning. */
export function list<Item extends TSchema>(item: Item, maxItems: number, options: { atLeastOne?: true } = {}) {
  return Type.Array(item, { maxItems, ...(options.atLeastOne ? { minItems: 1 } : { default: [] }) });
}

/** Notes for the reference (docs/configuration.md) about a key in addition to its schema and description. */
interface ReferenceNotes {
  /** Valid values; a test loads each of them. */
  readonly examples?: readonly unknown[];
  /** For a key without a `default`: the value that is used if it is absent. Keys of a mapping use the mapping's. */
  readonly valueIfAbsent?: unknown;
  /** The same in words, if it is not one fixed value. */
  readonly ifAbsent?: string;
  /** Path of a mapping or list whose keys it has too: they are described there. */
  readonly sameKeysAs?: string;
}

/** @param description one or two sentences for an operator; the reference is generated from them. */
export function described<Schema extends TSchema>(
  schema: Schema,
  description: string,
  notes: ReferenceNotes = {},
): Schema {
  return { ...schema, description, ...notes };
}

export const Count = Type.Integer({ minimum: 0 });
export const Rate = Type.Number({ minimum: 0 });

/** An object without keys beyond `keys`. */
export function closedObject<Keys extends TProperties>(keys: Keys, options: ObjectOptions = {}) {
  return Type.Object(keys, { additionalProperties: false, ...options });
}

/** The same of a section that exists with its defaults even if the file does not have it. */
export function defaultedObject<Keys extends TProperties>(keys: Keys) {
  return closedObject(keys, { default: {} });
}
