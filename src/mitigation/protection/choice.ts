/**
 * A protection profile that a caller chose at run time for a prefix, in place of the one of its hostgroup, and what
 * becomes of it under a configuration. Pure; independent of how choices are stored.
 */
import { canonicalPrefix, type Prefix } from "../../net/prefix.ts";
import type { MitigationSections } from "../mitigation-config.ts";
import { mayScrub } from "../scrub/ban-slots.ts";
import type { ScrubConfig } from "../scrub/scrub-config.ts";

export interface ProtectionChoice {
  /** Canonical CIDR. */
  readonly prefix: string;
  readonly profile: string;
  /** Also without an attack; null: as a choice with a shorter prefix around it says, else the configuration. */
  readonly always: boolean | null;
  readonly note: string;
  /** Name of the caller's token; empty on an open API. */
  readonly operator: string;
  /** The caller's; null: an operator without a tenant. */
  readonly tenant: string | null;
  /** Wall clock, ms. */
  readonly chosenAt: number;
}

/** The configuration that a choice depends on. */
export type ProtectionConfig = Pick<
  MitigationSections,
  "lookup" | "hostgroups" | "mitigations" | "carpet" | "scrubProfiles" | "dataplane" | "whitelist"
>;

/** Why a choice is kept without effect: first those of the prefix, then what tenants may not choose. */
export const INACTIVE_CAUSES = [
  "not_one_hostgroup",
  "unknown_profile",
  "other_tenant",
  "not_selectable",
  "always_not_selectable",
] as const;
export type InactiveCause = (typeof INACTIVE_CAUSES)[number];

/** A choice that decides for its prefix. */
export interface ActiveChoice {
  readonly kind: "active";
  readonly choice: ProtectionChoice;
  readonly prefix: Prefix;
  /** Index of the hostgroup of all its addresses. */
  readonly group: number;
  readonly scrub: ScrubConfig;
}
export interface InactiveChoice {
  readonly kind: "inactive";
  readonly choice: ProtectionChoice;
  readonly prefix: Prefix;
  /** -1: there is no single one. */
  readonly group: number;
  readonly cause: InactiveCause;
}
export type JudgedChoice = ActiveChoice | InactiveChoice;

export function judgeChoice(choice: ProtectionChoice, config: ProtectionConfig): JudgedChoice {
  const prefix = canonicalPrefix(choice.prefix);
  const group = config.lookup.groupOf(prefix);
  const cause = inactiveCause(choice, group, config);
  if (cause !== null) return { kind: "inactive", choice, prefix, group, cause };
  return { kind: "active", choice, prefix, group, scrub: chosenScrub(choice, group, config) };
}

function inactiveCause(
  { profile, always, tenant }: ProtectionChoice,
  group: number,
  { hostgroups, mitigations, scrubProfiles }: ProtectionConfig,
): InactiveCause | null {
  const mitigation = mitigations[group];
  if (mitigation === undefined) return "not_one_hostgroup";
  if (!scrubProfiles.some(({ name }) => name === profile)) return "unknown_profile";
  if (tenant === null) return null;
  if (hostgroups[group]?.tenant !== tenant) return "other_tenant";
  const { selectable } = mitigation;
  if (!selectable.profiles.includes(profile)) return "not_selectable";
  return always !== null && !selectable.isAlways ? "always_not_selectable" : null;
}

/**
 * The profile takes the place of all keys of the configuration that say how traffic is filtered, except where the
 * configuration has the same profile: then the keys beside it stay.
 */
function chosenScrub(
  { profile, always }: ProtectionChoice,
  group: number,
  { mitigations, scrubProfiles }: ProtectionConfig,
): ScrubConfig {
  const configured = mitigations[group]?.scrub;
  const chosen = scrubProfiles.find(({ name }) => name === profile);
  if (configured === undefined || chosen === undefined) throw new Error("bug: the choice is not active");
  const filter = configured.profile === profile ? {} : { ...chosen.filter, countsOnly: configured.countsOnly };
  return { ...configured, ...filter, profile, isAlways: always ?? configured.isAlways };
}

/** When a filter applies to addresses of a hostgroup; `never` with the reason in words. */
export type Application =
  | { readonly when: "always" | "attack"; readonly cause: null }
  | { readonly when: "never"; readonly cause: string };

export function applicationOf(
  { prefix, group, scrub }: Pick<ActiveChoice, "prefix" | "group" | "scrub">,
  { mitigations, carpet, dataplane, whitelist }: ProtectionConfig,
): Application {
  if (whitelist.findAround(prefix) >= 0) return { when: "never", cause: "it is in protected_whitelist" };
  const isHere = dataplane?.enabled === true;
  if (scrub.isAlways && isHere) return { when: "always", cause: null };
  const mitigation = mitigations[group];
  const scrubs = mitigation !== undefined && mayScrub(mitigation, carpet);
  const diverts =
    mitigation?.ban.fallback === "divert" || mitigation?.ladder.some(({ action }) => action === "divert") === true;
  if ((isHere && scrubs) || (scrub.isOnNodes && diverts)) return { when: "attack", cause: null };
  if (!isHere) return { when: "never", cause: "the data plane is absent or disabled" };
  return { when: "never", cause: "no ban of its hostgroup scrubs: see mitigation, escalation and ban.fallback" };
}
