/**
 * The JSON of a node's report, written from what was read, so that no reader meets what this service did not: equal
 * keys, and numbers that other readers refuse. Numbers that JavaScript would round keep their digits.
 */
import type { Refusal } from "../refusal.ts";

/** More than a double or a 128-bit counter needs. */
const NUMBER_CHARACTERS_MAX = 40;

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const parse = JSON.parse as (text: string, reviver: Reviver) => unknown;
const { rawJSON } = JSON as unknown as { readonly rawJSON: (source: string) => unknown };

/** @param text JSON that was parsed before. */
export function rewritten(text: string): { readonly kind: "text"; readonly text: string } | Refusal {
  let isRefused = false;
  const value = parse(text, (_, each, { source = "" }) => {
    if (typeof each !== "number") return each;
    if (source.length > NUMBER_CHARACTERS_MAX || !Number.isFinite(each)) isRefused = true;
    return String(each) === source ? each : rawJSON(source);
  });
  if (!isRefused) return { kind: "text", text: JSON.stringify(value) };
  return { kind: "invalid_body", detail: `a number has more than ${NUMBER_CHARACTERS_MAX} characters or is too large` };
}
