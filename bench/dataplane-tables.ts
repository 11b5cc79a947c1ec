/** The source pairs and rules of the data plane's bench, and the addresses of its floods. */

import type { KernelRule } from "../src/mitigation/rules/kernel-rule.ts";
import { type Rule, wideRule } from "../src/mitigation/rules/rule.ts";
import type { IpAddress } from "../src/net/address.ts";
import { hostPrefix } from "../src/net/prefix.ts";
import { exactly } from "../src/net/range.ts";
import type { KernelPair } from "../src/sourceblock/pair-installer.ts";
import { address } from "../test/fixtures/host-rows.ts";

export const PAIRS = 100_000;
const RULES = 4096;
/** The maximum for one attack. */
const RULES_OF_VICTIM = 8;
export const BOUNDS = {
  xdpMode: "native",
  maxPairs: PAIRS,
  maxRules: RULES,
  maxPrefixes: 1024,
  maxSources: 1024,
} as const;
export const VICTIM = "10.1.0.1";
export const RULE_VICTIMS = { target: "10.2.0.0", hosts: RULES / RULES_OF_VICTIM } as const;

/** The first address of the traffic source; the others follow. */
const FIRST_SOURCE = 0xc6120001;
const FIRST_RULE_VICTIM = 0x0a020000;
const UDP = 17;
const DISCARD = { kind: "discard" } as const;
const HOUR_MS = 3_600_000;

/** Wall time, ms. */
export function later(): number {
  return Date.now() + HOUR_MS;
}

function ipv4(number: number): IpAddress {
  return address([24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join("."));
}

export const WIDE_RULE: Rule = wideRule(hostPrefix(address(VICTIM)), DISCARD);

/** The flood's sources, starting with number `first`. */
export function pairsTo(victim: string, first: number, count: number): KernelPair[] {
  const expiresAtMs = later();
  return Array.from({ length: count }, (_, i) => ({
    source: ipv4(FIRST_SOURCE + first + i),
    victim: address(victim),
    expiresAtMs,
  }));
}

/** Only the last rule of a victim matches the flood. `turn` selects different rules. */
export function rulesFor(turn = 0): KernelRule[] {
  const expiresAtMs = later();
  return Array.from({ length: RULES }, (_, i) => {
    const which = i % RULES_OF_VICTIM;
    const destination = hostPrefix(ipv4(FIRST_RULE_VICTIM + Math.floor(i / RULES_OF_VICTIM)));
    const narrow = { ...wideRule(destination, DISCARD), protocols: exactly(UDP) };
    const port = 1 + which;
    const isLast = which === RULES_OF_VICTIM - 1;
    const length = { min: 20 + turn, max: 65_535 };
    const rule = isLast ? narrow : { ...narrow, sourcePorts: [{ from: port, to: port }], packetLength: length };
    return { id: `${turn}-${i}`, rule, expiresAtMs };
  });
}
