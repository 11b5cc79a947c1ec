/** Rules between the keys of `filter_rules`, and with `networks` and `dataplane`. */

import { PAYLOAD_BYTES_MAX } from "../../native/constants.ts";
import { PrefixTable } from "../../net/prefix-table.ts";
import type { ConfigPath } from "../../schema/problem.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import { parseAddressOrPrefix, parseHexBytes } from "../../schema/text-forms.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { FilterRuleFile } from "../sections/filter-rules.ts";
import type { ConfigFile } from "../sections/schema.ts";
import { levels } from "./mitigation.ts";

type File = Pruned<ConfigFile>;
type RuleFile = Pruned<FilterRuleFile>;

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

/** Of rules, of profiles and of hostgroups. */
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

/** Of one rule; paths begin at it. @param key of the networks. */
export function* filterRuleFindings(rule: RuleFile, networks: File["networks"], key = "networks"): Generator<Finding> {
  yield* limitFindings(rule);
  yield* protocolFindings(rule);
  yield* payloadFindings(rule);
  yield* destinationFindings(rule, networks, key);
}

function* limitFindings(rule: RuleFile): Generator<Finding> {
  const { action, packets_per_second: packets = 0, mbps = 0 } = rule;
  if (action === "limit" && packets === 0 && mbps === 0) {
    yield { path: ["action"], rule: "limit needs packets_per_second or mbps: the rate that may pass" };
  }
  if (packets > 0 && packets < 1) yield { path: ["packets_per_second"], rule: "must be 0 (no limit) or at least 1" };
  if (mbps > 0 && mbps < 0.001) yield { path: ["mbps"], rule: "must be 0 (no limit) or at least 0.001" };
  for (const key of ["packets_per_second", "mbps", "per", "source_ipv4_length", "source_ipv6_length"] as const) {
    if (action !== undefined && action !== "limit" && rule[key] !== undefined) {
      yield { path: [key], rule: `goes with action limit, not ${action}` };
    }
  }
  for (const key of ["source_ipv4_length", "source_ipv6_length"] as const) {
    if (action === "limit" && rule[key] !== undefined && rule.per !== "source") {
      yield { path: [key], rule: "goes with per: source" };
    }
  }
}

const WITH_PORTS = ["tcp", "udp", "sctp"];

function* protocolFindings(rule: RuleFile): Generator<Finding> {
  const { protocol, handshake } = rule;
  for (const key of ["ports", "source_ports"] as const) {
    if ((rule[key] ?? []).length > 0 && protocol !== undefined && !WITH_PORTS.includes(protocol)) {
      yield { path: [key], rule: `goes with protocol ${WITH_PORTS.join(", ")}, not ${protocol}` };
    }
  }
  for (const key of ["tcp_flags", "tcp_window", "tcp_options"] as const) {
    if (rule[key] === undefined) continue;
    if (protocol !== undefined && protocol !== "tcp")
      yield { path: [key], rule: `goes with protocol tcp, not ${protocol}` };
    if (handshake === "quic") yield { path: [key], rule: "goes with TCP, and QUIC is over UDP" };
  }
  const carrier = handshake === "tls" ? "tcp" : "udp";
  if (handshake !== undefined && protocol !== undefined && IP_PROTOCOL[protocol] !== IP_PROTOCOL[carrier]) {
    yield { path: ["handshake"], rule: `${handshake} is over ${carrier}, not ${protocol}` };
  }
}

function* payloadFindings({ payload = [], handshake }: RuleFile): Generator<Finding> {
  if (handshake !== undefined && payload.length > 0) {
    yield { path: ["payload"], rule: "goes without handshake, which says what the payload begins with" };
  }
  for (const [i, pattern] of payload.entries()) {
    const { offset, bytes, mask } = pattern ?? {};
    const length = bytes === undefined ? undefined : parseHexBytes(bytes)?.length;
    if (length === undefined) continue;
    if (offset !== undefined && offset + length > PAYLOAD_BYTES_MAX) {
      yield { path: ["payload", i, "bytes"], rule: `ends after the first ${PAYLOAD_BYTES_MAX} bytes of the payload` };
    }
    if (mask !== undefined && parseHexBytes(mask)?.length !== length) {
      yield { path: ["payload", i, "mask"], rule: `must be as long as bytes, ${length} bytes` };
    }
  }
}

function* destinationFindings(
  { destinations = [], source }: RuleFile,
  networks: File["networks"],
  key: string,
): Generator<Finding> {
  const from = source === undefined ? null : parseAddressOrPrefix(source);
  const known = (networks ?? []).map((text) => (text === undefined ? null : parseAddressOrPrefix(text)));
  const all = known.filter((prefix) => prefix !== null);
  const table = networks === undefined || all.length < known.length ? null : PrefixTable.of(all);
  for (const [i, text] of destinations.entries()) {
    const prefix = text === undefined ? null : parseAddressOrPrefix(text);
    if (prefix === null) continue;
    const path = ["destinations", i];
    const network = table === null ? undefined : all[table.find(prefix.address)];
    if (table !== null && (network === undefined || network.length > prefix.length)) {
      yield { path, rule: `${prefix.text} lies in none of ${key}: add it there, or correct it` };
    }
    if (from !== null && from.family !== prefix.family) {
      yield { path, rule: `${prefix.text} is of another family than source, ${from.text}` };
    }
  }
}
