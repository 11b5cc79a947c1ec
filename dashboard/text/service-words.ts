/**
 * Sentences of the service in the user's language. Its sentences are part of the interface
 * (docs/interface.md#error-texts): catalogues have them as keys, with places for their values. One that no catalogue
 * has stays in English. Pure.
 */
import { type Catalogue, serviceCatalogue } from "../language.ts";

/** `no active ban for 203.0.113.7` is `keine aktive Sperre für 203.0.113.7`. */
export const said: (text: string) => string = translator(serviceCatalogue);

/** A list of bans has the same few sentences in each row. */
const REMEMBERED_MAX = 1000;

/** Values may be sentences of the service themselves, as the cause in `bgp announce failed: <cause>`. */
export function translator(catalogue: Catalogue): (text: string) => string {
  const entries = Object.entries(catalogue);
  const templates = entries
    .filter(([key]) => key.includes("{0}"))
    // The one with most words of its own is meant.
    .toSorted(([a], [b]) => b.replace(PLACE, "").length - a.replace(PLACE, "").length)
    .map(([key, text]) => ({ pattern: patternOf(key), text }));
  const known = new Map<string, string>();
  const translated = (text: string): string => {
    for (const { pattern, text: template } of templates) {
      const values = pattern.exec(text)?.slice(1);
      if (values !== undefined) return template.replace(PLACE, (_, index: string) => of(values[Number(index)] ?? ""));
    }
    // Behind a field stands what it must be; behind a reason the words of a person, or a remedy.
    const [, head = "", sign = "", rest = ""] = OF_FIELD.exec(text) ?? OF_REASON.exec(text) ?? [];
    const words = Object.hasOwn(catalogue, head) ? catalogue[head] : FIELD.test(head) ? head : undefined;
    return words === undefined ? text : words + sign + of(rest);
  };
  const of = (text: string): string => {
    if (Object.hasOwn(catalogue, text)) return catalogue[text] ?? text;
    const before = known.get(text);
    if (before !== undefined || entries.length === 0) return before ?? text;
    if (known.size >= REMEMBERED_MAX) known.clear();
    const words = translated(text);
    known.set(text, words);
    return words;
  };
  return of;
}

/** `opens_at`, of the body of an order. */
const FIELD = /^[a-z_]+$/;
const OF_FIELD = /^([a-z_]+)( )(must .+)$/s;
const OF_REASON = /^(.+?)(: )(.+)$/s;
const PLACE = /\{(\d+)\}/g;

function patternOf(key: string): RegExp {
  const parts = key.split(/\{\d+\}/).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join("(.+?)")}$`, "s");
}
