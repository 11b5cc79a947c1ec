/** A time in one unit of which there are at least two: `1.5 s`, `45 s`, `12 min`, `3,334 days`. */

const UNITS = [
  ["days", 86_400],
  ["h", 3600],
  ["min", 60],
] as const;

export function durationText(ms: number): string {
  const seconds = ms / 1000;
  const [unit, size] = UNITS.find(([, each]) => seconds >= 2 * each) ?? ["s", 1];
  return `${(seconds / size).toLocaleString("en-US", { maximumFractionDigits: seconds < 10 ? 1 : 0 })} ${unit}`;
}
