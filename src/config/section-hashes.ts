/**
 * Hashes of the sections of a configuration that all brains of a cluster are to have the same: by them brains see that
 * they differ, and in what. What is of one machine is left out: its interfaces, addresses, files, and its speaker.
 */
import { createHash } from "node:crypto";
import type { BgpConfig } from "../bgp/bgp-config.ts";
import type { Config } from "./config.ts";

/** Digits of a hash: enough to see a difference. */
const DIGITS = 16;

export function sectionHashes(config: Config): Record<string, string> {
  return Object.fromEntries(Object.entries(sections(config)).map(([name, value]) => [name, hashOf(value)]));
}

/** By the names of the file. */
function sections(config: Config): Readonly<Record<string, unknown>> {
  const { hostgroups, mitigations } = config;
  const [globalGroup] = hostgroups;
  const [globalMitigation] = mitigations;
  return {
    dry_run: config.dryRun,
    networks: texts(config.networks),
    protected_whitelist: texts(config.protectedWhitelist),
    detection: config.detection,
    thresholds: [globalGroup?.thresholds, globalGroup?.thresholdsOutgoing],
    baseline: globalGroup?.baseline,
    carpet: config.carpet,
    hostgroups: [
      hostgroups.slice(1).map((group) => ({ ...group, networks: texts(group.networks) })),
      mitigations.slice(1),
    ],
    mitigation: globalMitigation,
    scrub_profiles: config.scrubProfiles,
    ban: config.ban,
    bgp: config.bgp && routesOf(config.bgp),
    order_templates: config.orderTemplates,
    maintenance: config.maintenance,
    filter_rules: config.filterRules,
    prefix_sets: config.prefixSets.map(({ name }) => name),
    scrubbing: config.scrubbing,
    edge: config.edge,
    notify: config.notify,
    "api.tokens": config.api.tokens,
  };
}

/** The form of routes, without the session by which they go. */
function routesOf({ nextHop, nextHop6, communities, localPref, policies }: BgpConfig): unknown {
  return { nextHop, nextHop6, communities, localPref, policies };
}

function texts(prefixes: readonly { readonly text: string }[]): string {
  return prefixes.map(({ text }) => text).join();
}

function hashOf(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(value ?? null))
    .digest("hex")
    .slice(0, DIGITS);
}
