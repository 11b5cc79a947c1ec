/**
 * Rules that are in the kernel whether or not there is an attack: by which sources with connections are remembered, so
 * that these live on when their victim is scrubbed, and those of prefixes that are always scrubbed, by the configuration
 * or by a choice. The longest of these prefixes decides about an address. Pure.
 */

import { mappedLength, type Prefix } from "../../net/prefix.ts";
import { PrefixSet } from "../../net/prefix-set.ts";
import { exactly } from "../../net/range.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { Ban } from "../ban.ts";
import type { GroupMitigation, MitigationSections } from "../mitigation-config.ts";
import { LASTS_MS } from "../operator/operator-kernel-rules.ts";
import type { ActiveChoice } from "../protection/choice.ts";
import type { OwnedRule } from "../rules/kernel-rule.ts";
import { kernelRulesOf, toKernelRules } from "../rules/kernel-rules.ts";
import { ANY_MATCH } from "../rules/match.ts";
import { wideRule } from "../rules/rule.ts";
import { mayScrub } from "./ban-slots.ts";
import type { ScrubConfig } from "./scrub-config.ts";
import { type ScrubRule, scrubRules } from "./scrub-rules.ts";

/** A prefix with rules of its own. */
export interface StandingPlace {
  readonly prefix: Prefix;
  readonly scrub: ScrubConfig;
  readonly kind: "always" | "learn" | "none";
  /** A shorter prefix around it is always scrubbed, in a way that is not for this one. */
  readonly isExempt: boolean;
}

/**
 * Longest prefixes first: when room runs out, no prefix falls under the rules of a wider one.
 * Depends on the configuration and the choices only, and is slow where there are very many prefixes.
 */
export function standingPlaces(
  {
    hostgroups,
    networks,
    mitigations,
    carpet,
  }: Pick<MitigationSections, "hostgroups" | "networks" | "mitigations" | "carpet">,
  chosen: Iterable<ActiveChoice>,
): StandingPlace[] {
  // By text: a hostgroup may be a whole network, and a choice a whole hostgroup.
  const places = new Map<string, Omit<StandingPlace, "isExempt">>();
  const add = (prefix: Prefix, mitigation: GroupMitigation | undefined, scrub = mitigation?.scrub) => {
    if (mitigation === undefined || scrub === undefined) return;
    places.set(prefix.text, { prefix, scrub, kind: kindOf(mitigation, scrub, carpet) });
  };
  for (const [i, { networks: own }] of hostgroups.entries()) {
    for (const prefix of i === 0 ? networks : own) add(prefix, mitigations[i]);
  }
  const choices = new Set<string>();
  for (const { prefix, group, scrub } of chosen) {
    add(prefix, mitigations[group], scrub);
    choices.add(prefix.text);
  }
  const all = [...places.values()];
  const [always, learned] = (["always", "learn"] as const).map(
    (wanted) => new PrefixSet(all.filter(({ kind }) => kind === wanted).map(({ prefix }) => prefix)),
  ) as [PrefixSet, PrefixSet];
  // Sources of a choice are mostly learned by the rule of its hostgroup.
  const isNeeded = ({ kind, isExempt, prefix }: StandingPlace) =>
    isExempt || kind === "always" || (kind === "learn" && !(choices.has(prefix.text) && learned.hasAround(prefix)));
  return all
    .map((place) => ({ ...place, isExempt: !endsItself(place) && always.hasAround(place.prefix) }))
    .filter(isNeeded)
    .sort((a, b) => mappedLength(b.prefix) - mappedLength(a.prefix));
}

/** The most rules that a choice has in the kernel while its prefix is not attacked, with the one that ends its list. */
export function standingSlots({ prefix, scrub }: ActiveChoice): number {
  if (!scrub.isAlways) return 2;
  const known = SLOTS.get(scrub) ?? scrubRules(prefix, scrub, []).length + 1;
  SLOTS.set(scrub, known);
  return known;
}

/** By the filter of one choice. */
const SLOTS = new WeakMap<ScrubConfig, number>();

export function standingRules(places: readonly StandingPlace[], bans: Iterable<Ban>, wallMs: number): OwnedRule[] {
  const banned = [...bans].filter((ban) => kernelRulesOf(ban).length > 0);
  const scrubbed = new Set(banned.filter(({ measure }) => measure.kind === "scrub").map(({ prefix }) => prefix.text));
  const wide = new PrefixSet(banned.map(({ prefix }) => prefix));
  const strict = new PrefixSet(
    banned.filter(({ measure: of }) => of.kind === "scrub" && !of.filter.countsOnly).map(({ prefix }) => prefix),
  );
  const owner = { owner: "", expiresAtMs: wallMs + LASTS_MS };
  return places.flatMap((place) => {
    const { prefix, scrub, isExempt } = place;
    // The ban has the same filter, with the rules of its attack, and attackers must not become known sources.
    const isOfBan = scrubbed.has(prefix.text) || (place.kind === "learn" && strict.hasAround(prefix));
    const own = isOfBan ? [] : rulesOf(place);
    // The kernel would not come to the rules of a ban around it.
    const end = isExempt && !wide.hasAround(prefix) ? [passOf(prefix)] : [];
    return [
      ...toKernelRules(own, "always/", { ...owner, isDryRun: scrub.countsOnly }),
      ...toKernelRules(end, "always/", { ...owner, isDryRun: false }),
    ];
  });
}

function kindOf(
  mitigation: GroupMitigation,
  { isAlways, tcp, dns }: ScrubConfig,
  carpet: MitigationSections["carpet"],
): StandingPlace["kind"] {
  if (isAlways) return "always";
  return mayScrub(mitigation, carpet) && (tcp !== null || dns) ? "learn" : "none";
}

/** Its own rules decide about every packet. */
function endsItself({ kind, scrub }: Pick<StandingPlace, "kind" | "scrub">): boolean {
  return kind === "always" && scrub.services !== null && !scrub.countsOnly;
}

function rulesOf({ prefix, scrub, kind }: StandingPlace): ScrubRule[] {
  if (kind === "none") return [];
  if (kind === "always") return scrubRules(prefix, scrub, []);
  const rule = { ...wideRule(prefix, { kind: "discard" }), protocols: exactly(IP_PROTOCOL.tcp) };
  return [{ rule: { ...rule, action: { kind: "learn" } }, reason: "unvalidated" }];
}

function passOf(prefix: Prefix): ScrubRule {
  return { rule: { ...ANY_MATCH, destination: prefix, action: { kind: "pass" } }, reason: "no_service" };
}
