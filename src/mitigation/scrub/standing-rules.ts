/**
 * Rules that are in the kernel whether or not there is an attack: by which sources with connections are remembered, so
 * that these live on when their victim is scrubbed, and those of hostgroups that are always scrubbed. Pure.
 */
import type { Config } from "../../config/config.ts";
import type { GroupMitigation } from "../../config/sections/mitigation.ts";
import type { Prefix } from "../../net/prefix.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import { type KernelRule, toKernelRules } from "../rules/kernel-rules.ts";
import { wideRule } from "../rules/rule.ts";
import { type ScrubRule, scrubRules } from "./scrub-rules.ts";

/** Renewed with every change of the rules, so that they do not end while the service runs. */
const LASTS_MS = 10 * 365 * 86_400_000;

type Groups = Pick<Config, "hostgroups" | "networks" | "mitigations">;

export function standingRules(config: Groups, wallMs: number): KernelRule[] {
  return [...mitigationByPrefix(config)].flatMap(([prefix, mitigation]) => {
    const owner = { banId: "", isDryRun: mitigation.scrub.countsOnly, expiresAtMs: wallMs + LASTS_MS };
    return toKernelRules(rulesFor(prefix, mitigation), "always/", owner);
  });
}

/** A hostgroup that has a whole network has it alone. */
function mitigationByPrefix({ hostgroups, networks, mitigations }: Groups): Map<Prefix, GroupMitigation> {
  const byText = new Map<string, readonly [Prefix, GroupMitigation]>();
  for (const [i, { networks: own }] of hostgroups.entries()) {
    const mitigation = mitigations[i];
    if (mitigation === undefined) continue;
    for (const prefix of i === 0 ? networks : own) byText.set(prefix.text, [prefix, mitigation]);
  }
  return new Map(byText.values());
}

function rulesFor(prefix: Prefix, mitigation: GroupMitigation): ScrubRule[] {
  const { ladder, scrub, ban } = mitigation;
  if (scrub.isAlways) return scrubRules(prefix, scrub, []);
  const scrubs = ban.fallback === "scrub" || ladder.some(({ action }) => action === "scrub");
  if (!scrubs || (scrub.tcp === null && !scrub.dns)) return [];
  const rule = { ...wideRule(prefix, { kind: "discard" }), protocol: IP_PROTOCOL.tcp };
  return [{ rule, inline: { kind: "learn" }, reason: "unvalidated" }];
}
