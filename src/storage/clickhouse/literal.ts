/** Escapes values in the text of a query. Query parameters are not supported by the oldest servers that we support. */

type Literal = string | number;

/** Text is quoted and escaped; a number is unchanged. */
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
