/**
 * Floods that are dropped elsewhere: by a router under FlowSpec rules, and by a scrub node. The service sees a mirror
 * port, and must not say that it knows what was dropped; the scrub node's own count goes into its report.
 */
import type { Static } from "@sinclair/typebox";
import type { AttacksWire, AttackWire } from "../../../src/http/wire/attack.ts";
import type { ScrubInventoryWire } from "../../../src/http/wire/scrub-node.ts";
import type { Chance } from "../../fixtures/seeded-random.ts";
import { eventually, freePort, type ServiceProcess } from "../../fixtures/service.ts";
import type { Undo } from "../../fixtures/undo.ts";
import { NODE, THRESHOLD_PPS as SCRUB_THRESHOLD_PPS, ScrubLab } from "../scrub/scrub-lab.ts";
import { VICTIM } from "../scrub/scrub-network.ts";
import { FILTERED, hostAfter, type Sent, THRESHOLD_PPS, type TrafficOptions, World } from "../world.ts";
import { packetsOf } from "./ledger-box.ts";
import type { FloodNumbers } from "./verdict.ts";
import { readViews } from "./views.ts";

const TIMES_THRESHOLD = [2, 3] as const;
const FLOOD_SECONDS = [1.5, 3] as const;
const ENDED_DEADLINE_MS = 20_000;
/** It reports each second. */
const REPORTED_DEADLINE_MS = 5000;

interface Parts {
  readonly service: ServiceProcess;
  readonly operator?: string;
  readonly thresholdPps: number;
  /** Of the flood with this number. */
  readonly victimOf: (number: number) => string;
  readonly traffic: Pick<TrafficOptions, "profile" | "sources" | "ports">;
  readonly send: (traffic: TrafficOptions) => Promise<Sent>;
  readonly node?: ScrubLab;
}

export class FarLedger {
  readonly name: string;
  readonly #parts: Parts;
  readonly #seen = new Set<string>();

  private constructor(name: string, parts: Parts) {
    this.name = name;
    this.#parts = parts;
  }

  static async router(undo: Undo): Promise<FarLedger> {
    const world = await World.create({ apiPort: await freePort(), hysteresisSeconds: 1, mode: "mirror" });
    undo.add(() => world.close());
    const traffic = { profile: "dns", sources: 200, ports: 1000 } as const;
    const victimOf = (number: number) => hostAfter(FILTERED, number % 6);
    const { service, send } = world;
    return new FarLedger("router (FlowSpec)", { service, thresholdPps: THRESHOLD_PPS, victimOf, traffic, send });
  }

  static async scrubNode(undo: Undo): Promise<FarLedger> {
    const node = await ScrubLab.create(await freePort(), undo);
    const traffic = { profile: "dns", sources: 200, ports: 1000 } as const;
    return new FarLedger("scrub node", {
      ...{ service: node.service, operator: "OPERATOR", thresholdPps: SCRUB_THRESHOLD_PPS, victimOf: () => VICTIM },
      ...{ traffic, node, send: (options: TrafficOptions) => node.flood({ ...options, path: "socket" }) },
    });
  }

  get lastWords(): string {
    return this.#parts.service.output.slice(-2000);
  }

  /** Resolves when its attack has ended, and the node's report is as new. */
  async flood(chance: Chance): Promise<FloodNumbers> {
    const { service, operator, thresholdPps, victimOf, traffic, send, node } = this.#parts;
    const target = victimOf(this.#seen.size);
    const before = node === undefined ? null : { arrived: node.arrived, dropped: await reportedBy(node, Date.now()) };
    const sent = await send({
      ...{ ...traffic, target, pps: Math.round(thresholdPps * chance.logarithmic(...TIMES_THRESHOLD)) },
      seconds: chance.logarithmic(...FLOOD_SECONDS),
    });
    const attack = await this.#ended(target);
    const reader = { service, ...(operator !== undefined && { operator }) };
    const numbers = {
      mechanisms: [],
      sent: packetsOf(sent),
      isFiltered: false,
      views: await readViews(reader, attack),
    };
    if (node === undefined || before === null) return { ...numbers, arrived: Number.NaN };
    const droppedByNode = (await reportedBy(node, Date.now())) - before.dropped;
    return { ...numbers, arrived: node.arrived - before.arrived, droppedByNode };
  }

  async #ended(address: string): Promise<AttackWire> {
    const { service, operator } = this.#parts;
    let found: AttackWire | undefined;
    await eventually(
      async () => {
        const { recent } = (await service.get<AttacksWire>("/api/v1/attacks", operator)).body;
        found = recent.find(({ id, target }) => target === address && !this.#seen.has(id));
        return found !== undefined;
      },
      () => `no attack on ${address} ended:\n${this.lastWords}`,
      ENDED_DEADLINE_MS,
      100,
    );
    if (found === undefined) throw new Error("unreachable");
    this.#seen.add(found.id);
    return found;
  }
}

/** What the node has dropped in all, by a report that it made after this time: wall clock, ms. */
async function reportedBy(lab: ScrubLab, afterMs: number): Promise<number> {
  let dropped: number | undefined;
  await eventually(
    async () => {
      const { nodes } = await lab.get<Static<typeof ScrubInventoryWire>>("/api/v1/dataplane/nodes");
      const { report, reported_at: at = "" } = nodes.find(({ name }) => name === NODE) ?? {};
      dropped = Date.parse(at) > afterMs ? (report?.dropped_packets ?? 0) : undefined;
      return dropped !== undefined;
    },
    "the node does not report",
    REPORTED_DEADLINE_MS,
    100,
  );
  return dropped ?? Number.NaN;
}
