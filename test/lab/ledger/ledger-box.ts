/** An inline box with every mechanism, and floods to its victims: what was sent, what arrived, and what each view says. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AttacksWire, AttackWire } from "../../../src/http/wire/attack.ts";
import type { Chance } from "../../fixtures/seeded-random.ts";
import { eventually, type ServiceProcess } from "../../fixtures/service.ts";
import type { Undo } from "../../fixtures/undo.ts";
import type { Namespace } from "../namespaces.ts";
import { type BoxLab, makeBoxLab, THRESHOLD_PPS } from "../scrub/box-lab.ts";
import { type Sent, sendFrom } from "../world.ts";
import { FIRST_SOURCE, SOURCE_OF, SOURCES, sectionsOf, TENANTS, VICTIMS, type Victim } from "./mechanisms.ts";
import type { FloodNumbers } from "./verdict.ts";
import { readViews } from "./views.ts";

const OPERATOR = "OPERATOR";
const SECRETS = Object.fromEntries([OPERATOR, ...TENANTS.map(secretOf)].map((name) => [name, `${name}-secret`]));
const TOKENS = [
  `{ name: noc, token_env: ${OPERATOR}, role: operator }`,
  ...TENANTS.map((tenant) => `{ name: ${tenant}, token_env: ${secretOf(tenant)}, role: viewer, tenant: ${tenant} }`),
];
/** The MAC of the victim's end: the third pair of the box. */
const VICTIM_MAC = "02:00:00:00:02:02";
const BLOCK_SECONDS = 86_400;
const TIMES_THRESHOLD = [3, 6] as const;
const FLOOD_SECONDS = [1.2, 2.4] as const;
/** From the end of a flood: the window, the hysteresis, and time for a busy machine. */
const ENDED_DEADLINE_MS = 20_000;

function secretOf(tenant: string): string {
  return tenant.toUpperCase();
}

export class LedgerBox {
  readonly #lab: BoxLab;
  readonly #seen = new Set<string>();

  private constructor(lab: BoxLab) {
    this.#lab = lab;
  }

  static async create(undo: Undo): Promise<LedgerBox> {
    const setFile = join(undo.folder("ledger"), "blocked.txt");
    writeFileSync(setFile, `${SOURCE_OF["prefix set"]}/32\n`);
    const lab = await makeBoxLab(undo, {
      ...{ scrub: '{ tcp: "off" }', more: sectionsOf(setFile) },
      ...{ api: `tokens: [${TOKENS.join(", ")}]`, env: SECRETS },
    });
    addVictims(lab);
    for (const { address: victim, mechanisms } of VICTIMS) {
      if (!mechanisms.includes("block")) continue;
      const block = { source: SOURCE_OF.block, victim, ttl_seconds: BLOCK_SECONDS };
      const { status, body } = await lab.service.post("/api/v1/dataplane/sources", block, SECRETS[OPERATOR]);
      if (status !== 200) throw new Error(`the source block was refused: ${JSON.stringify(body)}`);
    }
    return new LedgerBox(lab);
  }

  get service(): ServiceProcess {
    return this.#lab.service;
  }

  /** Resolves when its attack has ended. */
  async flood(victim: Victim, chance: Chance): Promise<FloodNumbers> {
    const { attacker, service } = this.#lab;
    const before = arrivedAt(this.#lab.victim, victim.address);
    const sent = await sendFrom(attacker, {
      ...{ profile: victim.mechanisms.includes("proof") ? "syn" : "udp", target: victim.address, path: "socket" },
      ...{ src: FIRST_SOURCE, sources: SOURCES },
      pps: Math.round(THRESHOLD_PPS * chance.logarithmic(...TIMES_THRESHOLD)),
      seconds: chance.logarithmic(...FLOOD_SECONDS),
    });
    const attack = await this.#ended(victim);
    const reader = { service, operator: SECRETS[OPERATOR] ?? "", tenant: SECRETS[secretOf(victim.tenant)] ?? "" };
    return {
      mechanisms: victim.mechanisms,
      sent: packetsOf(sent),
      arrived: arrivedAt(this.#lab.victim, victim.address) - before,
      isFiltered: true,
      views: await readViews(reader, attack),
    };
  }

  async #ended({ address }: Victim): Promise<AttackWire> {
    const { service } = this.#lab;
    let found: AttackWire | undefined;
    await eventually(
      async () => {
        const { recent } = (await service.get<AttacksWire>("/api/v1/attacks", SECRETS[OPERATOR])).body;
        found = recent.find(({ id, target }) => target === address && !this.#seen.has(id));
        return found !== undefined;
      },
      () => `no attack on ${address} ended:\n${service.output.slice(-2000)}`,
      ENDED_DEADLINE_MS,
      100,
    );
    if (found === undefined) throw new Error("unreachable");
    this.#seen.add(found.id);
    return found;
  }
}

export function packetsOf({ packets, device_drops: lost }: Sent): number {
  return packets - lost;
}

/** All are addresses of the victim's machine, which counts what comes to each. */
function addVictims({ box, victim }: BoxLab): void {
  const neighbors = VICTIMS.map(
    ({ address }) => `neigh replace ${address} lladdr ${VICTIM_MAC} dev out0 nud permanent`,
  );
  box.run(["sh", "-ec", neighbors.map((line) => `ip ${line}`).join("\n")]);
  victim.run(["sh", "-ec", VICTIMS.map(({ address }) => `ip address add ${address}/32 dev lo`).join("\n")]);
  const rules = VICTIMS.map(({ address }) => `ip daddr ${address} counter`).join("; ");
  victim.run(["nft", `table ip lab { chain arrived { type filter hook prerouting priority -300; ${rules}; }; }`]);
}

function arrivedAt(victim: Namespace, address: string): number {
  const text = victim.run(["nft", "list", "table", "ip", "lab"]);
  return Number(new RegExp(`daddr ${address.replaceAll(".", "\\.")} counter packets (\\d+)`).exec(text)?.[1]);
}
