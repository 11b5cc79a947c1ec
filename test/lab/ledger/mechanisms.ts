/**
 * What may keep packets from a victim of the ledger, alone and in pairs: each has a victim of its own, so that one
 * configuration has them all. Pure.
 */
import type { DropCause } from "../../../src/detection/attack/attack-volume.ts";

export const MECHANISMS = ["ban", "rule", "rule limit", "prefix set", "block", "limit", "proof"] as const;
export type Mechanism = (typeof MECHANISMS)[number];

export const CAUSES_OF: Readonly<Record<Mechanism, readonly DropCause[]>> = {
  // A ban's rules may limit a rate, and the ban's limit may be reached.
  ban: ["rules", "limits"],
  rule: ["filter_rules"],
  "rule limit": ["filter_rules"],
  "prefix set": ["filter_rules"],
  block: ["source_blocks"],
  limit: ["limits"],
  proof: ["answered", "unproved", "limits"],
};

/** Every flood has these sources, as many packets of each: three mechanisms have one of their own. */
export const FIRST_SOURCE = "198.18.0.2";
export const SOURCES = 4;
export const SOURCE_OF = { rule: FIRST_SOURCE, block: "198.18.0.3", "prefix set": "198.18.0.4" } as const;
const SET = "blocked";

export interface Victim {
  readonly address: string;
  readonly tenant: string;
  readonly mechanisms: readonly Mechanism[];
}

const FIRST_VICTIM = 128;
/** The hostgroups' tenants, in turn. */
export const TENANTS = ["acme", "globex"] as const;

/** One without any, each mechanism alone, and each pair. */
export const VICTIMS: readonly Victim[] = [
  [],
  ...MECHANISMS.map((one) => [one]),
  ...MECHANISMS.flatMap((one, i) => MECHANISMS.slice(i + 1).map((other) => [one, other])),
].map((mechanisms, i) => ({
  address: `203.0.113.${FIRST_VICTIM + i}`,
  tenant: TENANTS[i % TENANTS.length] as string,
  mechanisms,
}));

export function nameOf({ mechanisms }: Pick<Victim, "mechanisms">): string {
  return mechanisms.length === 0 ? "nothing" : mechanisms.join(", ");
}

/** Beside what always applies, a ban whose first rung does nothing for longer than a flood lasts. */
const NO_BAN = "escalation: [{ after_seconds: 0, action: none }, { after_seconds: 600, action: blackhole }]";

function hostgroup({ address, tenant, mechanisms }: Victim): string {
  const has = (mechanism: Mechanism) => mechanisms.includes(mechanism);
  const scrub = [
    `tcp: ${has("proof") ? "transparent" : '"off"'}`,
    ...(has("limit") ? ["source_packets_per_second: 300"] : []),
    ...(has("limit") || has("proof") ? ["always: true"] : []),
  ];
  const ban = has("ban") ? "mitigation: scrub" : NO_BAN;
  const keys = [`name: h${address.split(".")[3]}`, `tenant: ${tenant}`, `networks: [${address}/32]`];
  return `  - { ${[...keys, ban, `scrub: { ${scrub.join(", ")} }`].join(", ")} }`;
}

/** Sections of the configuration. @param setFile where the prefix set's prefixes are. */
export function sectionsOf(setFile: string): string {
  const of = (mechanism: Mechanism) =>
    VICTIMS.filter(({ mechanisms }) => mechanisms.includes(mechanism)).map(({ address }) => address);
  const rule = (mechanism: Mechanism, keys: string) =>
    `  - { name: ${mechanism.replace(" ", "-")}, destinations: [${of(mechanism).join(", ")}], ${keys} }`;
  return `
hostgroups:
${VICTIMS.map(hostgroup).join("\n")}
prefix_sets:
  - { name: ${SET}, file: ${setFile}, shortest_prefix: 8 }
filter_rules:
${rule("rule", `action: drop, source: ${SOURCE_OF.rule}/32`)}
${rule("prefix set", `action: drop, source_sets: [${SET}]`)}
${rule("rule limit", "action: limit, per: source, packets_per_second: 400")}
`;
}
