/** The attacks of a time, and what operators marked them as. */
import { type Attack, type EndedAttacksQuery, NO_ATTACK_FILTERS } from "../detection/attack/attack.ts";
import type { IncidentVerdict } from "../incident/work.ts";
import { HISTORY_ATTACKS_MAX } from "../limits.ts";
import type { AttackView, Backend } from "./backend.ts";
import type { TimeRange } from "./time-range.ts";

/** Pages of attacks that are read at most. */
const PAGES_MAX = 10;

type Sources = Pick<Backend, "endedAttacks" | "attacks">;

interface FoundAttacks {
  readonly attacks: readonly Attack[];
  /** There are no others. */
  readonly isWhole: boolean;
}

/** As an operator marked the incident; null: none did, or it is not kept any more. */
export function markOf({ incidents }: Pick<Backend, "incidents">, incident: string): IncidentVerdict | null {
  return incidents.workOf(incident)?.verdict?.is ?? null;
}

/** Those in progress, and of those that ended the newest. */
export async function attacksIn(backend: Sources, { fromMs }: Pick<TimeRange, "fromMs">): Promise<FoundAttacks> {
  const active = backend.attacks().active.map(({ attack }) => attack);
  const ended: Attack[] = [];
  let [toMs, toId]: [number, string | null] = [Number.MAX_SAFE_INTEGER, null];
  for (let page = 0; page < PAGES_MAX; page++) {
    const range = { fromMs, toMs };
    const question: EndedAttacksQuery = {
      ...{ range, toId, filters: NO_ATTACK_FILTERS, tenant: null, limit: HISTORY_ATTACKS_MAX },
    };
    const found: readonly AttackView[] = (await backend.endedAttacks(question, null)) ?? [];
    const next = found[HISTORY_ATTACKS_MAX - 1]?.attack;
    ended.push(...found.slice(0, HISTORY_ATTACKS_MAX - 1).map(({ attack }) => attack));
    if (next === undefined || next.endedAt === null) return { attacks: [...active, ...ended], isWhole: true };
    [toMs, toId] = [next.endedAt, next.id];
  }
  return { attacks: [...active, ...ended], isWhole: false };
}
