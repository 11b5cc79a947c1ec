/** Reads the parameters of a query string: of equal keys the last counts, keys that a route does not know are ignored. */

/** What is wrong with a query, for the caller. */
export interface InvalidQuery {
  readonly kind: "invalid_query";
  readonly detail: string;
}

/** null: the key is not there. An empty value is a value, and mostly a bad one. */
export function parameter(query: URLSearchParams, name: string): string | null {
  return query.getAll(name).at(-1) ?? null;
}

export function invalidQuery(detail: string): InvalidQuery {
  return { kind: "invalid_query", detail };
}
