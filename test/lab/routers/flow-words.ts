/**
 * One spelling for what routers of several projects print of a FlowSpec rule, so that they can be compared: components in
 * the order of RFC 8955 (4.2.2), `dst 203.0.113.7/32; proto 17; sport 53,123,1900..1910; tcp flags =0x2&!0x10`. Of bits:
 * `=` all of the mask, `+` one of it, `!` none of it, `/` not all of it. Each reader throws on words that it does not know.
 */

const ORDER = ["dst", "src", "proto", "port", "dport", "sport", "icmp type", "icmp code", "tcp flags", "length"];
const LAST = "fragment";

export type Components = ReadonlyMap<string, string>;

export function matchText(components: Components): string {
  const unknown = [...components.keys()].filter((name) => ![...ORDER, LAST].includes(name));
  if (unknown.length > 0) throw new Error(`components ${unknown.join()}`);
  return [...ORDER, LAST].flatMap((name) => components.get(name)?.replace(/^/, `${name} `) ?? []).join("; ");
}

/** Of terms as `=53`, `>=1900&<=1910` and `<=99`: `..99,53,1900..1910`. */
export function numberTerms(terms: readonly string[]): string {
  return terms
    .map((term) => {
      const [, least, , most] = /^>=(\d+)(&<=(\d+))?$/.exec(term) ?? [];
      if (least !== undefined) return rangeText(Number(least), most === undefined ? null : Number(most));
      const [, operator, value] = /^(=|<=)(\d+)$/.exec(term) ?? [];
      if (value === undefined) throw new Error(`number ${term}`);
      return operator === "=" ? value : rangeText(null, Number(value));
    })
    .join(",");
}

export function rangeText(least: number | null, most: number | null): string {
  return least === most ? String(least) : `${least ?? ""}..${most ?? ""}`;
}

export interface BitTest {
  readonly kind: "=" | "+" | "!" | "/";
  readonly mask: number;
}

/** Of one bit, one and all are the same, and so are none and not all. */
export function bitTerm(tests: readonly BitTest[]): string {
  return tests
    .map(({ kind, mask }) => {
      const isSingle = (mask & (mask - 1)) === 0;
      const plain = isSingle ? ({ "+": "=", "/": "!", "=": "=", "!": "!" } as const)[kind] : kind;
      return `${plain}0x${mask.toString(16)}`;
    })
    .join("&");
}

/** An IEEE 754 rate as routers print it. */
export function rateText(bytesPerSecond: number): string {
  return `rate ${bytesPerSecond}`;
}

export function sorted(texts: Iterable<string>): readonly string[] {
  return [...texts].sort();
}
