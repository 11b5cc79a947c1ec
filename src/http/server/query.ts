/** Reads the parameters of a query string: the last of equal keys is used, unknown keys are ignored. */

/** The fault of a query, as a text for the caller. */
export interface InvalidQuery {
  readonly kind: "invalid_query";
  readonly detail: string;
}

/** null: the key is missing. An empty value is a value, and usually invalid. */
export function parameter(query: URLSearchParams, name: string): string | null {
  return query.getAll(name).at(-1) ?? null;
}

export function invalidQuery(detail: string): InvalidQuery {
  return { kind: "invalid_query", detail };
}
