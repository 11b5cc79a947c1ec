/** Settings of diverting, of scrub nodes and of scrubbing on this machine that are valid but may be unintended. */
import type { RouteTerms } from "../../mitigation/mitigation-config.ts";
import { areAllTaken, type Prefix } from "../../net/prefix.ts";
import type { ConfigPath } from "../../schema/problem.ts";
import type { Finding } from "../../schema/shape.ts";
import { nextHopFor } from "../../scrub/scrubbing-config.ts";
import type { Config } from "../config.ts";

/** Hostgroups in one line. */
const GROUPS_NAMED = 5;

export function* scrubbingWarnings(config: Config): Generator<Finding> {
  yield* nodeWarnings(config);
  yield* carpetWarnings(config);
  yield* groupWarnings(config);
  yield* alwaysWarnings(config);
  yield* hookWarnings(config);
}

/** A hook in dry run diverts nothing, while bans of such levels are real. */
function* hookWarnings({ diversionHook, dryRun, mitigations, carpet }: Config): Generator<Finding> {
  if (dryRun || diversionHook?.isDryRun !== true) return;
  const isDiverting = mitigations.some(
    ({ ladder, ban, dryRunDirections }) =>
      !dryRunDirections.includes("incoming") &&
      (ban.fallback === "divert" || ladder.some(({ action }) => action === "divert")),
  );
  if (!isDiverting && carpet?.mitigation !== "divert") return;
  const rule = "is true, and bans that divert are real: they do nothing but what an earlier rung announced";
  yield { path: ["scrubbing", "hook", "dry_run"], rule };
}

/** Which answers need a request before them is known from the rules of an attack. */
function* alwaysWarnings({ mitigations }: Config): Generator<Finding> {
  const [global] = mitigations;
  for (const [i, { scrub }] of mitigations.entries()) {
    if (!scrub.isAlways || !scrub.askedOnly) continue;
    if (i > 0 && Bun.deepEquals(scrub, global?.scrub)) continue;
    const path: ConfigPath = i === 0 ? ["scrub", "answers"] : ["hostgroups", i - 1, "scrub", "answers"];
    const rule =
      "asked acts only in bans that scrub, in spite of always: what answers look like is known from an attack";
    yield { path, rule };
  }
}

function* nodeWarnings({ scrubbing, api }: Config): Generator<Finding> {
  const agents = api.tokens.filter(({ role }) => role === "agent");
  for (const [i, { name, nextHop, nextHop6 }] of (scrubbing?.nodes ?? []).entries()) {
    const path: ConfigPath = ["scrubbing", "nodes", i];
    if (nextHop === null && nextHop6 === null) {
      yield { path, rule: "has no next hop, nor has scrubbing: nothing is diverted to it" };
    }
    // Only polls of agents show that a node is alive (docs/interface.md#scrub-node-presence).
    if (!agents.some(({ node }) => node === null || node === name)) {
      yield { path, rule: `no token in api.tokens is an agent's that may act as ${name}: it never counts as alive` };
    }
  }
}

/** A family without a next hop uses the fallback, which may be unintended; carpet attacks have no fallback. */
function* carpetWarnings(config: Config): Generator<Finding> {
  if (config.carpet?.mitigation !== "divert") return;
  const divert = config.mitigations[0]?.divert ?? null;
  for (const family of familiesOf(config)) {
    if (config.hostgroups.some(({ name: group }) => isTaken(config, { group, family, divert }))) continue;
    yield missing(config, family, {
      section: `spread attacks on IPv${family} cannot be diverted, and nothing is done about them`,
      nodes: "spread attacks cannot be diverted, and nothing is done about them",
    });
  }
}

/** One for each address family: many hostgroups may lack the same next hop. */
function* groupWarnings(config: Config): Generator<Finding> {
  const diverting = config.hostgroups.flatMap(({ name: group }, i) => {
    const { ladder, divert } = config.mitigations[i] ?? { ladder: [], divert: null };
    return divert !== null && ladder.some(({ action }) => action === "divert") ? [{ group, divert }] : [];
  });
  for (const family of familiesOf(config)) {
    const groups = diverting
      .filter((one) => hasAddresses(config, one.group, family) && !isTaken(config, { ...one, family }))
      .map(({ group }) => group);
    const [first, ...others] = groups;
    if (first === undefined) continue;
    const isOne = others.length === 0;
    const named = groups.slice(0, GROUPS_NAMED).join(", ");
    const more = groups.length > GROUPS_NAMED ? ` and ${groups.length - GROUPS_NAMED} more` : "";
    const who = isOne ? `hostgroup ${first} cannot` : `hostgroups ${named}${more} cannot`;
    yield missing(config, family, {
      section: `${who} divert IPv${family}, and ${isOne ? "falls" : "fall"} back`,
      nodes: `${who} divert it, and ${isOne ? "does" : "do"} as ban.fallback says`,
    });
  }
}

/** The hostgroup global has those that no other one takes. */
function hasAddresses({ networks, hostgroups }: Config, name: string, family: 4 | 6): boolean {
  const ofFamily = (prefixes: readonly Prefix[]) => prefixes.filter((prefix) => prefix.family === family);
  const [global, ...others] = hostgroups;
  if (name !== global?.name) return others.some((group) => group.name === name && ofFamily(group.networks).length > 0);
  return !areAllTaken(ofFamily(networks), ofFamily(others.flatMap((group) => group.networks)));
}

function familiesOf({ networks }: Config): ReadonlySet<4 | 6> {
  return new Set(networks.map(({ family }) => family));
}

function isTaken(
  { scrubbing, diversionHook }: Config,
  { group, family, divert }: { readonly group: string; readonly family: 4 | 6; readonly divert: RouteTerms | null },
): boolean {
  const nodes = scrubbing?.nodes ?? [];
  if (diversionHook !== null) return true;
  if (nodes.length > 0) return nodes.some((node) => nextHopFor(node, group, family) !== null);
  return divert !== null && (family === 4 ? divert.nextHop : divert.nextHop6) !== null;
}

/** If there are nodes, they receive the traffic. */
function missing(
  { scrubbing }: Config,
  family: 4 | 6,
  effect: { readonly section: string; readonly nodes: string },
): Finding {
  if ((scrubbing?.nodes ?? []).length > 0) {
    return { path: ["scrubbing", "nodes"], rule: `none takes IPv${family}: ${effect.nodes}` };
  }
  return { path: ["scrubbing", family === 4 ? "next_hop" : "next_hop6"], rule: `is absent: ${effect.section}` };
}
