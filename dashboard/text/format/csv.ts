/** Tables as comma-separated values (RFC 4180). Pure. */

/** Characters at which a spreadsheet starts to read a formula. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const TO_QUOTE = /[",\r\n]|^\s|\s$/;

/** Puts an apostrophe before text that a spreadsheet would run as a formula. */
export function csvText(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

function cell(text: string): string {
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return TO_QUOTE.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
