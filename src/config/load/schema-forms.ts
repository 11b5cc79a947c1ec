/** The building blocks of the configuration's shape: texts of a form, ranges, lists, sections. */
import { type TSchema, Type } from "@sinclair/typebox";
import type { TextForm } from "./text-forms.ts";

/** TypeBox keeps one registry of formats for the whole process, so ours have a name of their own. */
export const FORMAT_PREFIX = "config/";

export function text(form: TextForm, options: { default?: string } = {}) {
  return Type.String({ ...options, format: FORMAT_PREFIX + form });
}

export function integer(minimum: number, maximum: number, fallback?: number) {
  return Type.Integer({ minimum, maximum, ...(fallback === undefined ? {} : { default: fallback }) });
}

export function boolean(fallback: boolean) {
  return Type.Boolean({ default: fallback });
}

export function oneOf<const Values extends readonly [string | boolean, ...(string | boolean)[]]>(...values: Values) {
  return Type.Unsafe<Values[number]>(Type.Union(values.map((value) => Type.Literal(value))));
}

/** A list; `atLeastOne` where an empty one means nothing. */
export function list<Item extends TSchema>(item: Item, maxItems: number, options: { atLeastOne?: true } = {}) {
  return Type.Array(item, { maxItems, ...(options.atLeastOne ? { minItems: 1 } : { default: [] }) });
}

export const closed = { additionalProperties: false } as const;
/** A section that is there with its defaults when the file leaves it out. */
export const withDefaults = { ...closed, default: {} } as const;
