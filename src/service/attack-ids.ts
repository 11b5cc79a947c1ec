/** Ids of attacks as callers see them: with several brains, those that all of them have. */
import { randomUUIDv7 } from "bun";
import type { Attack, NewAttackId } from "../detection/attack/attack.ts";
import type { Ban } from "../mitigation/ban.ts";

export interface AttackIds {
  newId: NewAttackId;
  /** With the id and the start that all brains show. */
  shown(attack: Attack): Attack;
  shownId(own: string): string;
  /** The own id of the attack that is shown with this id; the same one if it is not known. */
  ownIdOf(shown: string): string;
  /**
   * Calls `report` once brains that see an attack begin at the same time have agreed on its id; in the order of the calls.
   */
  whenAgreed(report: () => void): void;
  /** The service stops: calls all that wait. */
  agreeNow(): void;
}

/** The ids of one brain alone. */
export const OWN_IDS: AttackIds = {
  newId: () => randomUUIDv7(),
  shown: (attack) => attack,
  shownId: (own) => own,
  ownIdOf: (shown) => shown,
  whenAgreed: (report) => report(),
  agreeNow: () => {},
};

/** With the ids that are shown of its attacks. */
export function shownBan<Shown extends Ban | null>(ban: Shown, ids: Pick<AttackIds, "shownId">): Shown {
  if (ban === null) return ban;
  const attackId = ban.attackId === null ? null : ids.shownId(ban.attackId);
  const heldBy = ban.heldBy.map((id) => ids.shownId(id));
  const isSame = attackId === ban.attackId && heldBy.every((id, i) => id === ban.heldBy[i]);
  return isSame ? ban : { ...ban, attackId, heldBy };
}
