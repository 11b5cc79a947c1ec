/**
 * Reads a request's URL: the names in its path and its query. Uses the original URL, since routers repair invalid UTF-8
 * and so map two spellings to one name.
 */

interface RequestTarget {
  /** By the names of the route's path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}

const NO_PARAMS: RequestTarget["params"] = {};
const NO_QUERY = new URLSearchParams();

/** The target of a call whose URL cannot be read. */
export const NO_PARAMETERS: RequestTarget = { params: NO_PARAMS, query: NO_QUERY };

/** `path` is a route's path, with `:name` for names. null: an escape is invalid, or not UTF-8. */
export function readTarget(path: string, url: string): RequestTarget | null {
  // With an unusual Host header the URL has no origin.
  const start = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("://") + 3);
  const end = url.indexOf("?", start);
  const given = url.slice(start, end < 0 ? undefined : end);
  const params = given === path && !path.includes(":") ? NO_PARAMS : readParams(path, given);
  if (params === null) return null;
  if (end < 0) return { params, query: NO_QUERY };
  const query = url.slice(end + 1);
  return decode(query) === null ? null : { params, query: new URLSearchParams(query) };
}

function readParams(template: string, path: string): Readonly<Record<string, string>> | null {
  const given = path.split("/");
  const params: Record<string, string> = {};
  const steps = template.split("/");
  // The URL's dot segments are resolved, the router's path was not: the paths differ.
  if (steps.length !== given.length) return null;
  for (const [i, step] of steps.entries()) {
    const name = decode(given[i] ?? "");
    if (name === null) return null;
    if (step.startsWith(":")) params[step.slice(1)] = name;
    else if (step !== name) return null;
  }
  return params;
}

function decode(text: string): string | null {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
