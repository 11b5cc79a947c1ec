/**
 * The rules of a ban for readers that do not support all of its match fields, such as some scrub nodes and routers: found
 * again within those that they support. Pure, except that it bounds how many it finds at once.
 */
import type { RulesForReaders } from "../circumstances.ts";
import type { NodeRules } from "../measure.ts";
import { isSameAction, type RuleAction } from "./action.ts";
import { type Rule, rulesText } from "./rule.ts";
import type { CanExpress } from "./rule-cover.ts";
import { simplerRules } from "./simpler-rules.ts";

/**
 * Diverted bans for which one tick finds rules for a node whose capabilities changed: it bounds the time that a tick
 * blocks the event loop.
 */
export const NODE_RULES_FOUND_MAX = 16;

export interface RuleReader {
  /** Equal keys mean equal readers. */
  readonly key: string;
  /** Those of a ban's rules that it could have at all. */
  readonly concerning: (rules: readonly Rule[]) => readonly Rule[];
  readonly canExpress: CanExpress;
  readonly rulesMax: number;
  /** Where nothing is known of the attack's packets: it has rules of its own, as many of the ban's as it supports. */
  readonly hasOwnAlways: boolean;
}

export class ReaderRuleFinder {
  #found = 0;

  /** Time passed: as many again may be found for bans of which nothing else changed. */
  tick(): void {
    this.#found = 0;
  }

  /** @param readers without duplicates. Returns `present` itself if nothing changes. */
  rulesFor(readers: readonly RuleReader[], request: RulesForReaders): readonly NodeRules[] {
    const { present, rules } = request;
    const made = readers
      .filter((reader) => !holdsAll(rules, reader))
      .map((reader) => this.#rulesFor(reader, request))
      .filter((each) => each !== null);
    const isSame = made.length === present.length && made.every((each, i) => each === present[i]);
    return isSame ? present : made;
  }

  /** null: the attack's packets are not known. */
  #rulesFor(reader: RuleReader, request: RulesForReaders): NodeRules | null {
    const { prefix, flowspec, isOutdated, isFixed = false, observed } = request;
    const { key, canExpress, rulesMax } = reader;
    const precise = reader.concerning(request.rules);
    const known = request.present.find((each) => each.support === key) ?? null;
    if (!isOutdated && isFixed && known !== null) return known;
    if (!isOutdated && (known !== null || this.#found >= NODE_RULES_FOUND_MAX)) return known;
    const before = known === null ? null : withAction(known, flowspec.action);
    if (isFixed) return expressible(precise, reader);
    const attacks = observed();
    if (attacks.length === 0) return before ?? (reader.hasOwnAlways ? expressible(precise, reader) : null);
    if (!isOutdated) this.#found++;
    const present = before?.rules ?? [];
    const found = simplerRules({ prefix, attacks, flowspec, precise, present, canExpress, rulesMax });
    if (found === null) return before ?? expressible(precise, reader);
    const isSame = before?.leftOut === found.leftOut && rulesText(before.rules) === rulesText(found.rules);
    return isSame ? before : { support: key, ...found };
  }
}

/** Cached by list: it is read for each ban in each tick. */
const HELD = new WeakMap<readonly Rule[], Map<string, boolean>>();

/** Whether the reader can apply all of the rules. */
export function holdsAll(rules: readonly Rule[], reader: RuleReader): boolean {
  let byReader = HELD.get(rules);
  if (byReader === undefined) {
    byReader = new Map();
    HELD.set(rules, byReader);
  }
  let isHeld = byReader.get(reader.key);
  if (isHeld === undefined) {
    const own = reader.concerning(rules);
    isHeld = own.length <= reader.rulesMax && own.every(reader.canExpress);
    byReader.set(reader.key, isHeld);
  }
  return isHeld;
}

function expressible(precise: readonly Rule[], { key, canExpress, rulesMax }: RuleReader): NodeRules {
  const rules = precise.filter(canExpress).slice(0, rulesMax);
  return { support: key, rules, leftOut: precise.length - rules.length };
}

function withAction(known: NodeRules, action: RuleAction): NodeRules {
  if (known.rules.every((rule) => isSameAction(rule.action, action))) return known;
  return { ...known, rules: known.rules.map((rule) => ({ ...rule, action })) };
}
