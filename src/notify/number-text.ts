/** Numbers, times and durations in words for people. */

/** 32,178 or 0.5: no decimals from 100 on. */
export function numberText(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: value < 100 ? 2 : 0 });
}

export function timeText(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const parts = [
    [Math.floor(seconds / 3600), "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ] as const;
  return (
    parts
      .filter(([count]) => count > 0)
      .map(([count, unit]) => `${count} ${unit}`)
      .join(" ") || "0 s"
  );
}
