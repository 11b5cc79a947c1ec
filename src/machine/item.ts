/** One requirement of a configuration on this machine: the finding and the remedy. */

type Level = "ok" | "warning" | "error";

export interface Item {
  /** `kernel`, `interface eth0`. */
  readonly about: string;
  /** `error`: a configured function does not work. */
  readonly level: Level;
  readonly found: string;
  /** Commands in backticks; null: unknown or not needed. */
  readonly remedy: string | null;
}

export function ok(about: string, found: string): Item {
  return { about, level: "ok", found, remedy: null };
}

export function warning(about: string, found: string, remedy: string | null): Item {
  return { about, level: "warning", found, remedy };
}

export function error(about: string, found: string, remedy: string | null): Item {
  return { about, level: "error", found, remedy };
}

/** `error    interface eth0: LRO is on: `ethtool -K eth0 lro off``. */
export function itemLine({ about, level, found, remedy }: Item): string {
  return `${level.padEnd(7)}  ${about}: ${found}${remedy === null ? "" : `: ${remedy}`}`;
}

/** `this machine: 1 error, 2 warnings`. */
export function summaryLine(items: readonly Item[]): string {
  const counts = (["error", "warning"] as const)
    .map((level) => ({ level, count: items.filter((item) => item.level === level).length }))
    .filter(({ count }) => count > 0)
    .map(({ level, count }) => `${count} ${level}${count === 1 ? "" : "s"}`);
  return `this machine: ${counts.length === 0 ? "has what the configuration needs" : counts.join(", ")}`;
}
