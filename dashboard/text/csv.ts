/** Tables as comma-separated values (RFC 4180). Pure. */

/** What a spreadsheet takes for the beginning of a formula, and carries out. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const TO_QUOTE = /[",\r\n]|^\s|\s$/;

/** A text that a spreadsheet would carry out has an apostrophe before it, which makes it a text there. */
export function csvText(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

function cell(text: string): string {
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return TO_QUOTE.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
