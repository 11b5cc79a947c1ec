/** On the wire, absent values are omitted and never null: this function removes null fields. */

type WithoutNulls<T> = { [K in keyof T as null extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as null extends T[K] ? K : never]?: Exclude<T[K], null>;
};

export function omitNulls<T extends object>(fields: T): WithoutNulls<T> {
  const kept: Partial<T> = {};
  // Without lists of entries, since it is called for each object of an answer.
  for (const key of Object.keys(fields) as (keyof T)[]) if (fields[key] !== null) kept[key] = fields[key];
  return kept as unknown as WithoutNulls<T>;
}
