/** Several answers that are shown together. */
import { useEffect, useMemo } from "preact/hooks";
import { type Loaded, Resource } from "./resource.ts";

/** Other keys make other resources. `pathOf`: makes the path of a key for each reading. */
export function useResources<T>(
  keys: readonly string[],
  pathOf: (key: string) => string,
  everyMs: number,
): { readonly loaded: Loaded<readonly T[]>; readonly refresh: () => void } {
  const all = keys.join("\n");
  const resources = useMemo(
    () => keys.map((key) => new Resource<T>(() => pathOf(key), everyMs)),
    [all, pathOf, everyMs],
  );
  useEffect(() => {
    for (const resource of resources) resource.start();
    return () => {
      for (const resource of resources) resource.stop();
    };
  }, [resources]);
  const refresh = () => {
    for (const resource of resources) void resource.refresh();
  };
  return { loaded: together(resources.map(({ state }) => state.value)), refresh };
}

/** Ready when all are; the first failure is that of all. */
function together<T>(parts: readonly Loaded<T>[]): Loaded<readonly T[]> {
  const data: T[] = [];
  let atMs = 0;
  for (const part of parts) {
    if (part.kind === "failed") return part;
    if (part.kind === "ready") {
      data.push(part.data);
      atMs = Math.max(atMs, part.atMs);
    }
  }
  return data.length < parts.length ? { kind: "loading" } : { kind: "ready", data, atMs };
}
