/** What demonstrations ask of the service: its attacks as the API shows them. */
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { ServiceProcess } from "../../fixtures/service.ts";

/** Ended ones: newest first. */
export type Attacks = Readonly<Record<"active" | "recent", readonly AttackWire[]>>;

export async function attacksOf(service: ServiceProcess): Promise<Attacks> {
  return (await service.get<Attacks>("/api/v1/attacks")).body;
}

/** Throws when the API shows none. */
export async function activeAttack(service: ServiceProcess, victim: string): Promise<AttackWire> {
  const attack = (await attacksOf(service)).active.find(({ target }) => target === victim);
  if (attack === undefined) throw new Error(`the API shows no attack on ${victim}`);
  return attack;
}

/** Throws unless the victim's attack is over and its ban withdrawn. */
export async function expectOver(service: ServiceProcess, victim: string): Promise<void> {
  const { active, recent } = await attacksOf(service);
  if (active.some(({ target }) => target === victim)) throw new Error(`the attack on ${victim} goes on`);
  const ended = recent.find(({ target }) => target === victim);
  if (ended?.ban_state !== "withdrawn") throw new Error("the ended attack does not say that its ban is withdrawn");
}
