/** How many slots for rules in the kernel are kept free for each ban (docs/interface.md#limit-dynamic-rules). Pure. */
import { SLOTS_PER_BAN } from "../../limits.ts";
import { canonicalPrefix, type Prefix } from "../../net/prefix.ts";
import { exactly } from "../../net/range.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { GroupMitigation, MitigationSections } from "../mitigation-config.ts";
import { type Rule, wideRule } from "../rules/rule.ts";
import type { ScrubFilter } from "./scrub-filter.ts";
import { scrubRules } from "./scrub-rules.ts";

/** Those of an attack's rules, and where bans scrub those of the largest filter. */
export function slotsPerBan({ mitigations, carpet }: Pick<MitigationSections, "mitigations" | "carpet">): number {
  const scrubbing = mitigations.filter((each) => mayScrub(each, carpet));
  const widest = carpet?.mitigation === "scrub" ? ["0.0.0.0/0", "::/0"] : ["0.0.0.0/32", "::/128"];
  const prefixes = widest.map(canonicalPrefix);
  return SLOTS_PER_BAN + Math.max(0, ...scrubbing.map(({ scrub }) => filterSlots(scrub, prefixes)));
}

/** Whether bans of the hostgroup scrub on this machine, on any rung or as the fallback, or those of its prefixes. */
export function mayScrub({ ladder, ban }: GroupMitigation, carpet: MitigationSections["carpet"]): boolean {
  const isOfCarpets = carpet?.mitigation === "scrub";
  return isOfCarpets || ban.fallback === "scrub" || ladder.some(({ action }) => action === "scrub");
}

/** While the attack uses TCP, or does not. */
function filterSlots(filter: ScrubFilter, prefixes: readonly Prefix[]): number {
  const filters = filter.tcp === null ? [filter] : [filter, { ...filter, tcp: null, learnsTcp: true } as const];
  const slots = prefixes.flatMap((prefix) => {
    const attack = filter.askedOnly ? [answers(prefix)] : [];
    return filters.map((each) => scrubRules(prefix, each, attack).length - attack.length);
  });
  return Math.max(...slots);
}

function answers(to: Prefix): Rule {
  return {
    ...wideRule(to, { kind: "discard" }),
    protocols: exactly(IP_PROTOCOL.udp),
    sourcePorts: exactly(53),
  };
}
