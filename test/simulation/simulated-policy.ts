/** The configurations of the simulation, drawn at random, and what they say of an address, in words of their own. */
import type { IpAddress } from "../../src/net/address.ts";
import type { Chance } from "../fixtures/seeded-random.ts";
import { ASN, NEIGHBORS } from "./simulated-speaker.ts";
import { FLOOR, THRESHOLDS } from "./simulated-traffic.ts";

export const TTL_SECONDS_MAX = 900;
export const HOLD_SECONDS_MAX = 1200;
export const HYSTERESIS_SECONDS_MAX = 60;
export const SUSTAIN_SECONDS_MAX = 3;

const LADDERS = [
  [
    [0, "none"],
    [20, "flowspec"],
    [90, "blackhole"],
  ],
  [
    [0, "flowspec"],
    [30, "divert"],
    [120, "blackhole"],
  ],
] as const;

interface Network {
  readonly prefix: string;
  /** Of the text of all its addresses. */
  readonly start: string;
  readonly isAlways: boolean;
}

const NETWORKS: readonly Network[] = [
  { prefix: "192.0.2.0/24", start: "192.0.2.", isAlways: true },
  { prefix: "198.51.100.0/24", start: "198.51.100.", isAlways: true },
  { prefix: "203.0.113.0/24", start: "203.0.113.", isAlways: false },
  { prefix: "2001:db8:1::/48", start: "2001:db8:1:", isAlways: false },
];

export interface SimulatedPolicy {
  readonly isDryRun: boolean;
  readonly maxActiveBans: number;
  readonly networks: readonly Network[];
  readonly whitelist: readonly string[];
  readonly yaml: string;
}

export function isWhitelisted({ whitelist }: SimulatedPolicy, ip: IpAddress): boolean {
  return whitelist.includes(ip);
}

export function isInNetworks({ networks }: SimulatedPolicy, ip: IpAddress): boolean {
  return networks.some(({ start }) => ip.startsWith(start));
}

/** Its hosts are judged by their sum. */
export function isInTotalGroup(ip: IpAddress): boolean {
  return /^198\.51\.100\.1[2-5]\d$/.test(ip);
}

export function drawPolicy(chance: Chance, stateDir: string): SimulatedPolicy {
  const isDryRun = chance.oneIn(8);
  const maxActiveBans = 3 + chance.below(8);
  const networks = NETWORKS.filter(({ isAlways }) => isAlways || !chance.oneIn(5));
  const whitelist = ["192.0.2.53", ...(chance.oneIn(4) ? ["192.0.2.3", "198.51.100.2"] : [])];
  const yaml = `
dry_run: ${isDryRun}
state_dir: ${stateDir}
networks: ${JSON.stringify(networks.map(({ prefix }) => prefix))}
protected_whitelist: ${JSON.stringify(whitelist)}
capture: { interfaces: [{ name: sim0, mode: mirror }], max_hosts: 256 }
detection: { window_ms: 1000, tick_ms: 1000, sustain_ms: ${chance.oneOf([0, 0, SUSTAIN_SECONDS_MAX * 1000])} }
thresholds: ${JSON.stringify(THRESHOLDS)}
thresholds_outgoing: ${JSON.stringify(THRESHOLDS)}
samples: { enabled: ${!chance.oneIn(5)} }
storage: { driver: none }
${baseline(chance)}${carpet(chance)}${mitigation(chance)}
ban:
  ttl_seconds: ${chance.oneOf([30, 300, TTL_SECONDS_MAX])}
  unban_hysteresis_seconds: ${chance.oneOf([0, 10, HYSTERESIS_SECONDS_MAX])}
  max_active_bans: ${maxActiveBans}
  max_banned_fraction: ${chance.oneOf([0, 0, 0.01])}
  fallback: ${chance.oneOf(["none", "flowspec", "divert", "blackhole"])}
  cooldown_seconds: ${chance.oneOf([0, 120])}
  repeat_window_seconds: ${chance.oneOf([0, 300])}
  repeat_hold_seconds: 60
  repeat_hold_max_seconds: ${HOLD_SECONDS_MAX}
flowspec: ${chance.oneOf(["{ action: discard }", "{ action: rate_limit, rate_mbps: 5 }", "{ source_anchored: true }"])}
scrubbing: { next_hop: 10.0.0.2, communities: ["64500:2"], nodes: [] }
hostgroups:
  - { name: web, networks: [198.51.100.0/25], mitigation: ${chance.oneOf(["blackhole", "flowspec", "divert"])} }
  - { name: pool, networks: [198.51.100.128/25], calculation: total }
bgp:
  local_asn: ${ASN}
  router_id: 10.0.0.9
  next_hop: 10.0.0.1
  communities: ["65535:666"]
  local_pref: ${chance.oneOf([0, 200])}
  neighbors: [${NEIGHBORS.map(({ address }) => `{ address: ${address}, remote_asn: ${ASN} }`).join(", ")}]
`;
  return { isDryRun, maxActiveBans, networks, whitelist, yaml };
}

function baseline(chance: Chance): string {
  if (chance.oneIn(4)) return "";
  const floor = JSON.stringify(FLOOR);
  return `baseline: { factor: 3, half_life_seconds: ${chance.oneOf([60, 3600])}, warmup_seconds: 60, floor: ${floor} }\n`;
}

function carpet(chance: Chance): string {
  if (chance.oneIn(3)) return "";
  const method = chance.oneOf(["none", "blackhole", "flowspec", "divert"]);
  return `carpet: { prefix_v4: 28, min_hosts: 8, mitigation: ${method}, thresholds: { pps: 4000 } }\n`;
}

function mitigation(chance: Chance): string {
  if (!chance.oneIn(2)) return `mitigation: ${chance.oneOf(["blackhole", "flowspec", "divert"])}`;
  const rungs = chance.oneOf(LADDERS).map(([after, action]) => `{ after_seconds: ${after}, action: ${action} }`);
  return `escalation: [${rungs.join(", ")}]`;
}
