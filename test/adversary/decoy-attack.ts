/**
 * An attacker who knows the code: small attacks on ever other hosts reach every bound of the service, then a flood
 * begins on another host. The whole service runs on simulated time, beside a simulated speaker.
 */
import { type Ban, banChangeKind } from "../../src/mitigation/ban.ts";
import { plainOrder } from "../../src/mitigation/order/ban-order.ts";
import type { IpAddress } from "../../src/net/address.ts";
import { address } from "../fixtures/host-rows.ts";
import { Chance, seededRandom } from "../fixtures/seeded-random.ts";
import { TemporaryFolder } from "../fixtures/temporary-folder.ts";
import { simulatedNative } from "../simulation/simulated-counter.ts";
import { SimulatedService } from "../simulation/simulated-service.ts";
import { ASN, NEIGHBORS, SimulatedSpeaker } from "../simulation/simulated-speaker.ts";
import { DecoyTraffic, STEP_MS } from "./decoy-traffic.ts";

const FLOOD_PPS = 20e6;
const FLOOD_MS = 30_000;
/** The largest attack is the flood, by more than what makes bans replace one another. */
const DECOY_PPS_MAX = FLOOD_PPS / 1.5;
const GROUPS = 16;
const WALL_MS = Date.UTC(2026, 0, 1);

/** How the attacker proceeds, and what the operator has configured. */
export interface DecoyPlan {
  readonly everyMs: number;
  readonly pulseMs: number;
  /** After its pulse a decoy stays just above its threshold for this time. */
  readonly lingerMs: number;
  /** Number of addresses that the decoys take turns on. */
  readonly addresses: number;
  /** Largest rate of a decoy; the least is just above its threshold. */
  readonly decoyPpsMax: number;
  readonly maxActiveBans: number;
  readonly manualBans: number;
  readonly hasGroups: boolean;
  readonly hysteresisSeconds: number;
  readonly repeatWindowSeconds: number;
  /** Packets are counted behind the routers that drop them: a ban hides its attack. */
  readonly isHidden: boolean;
  readonly leadMs: number;
}

export function drawPlan(chance: Chance): DecoyPlan {
  const everyMs = Math.round(chance.logarithmic(50, 60_000));
  const maxActiveBans = chance.oneOf([1, 5, 50, 200]);
  return {
    everyMs,
    pulseMs: Math.round(chance.logarithmic(100, 10_000)),
    lingerMs: chance.oneOf([0, 0, 5000, 60_000]),
    addresses: chance.oneOf([8, 100, 60_000, 60_000]),
    decoyPpsMax: chance.logarithmic(200_000, DECOY_PPS_MAX),
    maxActiveBans,
    manualBans: chance.oneIn(3) ? chance.below(maxActiveBans) : 0,
    hasGroups: chance.oneIn(2),
    hysteresisSeconds: chance.oneOf([10, 120, 600]),
    repeatWindowSeconds: chance.oneOf([0, 600]),
    isHidden: chance.oneIn(2),
    // Slow decoys need few bans to reach a cap of one, fast ones reach the bound of attacks.
    leadMs: everyMs < 1000 ? 60_000 : 150_000,
  };
}

export interface DecoyOutcome {
  readonly decoys: number;
  readonly attacks: number;
  readonly replacedBans: number;
  readonly replacedAttacks: number;
  /** The longest time without a route for the flooded host while the flood lasts, ms. */
  readonly longestGapMs: number;
  readonly gaps: number;
  readonly errors: readonly string[];
}

export async function attackWithDecoys(seed: number): Promise<{ plan: DecoyPlan; outcome: DecoyOutcome }> {
  const chance = new Chance(seededRandom(seed));
  const plan = drawPlan(chance);
  using directory = new TemporaryFolder("decoys");
  let attack: DecoyAttack | null = null;
  try {
    attack = new DecoyAttack(plan, chance, directory.path);
    return { plan, outcome: await attack.run() };
  } finally {
    attack?.close();
  }
}

class DecoyAttack {
  readonly #plan: DecoyPlan;
  readonly #chance: Chance;
  readonly #traffic = new DecoyTraffic();
  readonly #errors: string[] = [];
  readonly #speaker: SimulatedSpeaker;
  readonly #process: SimulatedService;
  readonly #thresholds: readonly number[];
  #nowMs = 0;
  #decoys = 0;
  #attacks = 0;
  #replacedBans = 0;

  constructor(plan: DecoyPlan, chance: Chance, directory: string) {
    this.#plan = plan;
    this.#chance = chance;
    this.#thresholds = Array.from({ length: GROUPS }, () => Math.round(chance.logarithmic(100, 100_000)));
    this.#speaker = new SimulatedSpeaker({
      wallMs: () => WALL_MS + this.#nowMs,
      deadline: () => new Promise(() => {}),
      onPath: () => {},
    });
    this.#process = new SimulatedService({
      directory,
      yaml: this.#yaml(directory),
      wallMs: WALL_MS,
      native: simulatedNative(this.#traffic),
      speaker: this.#speaker,
      onError: (line) => this.#errors.push(line),
    });
    this.#process.floodwall.onBanChange((change) => {
      if (banChangeKind(change) === "withdrawn" && isReplaced(change.ban)) this.#replacedBans++;
    });
    this.#process.floodwall.onAttackEvent(({ kind }) => {
      if (kind === "started") this.#attacks++;
    });
    for (let i = 0; i < plan.manualBans; i++)
      void this.#process.service.ban(plainOrder(address(`198.18.255.${i % 250}`)));
  }

  async run(): Promise<DecoyOutcome> {
    const { leadMs } = this.#plan;
    const flooded = address("198.18.3.77");
    let dueMs = 0;
    let gapMs = 0;
    let longestGapMs = 0;
    let gaps = 0;
    for (; this.#nowMs < leadMs + FLOOD_MS; ) {
      for (; dueMs <= this.#nowMs; dueMs += this.#plan.everyMs) this.#beginDecoy();
      if (this.#nowMs === leadMs) {
        const endsAtMs = leadMs + FLOOD_MS;
        this.#traffic.begin({ ip: flooded, pps: FLOOD_PPS, packetBytes: 64, endsAtMs, linger: null });
      }
      await this.#step();
      if (this.#nowMs <= leadMs) continue;
      if (this.#isRouted(flooded)) gapMs = 0;
      else {
        if (gapMs === 0) gaps++;
        gapMs += STEP_MS;
      }
      longestGapMs = Math.max(longestGapMs, gapMs);
    }
    const replacedAttacks = this.#process.floodwall.packetPath?.detection.replaced ?? 0;
    return {
      decoys: this.#decoys,
      attacks: this.#attacks,
      replacedBans: this.#replacedBans,
      replacedAttacks,
      longestGapMs,
      gaps,
      errors: this.#errors,
    };
  }

  close(): void {
    this.#process.state.close();
  }

  async #step(): Promise<void> {
    this.#nowMs += STEP_MS;
    this.#traffic.pass(this.#nowMs, (ip) => this.#plan.isHidden && this.#isRouted(ip));
    await this.#process.advance(STEP_MS);
  }

  #isRouted(ip: IpAddress): boolean {
    return this.#speaker.isOut(`${ip}/32`);
  }

  #beginDecoy(): void {
    const { addresses, hasGroups, decoyPpsMax, pulseMs, lingerMs } = this.#plan;
    const number = this.#decoys++ % addresses;
    const group = number % GROUPS;
    const threshold = hasGroups ? (this.#thresholds[group] as number) : 100_000;
    const host = Math.floor(number / GROUPS);
    const times = this.#chance.logarithmic(1.05, Math.max(1.1, decoyPpsMax / threshold));
    const endsAtMs = this.#nowMs + pulseMs;
    this.#traffic.begin({
      ip: address(`198.19.${group * 16 + (host >> 8)}.${host & 0xff}`),
      // A pulse shorter than the window has to be stronger to cross the threshold.
      pps: Math.min(DECOY_PPS_MAX, times * threshold * Math.max(1, 1000 / pulseMs)),
      packetBytes: this.#chance.oneOf([64, 64, 700]),
      endsAtMs,
      linger: lingerMs === 0 ? null : { pps: 1.05 * threshold, endsAtMs: endsAtMs + lingerMs },
    });
  }

  #yaml(stateDir: string): string {
    const { maxActiveBans, hasGroups, hysteresisSeconds, repeatWindowSeconds } = this.#plan;
    const groups = this.#thresholds.map(
      (pps, i) =>
        `  - { name: g${i}, tenant: t${i % 4}, networks: [198.19.${i * 16}.0/20], thresholds: { pps: ${pps} } }`,
    );
    return `
dry_run: false
state_dir: ${stateDir}
networks: [198.18.0.0/15]
capture: { interfaces: [{ name: sim0, mode: mirror }], max_hosts: 65536 }
detection: { window_ms: 1000, tick_ms: ${STEP_MS} }
thresholds: { pps: 100000, mbps: 1000000, flows_per_sec: 1000000 }
samples: { enabled: false }
storage: { driver: none }
ban:
  max_active_bans: ${maxActiveBans}
  unban_hysteresis_seconds: ${hysteresisSeconds}
  repeat_window_seconds: ${repeatWindowSeconds}
${hasGroups ? `hostgroups:\n${groups.join("\n")}` : ""}
bgp:
  local_asn: ${ASN}
  router_id: 10.0.0.9
  next_hop: 10.0.0.1
  communities: ["65535:666"]
  neighbors: [${NEIGHBORS.map((one) => `{ address: ${one.address}, remote_asn: ${ASN} }`).join(", ")}]
`;
  }
}

function isReplaced({ reason }: Ban): boolean {
  return reason?.startsWith("replaced") === true;
}
