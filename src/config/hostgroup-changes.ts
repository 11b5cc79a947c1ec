/** Differences between two versions of a hostgroup or another section, by key: `web: thresholds.pps: 1000 → 2000`. */
import type { Hostgroup } from "../detection/hostgroup.ts";
import type { GroupMitigation } from "../mitigation/mitigation-config.ts";
import { METRICS, type Thresholds } from "../traffic/rates.ts";

interface WholeGroup {
  readonly group: Hostgroup;
  readonly mitigation: GroupMitigation | undefined;
}

/** Keys of one hostgroup, and characters of one value. */
const KEYS_SHOWN = 8;
const VALUE_CHARACTERS = 60;

export function hostgroupChanges(before: WholeGroup, after: WholeGroup): string[] {
  const details = [...networkChanges(before.group, after.group), ...leafChanges(leavesOf(before), leavesOf(after))];
  return details.map((text) => `${after.group.name}: ${text}`);
}

/** The same of a mapping, a list or a single value: `ttl_seconds: 60 → 90`, or `true → false`. */
export function valueChanges(before: unknown, after: unknown): string[] {
  const [was, is] = [new Map<string, string>(), new Map<string, string>()];
  add(was, "", before);
  add(is, "", after);
  return leafChanges(was, is);
}

function leafChanges(was: ReadonlyMap<string, string>, is: ReadonlyMap<string, string>): string[] {
  const keys = [...new Set([...was.keys(), ...is.keys()])].filter((key) => was.get(key) !== is.get(key));
  const shown = keys
    .slice(0, KEYS_SHOWN)
    .map((key) => `${key === "" ? "" : `${key}: `}${changeOf(shortened(was.get(key)), shortened(is.get(key)))}`);
  return keys.length > KEYS_SHOWN ? [...shown, `and ${keys.length - KEYS_SHOWN} more keys`] : shown;
}

/** By the key as in the file, as far as it has one. */
function leavesOf({ group, mitigation }: WholeGroup): Map<string, string> {
  const { networks: _, name: _name, thresholds, thresholdsOutgoing, ...rest } = group;
  const leaves = new Map<string, string>();
  add(leaves, "thresholds", byMetric(thresholds));
  add(leaves, "thresholds_outgoing", thresholdsOutgoing === null ? null : byMetric(thresholdsOutgoing));
  add(leaves, "", rest);
  if (mitigation === undefined) return leaves;
  const { method, ladder, hasEscalation, ...others } = mitigation;
  add(leaves, "", { ...others, mitigation: method, escalation: hasEscalation ? ladder : null });
  return leaves;
}

function byMetric(thresholds: Thresholds): Record<string, number> {
  return Object.fromEntries(
    METRICS.map((metric, i) => [metric, thresholds[i] ?? 0] as const).filter(([, at]) => at > 0),
  );
}

function add(leaves: Map<string, string>, key: string, value: unknown): void {
  if (value === null || value === undefined) return;
  if (typeof value !== "object" || Array.isArray(value)) {
    leaves.set(key, typeof value === "string" ? value : JSON.stringify(value));
    return;
  }
  for (const [name, own] of Object.entries(value)) {
    const word = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    add(leaves, key === "" ? word : `${key}.${word}`, own);
  }
}

function networkChanges(before: Hostgroup, after: Hostgroup): string[] {
  const [was, is] = [before, after].map(({ networks }) => new Set(networks.map(({ text }) => text)));
  const list = (verb: string, texts: ReadonlySet<string> | undefined) => {
    const [first, ...others] = [...(texts ?? [])];
    if (first === undefined) return [];
    return [`networks: ${verb} ${first}${others.length > 0 ? ` and ${others.length} more` : ""}`];
  };
  return [...list("added", is?.difference(was ?? new Set())), ...list("removed", was?.difference(is ?? new Set()))];
}

function shortened(value: string | undefined): string {
  if (value === undefined) return "none";
  return value.length > VALUE_CHARACTERS ? `${value.slice(0, VALUE_CHARACTERS)}…` : value;
}

/** Long values may differ only where they are cut. */
function changeOf(before: string, after: string): string {
  return before === after ? "changed" : `${before} → ${after}`;
}
