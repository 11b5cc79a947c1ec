/** Values inside of a query's text. Query parameters are younger than the oldest server that we speak to. */

export type Literal = string | number;

/** Quoted and escaped; a number as it is. */
export function literal(value: Literal): string {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new RangeError(`not a number for a query: ${value}`);
    return String(value);
  }
  return `'${value.replace(/[\\']/g, "\\$&")}'`;
}

/** A template whose values become literals: sql`at >= ${from}`. */
export function sql(texts: TemplateStringsArray, ...values: Literal[]): string {
  return texts.reduce((query, text, i) => query + literal(values[i - 1] as Literal) + text);
}
