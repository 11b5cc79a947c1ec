/** Reads the parameters of a query string: the last of equal keys is used. */
import type { ParameterDescription } from "../route-description.ts";

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

/**
 * Names a key that the route does not have, since a filter that is not applied answers everything. Nodes may send keys that
 * this build does not know: a poll that is refused would take the node out.
 */
export function unknownKey(
  known: Readonly<Record<string, ParameterDescription>>,
  query: URLSearchParams,
): InvalidQuery | null {
  const unknown = query.keys().find((key) => !Object.hasOwn(known, key));
  if (unknown === undefined) return null;
  const names = Object.keys(known).sort();
  const which = names.length === 0 ? "this route has none" : `this route has ${names.join(", ")}`;
  return invalidQuery(`unknown parameter ${JSON.stringify(unknown)}: ${which}`);
}
