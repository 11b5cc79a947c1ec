/** What the acts of the demonstration ask of the service: its attacks as the API shows them, and what was counted. */
import type { ServiceProcess } from "../../fixtures/service.ts";
import type { World } from "../world.ts";

export interface AttackWire {
  readonly target: string;
  readonly metric: string;
  readonly rate: number;
  readonly threshold: number;
  readonly route?: string;
  readonly method?: string;
  readonly ban_state?: string;
  readonly dry_run?: boolean;
  readonly reason: { readonly shares: Record<string, number> };
  readonly classification?: { readonly type: string; readonly confidence: number };
}

export interface Attacks {
  readonly active: readonly AttackWire[];
  /** Newest first. */
  readonly recent: readonly AttackWire[];
}

/** Throws when the API shows none. */
export async function activeAttack(service: ServiceProcess, victim: string): Promise<AttackWire> {
  const { active } = (await service.get<Attacks>("/api/v1/attacks")).body;
  const attack = active.find(({ target }) => target === victim);
  if (attack === undefined) throw new Error(`the API shows no attack on ${victim}`);
  return attack;
}

/** Throws unless the victim's attack is over and its ban withdrawn. */
export async function expectOver(world: World, victim: string): Promise<void> {
  const { active, recent } = (await world.service.get<Attacks>("/api/v1/attacks")).body;
  if (active.some(({ target }) => target === victim)) throw new Error(`the attack on ${victim} goes on`);
  const ended = recent.find(({ target }) => target === victim);
  if (ended?.ban_state !== "withdrawn") throw new Error("the ended attack does not say that its ban is withdrawn");
}

/** Of all sources together. */
export interface CaptureTotals {
  readonly received: number;
  readonly dropped: number;
}

export async function captureTotals(world: World): Promise<CaptureTotals> {
  const answer = await fetch(`http://127.0.0.1:${world.service.port}/metrics`);
  const text = await answer.text();
  const sum = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "gm"))].reduce((total, m) => total + Number(m[1]), 0);
  return { received: sum("svc_capture_received_packets_total"), dropped: sum("svc_capture_dropped_packets_total") };
}
