/** How many slots for rules in the kernel are kept free for each ban (docs/interface.md#limit-dynamic-rules). Pure. */
import type { GroupMitigation } from "../../config/sections/mitigation.ts";
import { SLOTS_PER_BAN } from "../../limits.ts";
import { canonicalPrefix } from "../../net/prefix.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import { type Rule, wideRule } from "../rules/rule.ts";
import type { ScrubFilter } from "./scrub-filter.ts";
import { scrubRules } from "./scrub-rules.ts";

/** Those of an attack's rules, and where bans scrub those of the largest filter. */
export function slotsPerBan(mitigations: readonly GroupMitigation[]): number {
  return SLOTS_PER_BAN + Math.max(0, ...mitigations.filter(mayScrub).map(({ scrub }) => filterSlots(scrub)));
}

/** Whether bans of the hostgroup scrub on this machine, on any rung or as the fallback. */
export function mayScrub({ ladder, ban }: GroupMitigation): boolean {
  return ban.fallback === "scrub" || ladder.some(({ action }) => action === "scrub");
}

/** While the attack uses TCP, or does not. */
function filterSlots(filter: ScrubFilter): number {
  const attack = filter.askedOnly ? [ANSWERS] : [];
  const filters = filter.tcp === null ? [filter] : [filter, { ...filter, tcp: null, learnsTcp: true } as const];
  return Math.max(...filters.map((each) => scrubRules(ANY, each, attack).length - attack.length));
}

const ANY = canonicalPrefix("0.0.0.0/0");
const ANSWERS: Rule = {
  ...wideRule(ANY, { kind: "discard" }),
  protocol: IP_PROTOCOL.udp,
  sourcePorts: [{ from: 53, to: 53 }],
};
