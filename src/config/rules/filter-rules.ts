/** Rules between the keys of `filter_rules`, and with `networks` and `dataplane`. */

import { filterRuleFindings } from "../../mitigation/operator/rule-findings.ts";
import type { ConfigPath } from "../../schema/problem.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import type { ConfigFile } from "../sections/schema.ts";
import { levels } from "./mitigation.ts";

type File = Pruned<ConfigFile>;

/** The keys of a service that a scrub node has as well; `networks` are those that destinations lie in. */
type Rules = Pick<File, "filter_rules" | "networks">;

/** Rules of the kernel that one of the operator takes at most: of two rates, for two families. */
const KERNEL_RULES_EACH = 4;

/** @param key of the networks. */
export function* filterRulesAreWhole(file: Rules, key = "networks"): Generator<Finding> {
  const first = new Map<string, number>();
  for (const [i, rule] of (file.filter_rules ?? []).entries()) {
    if (rule === undefined) continue;
    const path: ConfigPath = ["filter_rules", i];
    for (const finding of filterRuleFindings(rule, file.networks, key))
      yield { ...finding, path: [...path, ...finding.path] };
    const other = rule.name === undefined ? undefined : first.get(rule.name);
    if (other !== undefined) yield { path: [...path, "name"], rule: `is there already, as filter_rules[${other}]` };
    else if (rule.name !== undefined) first.set(rule.name, i);
  }
}

export function* filterRulesHaveRoom({ dataplane, filter_rules: rules }: RulesInKernel): Generator<Finding> {
  const most = dataplane?.limits?.max_dynamic_rules;
  const wanted = KERNEL_RULES_EACH * (rules ?? []).length;
  if (most === undefined || most >= wanted) return;
  const rule = `must be at least ${KERNEL_RULES_EACH} for each of filter_rules, ${wanted}, not ${most}`;
  yield { path: ["dataplane", "limits", "max_dynamic_rules"], rule };
}

interface RulesInKernel extends Pick<File, "filter_rules"> {
  readonly dataplane?:
    | { readonly limits?: { readonly max_dynamic_rules?: number | undefined } | undefined }
    | undefined;
}

/** Sets that rules, profiles and hostgroups name. */
export function* setsOfRulesExist(file: File): Generator<Finding> {
  yield* setsExist(file, [...setsOfRules(file), ...setsOfScrub(file)]);
}

/** On a scrub node only rules name sets. */
export function* setsOfFilterRulesExist(file: Pick<File, "filter_rules" | "prefix_sets">): Generator<Finding> {
  yield* setsExist(file, setsOfRules(file));
}

interface NamedSets {
  readonly path: ConfigPath;
  readonly names: readonly (string | undefined)[];
}

function* setsExist({ prefix_sets: sets }: Pick<File, "prefix_sets">, named: Iterable<NamedSets>): Generator<Finding> {
  if (sets?.some((set) => set?.name === undefined) === true) return;
  const known = new Set((sets ?? []).map((set) => set?.name));
  for (const { path, names } of named) {
    for (const [i, name] of names.entries()) {
      if (name === undefined || known.has(name)) continue;
      yield { path: [...path, i], rule: `there is no set ${name} in prefix_sets: add it there, or correct it` };
    }
  }
}

function* setsOfRules(file: Pick<File, "filter_rules">): Generator<NamedSets> {
  for (const [i, rule] of (file.filter_rules ?? []).entries()) {
    for (const key of ["source_sets", "not_source_sets"] as const) {
      yield { path: ["filter_rules", i, key], names: rule?.[key] ?? [] };
    }
  }
}

function* setsOfScrub(file: File): Generator<NamedSets> {
  for (const [i, profile] of (file.scrub_profiles ?? []).entries()) {
    yield { path: ["scrub_profiles", i, "blocked_sets"], names: profile?.blocked_sets ?? [] };
  }
  for (const { level, path } of levels(file)) {
    yield { path: [...path, "scrub", "blocked_sets"], names: level.scrub?.blocked_sets ?? [] };
  }
}

export function* filterRulesNeedTheDataplane({ dataplane, filter_rules: rules }: File): Generator<Finding> {
  if ((rules ?? []).length === 0 || (dataplane !== undefined && dataplane.enabled !== false)) return;
  yield { path: ["filter_rules"], rule: "needs the section dataplane, which drops packets on this machine: add it" };
}
