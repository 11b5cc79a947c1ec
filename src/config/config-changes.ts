/**
 * The changes that a configuration would make, for people: by section, in words where a word says it. Only of what the
 * API shows anyway; never a secret, nor where one is.
 */
import type { RouteTerms } from "../mitigation/mitigation-config.ts";
import { communitiesText } from "../net/community.ts";
import { METRICS, type Thresholds } from "../traffic/rates.ts";
import { changedSections } from "./changed-sections.ts";
import type { Config } from "./config.ts";
import { hostgroupChanges, valueChanges } from "./hostgroup-changes.ts";

interface ConfigChange {
  readonly section: string;
  /** `pps: 1000 → 2000`. Empty: all that is said is that it changes. */
  readonly details: readonly string[];
}

/** Names in one line. */
const NAMES_SHOWN = 10;
/** Details of one reload in a record. */
const CHANGES_RECORDED = 32;

export function configChanges(before: Config, after: Config): ConfigChange[] {
  return changedSections(before, after).map((section) => ({ section, details: detailsOf(section, before, after) }));
}

function detailsOf(section: string, before: Config, after: Config): string[] {
  switch (section) {
    case "networks":
      return listDetails(before.networks, after.networks, ({ text }) => text);
    case "protected_whitelist":
      return listDetails(before.protectedWhitelist, after.protectedWhitelist, ({ text }) => text);
    case "thresholds":
      return [
        ...rateDetails(before.hostgroups[0]?.thresholds, after.hostgroups[0]?.thresholds),
        ...rateDetails(before.hostgroups[0]?.thresholdsOutgoing, after.hostgroups[0]?.thresholdsOutgoing).map(
          (detail) => `outgoing ${detail}`,
        ),
      ];
    case "hostgroups":
      return groupDetails(before, after);
    case "maintenance":
      return listDetails(before.maintenance, after.maintenance, ({ name }) => name);
    case "order_templates":
      return listDetails(before.orderTemplates, after.orderTemplates, ({ name }) => name);
    case "filter_rules":
      return listDetails(before.filterRules, after.filterRules, ({ name }) => name);
    case "prefix_sets":
      return listDetails(before.prefixSets, after.prefixSets, ({ name }) => name);
    case "bgp":
      return bgpDetails(before, after);
    case "scrubbing":
      return scrubbingDetails(before, after);
    default:
      return valueChanges(VALUES[section]?.(before), VALUES[section]?.(after));
  }
}

/** The values of sections without lists and secrets. */
const VALUES: Readonly<Record<string, (config: Config) => unknown>> = {
  dry_run: ({ dryRun }) => dryRun,
  dry_run_directions: ({ mitigations }) => mitigations[0]?.dryRunDirections.join(", ") || "none",
  mitigation: ({ mitigations }) => mitigations[0]?.method,
  escalation: ({ mitigations }) =>
    mitigations[0]?.ladder
      .map(
        ({ action, afterSeconds, unlessHeld }) => `${action} at ${afterSeconds} s${unlessHeld ? " unless held" : ""}`,
      )
      .join(", "),
  flowspec: ({ mitigations }) => mitigations[0]?.flowspec,
  ban: ({ ban, mitigations: [global] }) => ({ ...ban, ...global?.ban }),
  "ban.order_methods": ({ mitigations: [global] }) => global?.orderMethods.join(", "),
  baseline: ({ hostgroups }) => hostgroups[0]?.baseline,
  carpet: ({ carpet }) => carpet,
};

function bgpDetails(before: Config, after: Config): string[] {
  const [was, is] = [bgpParts(before), bgpParts(after)];
  return [
    ...itemDetails(was.neighbors, is.neighbors, ({ address }) => address).map((detail) => `neighbors ${detail}`),
    ...itemDetails(was.policies, is.policies, ({ name }) => name).map((detail) => `policies ${detail}`),
    ...valueChanges(was.values, is.values),
  ];
}

function scrubbingDetails(before: Config, after: Config): string[] {
  const nodesOf = ({ scrubbing }: Config) => scrubbing?.nodes ?? [];
  const termsOf = ({ mitigations: [global] }: Config) => {
    const { nextHop, nextHop6, communities = [], localPref } = global?.divert ?? {};
    const words = { nextHop, nextHop6, localPref, communities: communitiesText(communities) };
    return { ...words, ...announcedLengths(global?.divert) };
  };
  return [
    ...itemDetails(nodesOf(before), nodesOf(after), ({ name }) => name).map((detail) => `nodes ${detail}`),
    ...valueChanges(termsOf(before), termsOf(after)),
  ];
}

/** As in the file. */
function announcedLengths(terms: RouteTerms | null | undefined) {
  return { announce_v4: terms?.enclosing?.[4]?.length, announce_v6: terms?.enclosing?.[6]?.length };
}

function bgpParts({ bgp, mitigations: [global] }: Config): BgpParts {
  const { neighbors, policies, communities, ...rest } = bgp ?? { neighbors: [], policies: [], communities: [] };
  const named = neighbors.map(({ policy, ...neighbor }) => ({ ...neighbor, policy: policy?.name }));
  const values = { ...rest, communities: communitiesText(communities), ...announcedLengths(global?.blackhole) };
  return { neighbors: named, policies, values };
}

interface BgpParts {
  readonly neighbors: readonly { readonly address: string }[];
  readonly policies: readonly { readonly name: string }[];
  readonly values: object;
}

function groupDetails(before: Config, after: Config): string[] {
  const of = ({ hostgroups, mitigations }: Config) =>
    new Map(hostgroups.map((group, i) => [group.name, { group, mitigation: mitigations[i] }] as const).slice(1));
  const [was, is] = [of(before), of(after)];
  const details = [
    ...namesDetail(
      "added",
      [...is.keys()].filter((name) => !was.has(name)),
    ),
    ...namesDetail(
      "removed",
      [...was.keys()].filter((name) => !is.has(name)),
    ),
    ...[...is].flatMap(([name, group]) => {
      const known = was.get(name);
      return known === undefined ? [] : hostgroupChanges(known, group);
    }),
  ];
  return details.length === 0 ? ["what they inherit, or their order"] : details;
}

/** In one list, for records: `hostgroups: web: thresholds.pps: 1000 → 2000`. */
export function changeTexts(changes: readonly ConfigChange[]): string[] {
  const all = changes.flatMap(({ section, details }) => details.map((detail) => `${section}: ${detail}`));
  const more = all.length > CHANGES_RECORDED ? [`and ${all.length - CHANGES_RECORDED} more`] : [];
  return [...all.slice(0, CHANGES_RECORDED), ...more];
}

/** Without thresholds nothing is judged. */
function rateDetails(before: Thresholds | null | undefined, after: Thresholds | null | undefined): string[] {
  return METRICS.flatMap((metric, i) => {
    const [was, is] = [before?.[i] ?? 0, after?.[i] ?? 0];
    return was === is ? [] : [`${metric}: ${was === 0 ? "none" : was} → ${is === 0 ? "none" : is}`];
  });
}

function listDetails<T>(before: readonly T[], after: readonly T[], nameOf: (item: T) => string): string[] {
  const details = itemDetails(before, after, nameOf);
  return details.length === 0 ? ["what they inherit, or their order"] : details;
}

function itemDetails<T>(before: readonly T[], after: readonly T[], nameOf: (item: T) => string): string[] {
  const [was, is] = [textsByName(before, nameOf), textsByName(after, nameOf)];
  const added = [...is.keys()].filter((name) => !was.has(name));
  const removed = [...was.keys()].filter((name) => !is.has(name));
  const changed = [...is].flatMap(([name, text]) => (was.has(name) && was.get(name) !== text ? [name] : []));
  return [...namesDetail("added", added), ...namesDetail("removed", removed), ...namesDetail("changed", changed)];
}

function textsByName<T>(items: readonly T[], nameOf: (item: T) => string): Map<string, string> {
  return new Map(items.map((item) => [nameOf(item), JSON.stringify(item)]));
}

function namesDetail(verb: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : "";
  return [`${verb}: ${names.slice(0, NAMES_SHOWN).join(", ")}${more}`];
}
