/** One incident as its table keeps it. */
import type { Incident, IncidentKey } from "./incident.ts";
import type { IncidentAttacks } from "./incident-attacks.ts";
import type { Work } from "./work.ts";

export interface Entry {
  readonly id: string;
  key: IncidentKey;
  customer: string;
  readonly startedAt: number;
  attacks: IncidentAttacks;
  work: Work;
  /** Changed since it was stored, and since listeners were called. */
  isUnsaved: boolean;
  isUnseen: boolean;
}

export function changed(entry: Entry): void {
  entry.isUnsaved = true;
  entry.isUnseen = true;
}

export function figuresOf({ attacks: { active, lastEndedAt } }: Entry) {
  return { active, lastEndedAt };
}

export function recordOf({ id, key, startedAt, attacks, work }: Entry): Incident {
  return { id, ...key, startedAt, ...attacks.record(), work };
}
