/** Which npm packages are inside something that was built, by the paths of what it was built of. */

/** @returns their names, sorted. */
export function packagesOf(paths: readonly string[]): readonly string[] {
  const names = paths.flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  return [...new Set(names)].toSorted();
}
