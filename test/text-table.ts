/** Rows of cells as lines with equal columns, for what the tools print. */
export function textTable(rows: readonly (readonly string[])[], isNumber: (column: number) => boolean): string {
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (isNumber(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0))).join("  ");
  return rows.map((row) => line(row).trimEnd()).join("\n");
}
