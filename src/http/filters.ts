/**
 * The filters of a list: each is a parameter of the query with its description, and decides which items are wanted.
 * Items that satisfy all given filters are in the answer.
 */

import { parseTarget, TARGET_FORM, type Target, targetMatcher } from "../net/target.ts";
import { oneOf } from "../schema/schema-forms.ts";
import { parseTimestamp } from "../schema/timestamp.ts";
import type { Refusal } from "./refusal.ts";
import type { ParameterDescription } from "./route-description.ts";
import { type InvalidQuery, invalidQuery, parameter } from "./server/query.ts";
import { NameText, TargetText, TimeText } from "./wire/request-texts.ts";

type Wanted<Item> = (item: Item) => boolean;

interface Filter<Item> extends ParameterDescription {
  /** For the refusal: what a value must be. */
  readonly form: string;
  /** null: the text is no value of the parameter. */
  readonly wanted: (text: string) => Wanted<Item> | null;
}

export type Filters<Item> = Readonly<Record<string, Filter<Item>>>;

/** Items whose text is the value. @param of null or absent: it has none */
export function named<Item>(text: string, of: (item: Item) => string | null | undefined): Filter<Item> {
  return {
    ...{ text, schema: NameText, form: "a name" },
    wanted: (name) => (name === "" ? null : (item) => of(item) === name),
  };
}

/** One of some words. */
export function word<Item, const Words extends readonly string[]>(
  text: string,
  words: Words,
  of: (item: Item) => string | null | undefined,
): Filter<Item> {
  return {
    ...{ text, schema: oneOf(...words), form: `one of ${words.join(", ")}` },
    wanted: (name) => (words.includes(name) ? (item) => of(item) === name : null),
  };
}

/** Items at an address, or inside a prefix. @param of addresses and prefixes of the item, in canonical form */
export function within<Item>(text: string, of: (item: Item) => Iterable<string | null>): Filter<Item> {
  return {
    ...{ text, schema: TargetText, form: TARGET_FORM },
    wanted: (value) => {
      const target = parseTarget(value);
      if (target === null) return null;
      const isInside = targetMatcher(target);
      return (item) => {
        for (const own of of(item)) if (own !== null && isInside(own)) return true;
        return false;
      };
    },
  };
}

/** Lasting at some time from the given one on, and up to it. @param of wall clock, ms; `end` null: it lasts */
export function during<Item>(of: (item: Item) => { readonly start: number; readonly end: number | null }): {
  readonly from: Filter<Item>;
  readonly to: Filter<Item>;
} {
  const time = (text: string, isWanted: (item: Item, atMs: number) => boolean): Filter<Item> => ({
    ...{ text, schema: TimeText, form: "an RFC 3339 time (a + in it is written %2B)" },
    wanted: (value) => {
      const atMs = parseTimestamp(value);
      return atMs === null ? null : (item) => isWanted(item, atMs);
    },
  });
  return {
    from: time("Only those that did not end before. Default: all.", (item, atMs) => (of(item).end ?? atMs) >= atMs),
    to: time("Only those that began until then. Default: all.", (item, atMs) => of(item).start <= atMs),
  };
}

/** Whether an item satisfies every filter of the query. */
export function filterOf<Item>(filters: Filters<Item>, query: URLSearchParams): Wanted<Item> | InvalidQuery {
  const all: Wanted<Item>[] = [];
  for (const [name, { form, wanted }] of Object.entries(filters)) {
    const text = parameter(query, name);
    if (text === null) continue;
    const isWanted = wanted(text);
    if (isWanted === null) return invalidQuery(`${name} must be ${form}: ${text}`);
    all.push(isWanted);
  }
  return (item) => all.every((isWanted) => isWanted(item));
}

export function isFault<Item>(filter: Wanted<Item> | InvalidQuery): filter is InvalidQuery {
  return typeof filter !== "function";
}

/** The parameter `target` of a query that the history answers; null: it is not given. */
export function targetOf(query: URLSearchParams): Target | Refusal | null {
  const text = parameter(query, "target");
  return text === null ? null : (parseTarget(text) ?? { kind: "invalid_ip", text });
}

export function isRefusal(target: Target | Refusal | null): target is Refusal {
  return target !== null && typeof target !== "string" && "kind" in target;
}

/** The fault of a name that is given and empty; null: there is none. */
export function emptyName(query: URLSearchParams, names: readonly string[]): InvalidQuery | null {
  const empty = names.find((name) => parameter(query, name) === "");
  return empty === undefined ? null : invalidQuery(`${empty} must not be empty`);
}
