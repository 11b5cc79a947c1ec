/** HTML from values: each is escaped, unless it is HTML made here. No scripts, and nothing from elsewhere. */

export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Html | readonly Html[] | null;

/** Tagged template. null: nothing. */
export function html(texts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(texts.map((text, i) => text + (i < values.length ? textOf(values[i] ?? null) : "")).join(""));
}

function textOf(value: Value): string {
  if (value === null) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "object") return value.map(({ text }) => text).join("");
  return escaped(String(value));
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Also of control characters and those that turn the direction of writing, which could make a text look like another. */
function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? "").replace(/[\p{Cc}\p{Bidi_Control}]/gu, " ");
}

/** Rows of names and values; without those that are null. */
export function facts(rows: readonly (readonly [name: string, value: string | null])[]): Html {
  const shown = rows.filter(([, value]) => value !== null);
  return html`<dl>${shown.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

export function table(headings: readonly string[], rows: readonly (readonly string[])[]): Html {
  const head = headings.map((heading) => html`<th scope="col">${heading}</th>`);
  const body = rows.map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`);
  return html`<table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`;
}

const STYLE = `
  @page { size: A4; margin: 18mm 16mm; }
  body { font: 10.5pt/1.45 system-ui, sans-serif; color: #111; max-width: 178mm; margin: 0 auto; padding: 8mm 0; }
  h1 { font-size: 17pt; margin: 0 0 2mm; } h2 { font-size: 12.5pt; margin: 7mm 0 2mm; break-after: avoid; }
  dl { display: grid; grid-template-columns: 42mm 1fr; gap: 1mm 4mm; margin: 0; } dt { color: #555; } dd { margin: 0; }
  table { border-collapse: collapse; width: 100%; } thead { display: table-header-group; } tr { break-inside: avoid; }
  th, td { text-align: left; padding: 1mm 3mm 1mm 0; border-bottom: 0.2mm solid #ccc; vertical-align: top; }
  th { font-weight: 600; } table + table { margin-top: 4mm; } svg { width: 100%; height: auto; } .note { color: #555; font-size: 9pt; }
  @media print { body { padding: 0; } }
`;

/** Nothing runs in it, and nothing is loaded: also where it is opened as a file. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/** A whole page that needs nothing else, for people and paper. */
export function page(title: string, parts: readonly Html[], note: string): string {
  const policy = html`<meta http-equiv="Content-Security-Policy" content="${new Html(POLICY)}">`;
  const head = html`<meta charset="utf-8">${policy}<title>${title}</title><style>${new Html(STYLE)}</style>`;
  const body = html`<h1>${title}</h1>${parts}<p class="note">${note}</p>`;
  return `<!doctype html>\n${html`<html lang="en"><head>${head}</head><body>${body}</body></html>`.text}\n`;
}

/** For answers with such a page. */
export const PAGE_POLICY = `${POLICY}; form-action 'none'; frame-ancestors 'none'`;
