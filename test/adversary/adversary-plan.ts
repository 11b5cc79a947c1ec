/** What an attacker does, what fails meanwhile, and what the operator has configured: drawn at random. */
import type { Holder } from "../../src/access/shares.ts";
import { address } from "../fixtures/host-rows.ts";
import type { Chance } from "../fixtures/seeded-random.ts";
import { ASN, NEIGHBORS } from "../simulation/simulated-speaker.ts";

/** Of the large flood at the end. */
export const VICTIM = address("198.18.3.77");
export const FLOOD_PPS = 20e6;
export const THRESHOLD_PPS = 100_000;
export const FLOOR_PPS = 1000;
export const WARMUP_SECONDS = 60;
/** Addresses that the service itself needs, and one that the operator protects. */
export const OWN = ["198.18.0.9", "198.18.0.10", "198.18.0.11"];
const [NEXT_HOP, ROUTER_ID, WHITELISTED] = OWN;

export const OWN_FLOOD = "flood around own addresses";
export const HOSTILE_ORDER = "order of a hostile tenant";
export const TROUBLES = [
  "speaker dies",
  "speaker freezes",
  "disk full",
  "disk slow",
  "no descriptors",
  "kill",
  "stop",
] as const;
export type Trouble = (typeof TROUBLES)[number];

export interface AdversaryPlan {
  /** Also the interval of detection. */
  readonly stepMs: number;
  /** Before the flood. */
  readonly leadMs: number;
  readonly floodMs: number;
  readonly pulse: { readonly onMs: number; readonly periodMs: number };
  readonly pulsed: number;
  readonly pulsePps: number;
  /** The flooded host is first raised slowly, always below its limit. */
  readonly hugs: boolean;
  /** Between two small attacks on ever other hosts; null: none. */
  readonly decoyEveryMs: number | null;
  /** New destinations of spoofed packets in each step. */
  readonly sprayed: number;
  readonly floodsOwn: boolean;
  readonly troubles: readonly Trouble[];
  /** Mean time between troubles. */
  readonly troubleEveryMs: number;
  readonly services: number;
  readonly maxActiveBans: number;
  readonly hysteresisSeconds: number;
  readonly repeatWindowSeconds: number;
  readonly mitigation: "blackhole" | "flowspec";
  readonly factor: number;
  readonly halfLifeSeconds: number;
  readonly hasCarpet: boolean;
  /** Orders of a tenant with each step, which turns hostile; 0: there is none. */
  readonly hostileOrders: number;
}

export function drawPlan(chance: Chance): AdversaryPlan {
  const periodMs = Math.round(chance.logarithmic(100, 600_000));
  const stepMs = periodMs < 2000 ? 100 : periodMs < 20_000 ? 250 : 1000;
  const leadMs = Math.max(stepMs * 150, Math.ceil((1.2 * periodMs) / stepMs) * stepMs);
  return {
    stepMs,
    leadMs,
    floodMs: 40 * Math.min(stepMs, 500),
    pulse: { periodMs, onMs: Math.max(1, Math.round(periodMs * (0.05 + 0.9 * chance.random()))) },
    pulsed: 1 + chance.below(4),
    pulsePps: chance.logarithmic(THRESHOLD_PPS / 2, FLOOD_PPS / 2),
    hugs: stepMs === 1000,
    decoyEveryMs: chance.oneIn(2) ? null : Math.round(chance.logarithmic(stepMs, 20 * stepMs)),
    sprayed: chance.oneOf([0, 5, 20]),
    floodsOwn: chance.oneIn(2),
    troubles: TROUBLES.filter(() => chance.oneIn(3)),
    troubleEveryMs: chance.logarithmic(leadMs / 20, leadMs),
    services: chance.oneIn(3) ? 2 : 1,
    maxActiveBans: chance.oneOf([1, 5, 50]),
    hysteresisSeconds: chance.oneOf([5, 10, 30]),
    repeatWindowSeconds: chance.oneOf([0, 600]),
    mitigation: chance.oneOf(["blackhole", "flowspec"]),
    factor: chance.oneOf([1.5, 2, 3]),
    halfLifeSeconds: chance.oneOf([60, 600, 3600]),
    hasCarpet: chance.oneIn(2),
    hostileOrders: chance.oneOf([0, 0, 1, 20]),
  };
}

/** The tenant that turns hostile, its token and the first two numbers of its addresses. */
export const HOSTILE: Holder = { operator: "hostile", tenant: "hostile" };
export const HOSTILE_ADDRESSES = "198.18.192";

/** @param instance number of the service among those of its speaker. */
export function adversaryYaml(
  plan: AdversaryPlan,
  { stateDir, instance }: { stateDir: string; instance: number },
): string {
  const { stepMs, hysteresisSeconds, repeatWindowSeconds, mitigation, factor, halfLifeSeconds, hasCarpet } = plan;
  const floor = `{ pps: ${FLOOR_PPS}, mbps: 100, flows_per_sec: 1000 }`;
  return `
dry_run: false
state_dir: ${stateDir}
networks: [198.18.0.0/15]
protected_whitelist: [${WHITELISTED}]
capture: { interfaces: [{ name: sim0, mode: mirror }], max_hosts: 1024 }
detection: { window_ms: 1000, tick_ms: ${stepMs} }
api:
  tokens:
    - { name: noc, token_env: NOC, role: operator }
    - { name: hostile, token_env: HOSTILE, role: operator, tenant: hostile }
    - { name: other, token_env: OTHER, role: operator, tenant: other }
hostgroups: [{ name: hostile, networks: [${HOSTILE_ADDRESSES}.0/24], tenant: hostile }]
thresholds: { pps: ${THRESHOLD_PPS}, mbps: 1000000, flows_per_sec: 1000000 }
baseline: { factor: ${factor}, half_life_seconds: ${halfLifeSeconds}, warmup_seconds: ${WARMUP_SECONDS}, floor: ${floor} }
${hasCarpet ? "carpet: { prefix_v4: 28, min_hosts: 8, mitigation: blackhole, thresholds: { pps: 400000 } }" : ""}
mitigation: ${mitigation}
storage: { driver: none }
dataplane: { interfaces: [sim1], pin_path: ${stateDir}/pins }
ban:
  max_active_bans: ${plan.maxActiveBans}
  ttl_seconds: 86400
  unban_hysteresis_seconds: ${hysteresisSeconds}
  repeat_window_seconds: ${repeatWindowSeconds}
  repeat_hold_seconds: 20
  repeat_hold_max_seconds: 40
bgp:
  local_asn: ${ASN}
  instance: ${instance}
  router_id: ${ROUTER_ID}
  next_hop: ${NEXT_HOP}
  communities: ["65535:666"]
  neighbors: [${NEIGHBORS.map((one) => `{ address: ${one.address}, remote_asn: ${ASN} }`).join(", ")}]
`;
}
