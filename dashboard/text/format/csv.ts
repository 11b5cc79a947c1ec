/** Tables as comma-separated values (RFC 4180). Pure. */

/** Characters at which a spreadsheet starts to read a formula, some also after space. */
const FORMULA = /^[\s\ufeff]*[=+\-@＝＋－＠]|^[\t\r\n]/;
/** Semicolons and tabs are what some spreadsheets divide cells at. */
const TO_QUOTE = /[",;\t\r\n]|^\s|\s$/;

/**
 * Puts an apostrophe before text that a spreadsheet would run as a formula.
 * @param cut why rows are missing at the end, said in a last line, since a file is passed on without the page; null: none
 */
export function csvText(rows: readonly (readonly string[])[], cut: string | null = null): string {
  const last = (rows[0] ?? []).map((_, i) => (i === 0 ? `CUT: ${cut}` : ""));
  return [...rows, ...(cut === null ? [] : [last])].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

function cell(text: string): string {
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return TO_QUOTE.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
