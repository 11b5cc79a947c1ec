/**
 * Finds rules for a reader that does not support all match fields: within those that it supports, by the same bounds of
 * attack and users matched as all rules. Pure.
 */
import type { Prefix } from "../../net/prefix.ts";
import type { ObservedAttack } from "../circumstances.ts";
import { separated } from "./attack-packets.ts";
import { evidenceOf } from "./attack-rules.ts";
import { matchText, ruleMatches } from "./match.ts";
import type { Rule } from "./rule.ts";
import { ATTACK_SHARE_MIN, REPLACED_SHARE_MIN } from "./rule-bounds.ts";
import { type CanExpress, distinct } from "./rule-cover.ts";
import { type FlowspecPolicy, keptOrFound, withoutPrefix, withPrefix } from "./rule-generator.ts";
import { type WeightedPacket, weightOf } from "./weighted-packet.ts";

interface SimplerRequest {
  readonly prefix: Prefix;
  /** With their packets. Outgoing ones are not considered. */
  readonly attacks: readonly ObservedAttack[];
  readonly flowspec: FlowspecPolicy;
  /** The rules for a reader that supports all match fields. */
  readonly precise: readonly Rule[];
  /** The rules that this reader has. */
  readonly present: readonly Rule[];
  readonly canExpress: CanExpress;
  readonly rulesMax: number;
}

export interface SimplerRules {
  readonly rules: readonly Rule[];
  /** Number of precise rules of whose attack packets a part is not matched by `rules`. */
  readonly leftOut: number;
}

/** null: no packets of the attack were seen. */
export function simplerRules(request: SimplerRequest): SimplerRules | null {
  const { precise, canExpress, rulesMax } = request;
  const found = request.attacks
    .filter(({ attack }) => attack.direction === "incoming")
    .map((observed) => foundFor(observed, request))
    .filter(({ attack }) => weightOf(attack) >= ATTACK_SHARE_MIN);
  if (found.length === 0) return null;
  const others = found.flatMap(({ rules }) => rules);
  // This reader also gets rules that the finder accepted for all readers, if no others replace them.
  const outgoing = precise.filter((rule) => rule.destination === null && canExpress(rule));
  const all = others.length > 0 ? [...distinct(others), ...outgoing] : precise.filter(canExpress);
  const rules = all.slice(0, rulesMax);
  const attack = found.flatMap((each) => each.attack);
  return { rules, leftOut: precise.filter((rule) => !isReplaced(rule, rules, attack)).length };
}

interface Found {
  readonly rules: readonly Rule[];
  readonly attack: readonly WeightedPacket[];
}

function foundFor(observed: ObservedAttack, { prefix, flowspec, precise, present, canExpress }: SimplerRequest): Found {
  const evidence = evidenceOf(prefix, observed);
  const traffic = separated(evidence);
  const before = present.length > 0 ? present : precise.filter(canExpress);
  const known = withoutPrefix(before.filter(({ destination }) => destination !== null));
  const found = keptOrFound(evidence, traffic, flowspec, [...known.keys()], canExpress);
  return { rules: withPrefix(found, known, prefix), attack: traffic.attack };
}

function isReplaced(rule: Rule, rules: readonly Rule[], attack: readonly WeightedPacket[]): boolean {
  if (rules.some((other) => matchText(other) === matchText(rule))) return true;
  const matched = attack.filter(({ header }) => ruleMatches(rule, header));
  const missed = matched.filter(({ header }) => !rules.some((other) => ruleMatches(other, header)));
  return matched.length > 0 && weightOf(missed) <= (1 - REPLACED_SHARE_MIN) * weightOf(matched);
}
