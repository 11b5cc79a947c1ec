/**
 * Rules that are in the kernel whether or not there is an attack: by which sources with connections are remembered, so
 * that these live on when their victim is scrubbed, and those of hostgroups that are always scrubbed. Pure.
 */
import type { Config } from "../../config/config.ts";
import type { GroupMitigation } from "../../config/sections/mitigation.ts";
import { addressToBytes } from "../../net/address.ts";
import { mappedLength, type Prefix, prefixContains } from "../../net/prefix.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import { type KernelRule, toKernelRules } from "../rules/kernel-rules.ts";
import { wideRule } from "../rules/rule.ts";
import { mayScrub } from "./ban-slots.ts";
import { type ScrubRule, scrubRules } from "./scrub-rules.ts";

/** Renewed with every change of the rules, so that they do not end while the service runs. */
const LASTS_MS = 10 * 365 * 86_400_000;

type Groups = Pick<Config, "hostgroups" | "networks" | "mitigations">;

/** Those of longer prefixes come first: while the last ones find no room, no hostgroup is left to a wider one's rules. */
export function standingRules(config: Groups, wallMs: number): readonly KernelRule[] {
  let made = MADE.get(config);
  if (made === undefined) {
    made = makeRules(config);
    MADE.set(config, made);
  }
  const expiresAtMs = wallMs + LASTS_MS;
  return made.map((rule) => ({ ...rule, expiresAtMs }));
}

/** Cached by configuration: they are asked for with each change of a ban. */
const MADE = new WeakMap<Groups, readonly KernelRule[]>();

/** A prefix of a hostgroup. */
interface Owned {
  readonly prefix: Prefix;
  readonly mitigation: GroupMitigation;
  readonly rules: readonly ScrubRule[];
}

function makeRules(config: Groups): readonly KernelRule[] {
  const made = nested(ownedPrefixes(config)).map((each) => [mappedLength(each.prefix), kernelRulesOf(each)] as const);
  return made.sort(([a], [b]) => b - a).flatMap(([, rules]) => rules);
}

/** A hostgroup that has a whole network has it alone. */
function ownedPrefixes({ hostgroups, networks, mitigations }: Groups): Owned[] {
  const byText = new Map<string, Owned>();
  for (const [i, { networks: own }] of hostgroups.entries()) {
    const mitigation = mitigations[i];
    if (mitigation === undefined) continue;
    for (const prefix of i === 0 ? networks : own) {
      byText.set(prefix.text, { prefix, mitigation, rules: rulesFor(prefix, mitigation) });
    }
  }
  return [...byText.values()];
}

function rulesFor(prefix: Prefix, mitigation: GroupMitigation): ScrubRule[] {
  const { scrub } = mitigation;
  if (scrub.isAlways) return scrubRules(prefix, scrub, []);
  if (!mayScrub(mitigation) || (scrub.tcp === null && !scrub.dns)) return [];
  const rule = { ...wideRule(prefix, { kind: "discard" }), protocol: IP_PROTOCOL.tcp };
  return [{ rule, inline: { kind: "learn" }, reason: "unvalidated" }];
}

/** With the prefixes that each lies in, the widest first. */
function nested(owned: readonly Owned[]): (Owned & { readonly around: readonly Owned[] })[] {
  const keyed = owned.map((each) => [addressToBytes(each.prefix.address), each] as const);
  keyed.sort(([a, { prefix: one }], [b, { prefix: other }]) => Buffer.compare(a, b) || one.length - other.length);
  let around: readonly Owned[] = [];
  return keyed.map(([, each]) => {
    around = around.filter(({ prefix }) => prefixContains(prefix, each.prefix.address));
    const placed = { ...each, around };
    around = [...around, each];
    return placed;
  });
}

/**
 * The kernel goes on to the rules of wider prefixes where those of a longer one decide nothing. A prefix within one of
 * the same hostgroup is left to that one's; one within another hostgroup's is kept from that one's, unless these only
 * remember sources.
 */
function kernelRulesOf({ prefix, mitigation, rules, around }: ReturnType<typeof nested>[number]): KernelRule[] {
  if (around.at(-1)?.mitigation === mitigation) return [];
  const { countsOnly, services } = mitigation.scrub;
  const terms = { banId: "", isDryRun: countsOnly, expiresAtMs: 0 };
  const made = toKernelRules(rules, "always/", terms);
  const isAround = around.some((wider) => wider.mitigation.scrub.isAlways && wider.rules.length > 0);
  const decidesAll = rules.length > 0 && mitigation.scrub.isAlways && services !== null && !countsOnly;
  if (!isAround || decidesAll) return made;
  const end = { rule: wideRule(prefix, { kind: "discard" }), inline: { kind: "pass" }, reason: "rule" } as const;
  return [...made, ...toKernelRules([end], "always/", { ...terms, isDryRun: false })];
}
