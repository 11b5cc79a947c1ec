/**
 * Parses an environment file: `NAME=value` lines, as service managers and container engines read them. Nothing is
 * expanded or escaped, so that a secret is exactly what is written.
 */

export type EnvLines =
  | { readonly kind: "variables"; readonly variables: ReadonlyMap<string, string> }
  /** Problems with their lines, never with values. */
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Blank lines and lines that start with `#` are ignored; a later `#` is part of the value. Spaces around a value are
 * removed, then one pair of quotes around it, which protects spaces inside. If a name occurs twice, the last line is
 * used.
 */
export function parseEnvLines(text: string): EnvLines {
  const variables = new Map<string, string>();
  const problems: string[] = [];
  for (const [i, raw] of text
    .replace(/^\ufeff/, "")
    .split("\n")
    .entries()) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    const equals = line.indexOf("=");
    const name = line.slice(0, Math.max(equals, 0));
    const value = unquote(line.slice(equals + 1).trim());
    if (!NAME.test(name)) problems.push(`line ${i + 1}: not of the form NAME=value`);
    else if (value === null) problems.push(`line ${i + 1}: ${name} has a quote that is not closed`);
    else if (value.includes("\0")) problems.push(`line ${i + 1}: ${name} holds a NUL character`);
    else variables.set(name, value);
  }
  return problems.length === 0 ? { kind: "variables", variables } : { kind: "invalid", problems };
}

/** null: it starts with a quote and does not end with the same. */
function unquote(value: string): string | null {
  const quote = value.charAt(0);
  if (quote !== '"' && quote !== "'") return value;
  return value.length > 1 && value.endsWith(quote) ? value.slice(1, -1) : null;
}
