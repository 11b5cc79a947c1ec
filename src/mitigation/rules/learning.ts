/**
 * The standing rules by which the kernel remembers sources with connections while there is no attack, so that these
 * live on when their victim is scrubbed: one for each prefix of the hostgroups that validate sources of TCP. Pure.
 */
import type { Config } from "../../config/config.ts";
import type { GroupMitigation } from "../../config/sections/mitigation.ts";
import { type KernelRule, tcpTo } from "./kernel-rules.ts";

/** Renewed with every change of the rules, so that they do not end while the service runs. */
const LASTS_MS = 10 * 365 * 86_400_000;

export function learningRules(
  { hostgroups, networks, mitigations }: Pick<Config, "hostgroups" | "networks" | "mitigations">,
  wallMs: number,
): KernelRule[] {
  const rules = new Map<string, KernelRule>();
  for (const [i, { networks: own }] of hostgroups.entries()) {
    const mitigation = mitigations[i];
    if (mitigation === undefined || !validates(mitigation)) continue;
    for (const prefix of i === 0 ? networks : own) {
      const id = `learn/${prefix.text}`;
      const rule = tcpTo(prefix);
      rules.set(id, { id, banId: "", rule, validation: { kind: "learn" }, expiresAtMs: wallMs + LASTS_MS });
    }
  }
  return [...rules.values()];
}

function validates({ ladder, scrub, ban }: GroupMitigation): boolean {
  return scrub.tcp !== null && (ban.fallback === "scrub" || ladder.some(({ action }) => action === "scrub"));
}
