/** Attacks as the API shows them: each with its ban and its incident. Those of the past come from the history. */
import type { Tenant } from "../access/fair-queue.ts";
import { type Attack, calmOf, type EndedAttacksQuery } from "../detection/attack/attack.ts";
import type { AttacksView, AttackView } from "../http/backend.ts";
import type { HistoryStore } from "../storage/history-store.ts";
import { shownBan } from "./attack-ids.ts";
import { orHistoryFault } from "./faults.ts";
import type { Floodwall } from "./floodwall.ts";

type Engines = Pick<Floodwall, "bans" | "detector" | "attackLog" | "timelines" | "incidents" | "now" | "attackIds">;
type History = Pick<HistoryStore, "ask"> | null;

export function attackViews(engines: Engines): AttacksView {
  const { detector, attackLog } = engines;
  const active = [...detector.active.values()].map((attack) => activeView(attack, engines));
  const recent = attackLog.ended.map((attack) => withBan(attack, engines));
  const shown = (view: AttackView) => shownView(view, engines);
  return { active: active.map(shown), recent: recent.map(shown) };
}

/** With the ids of this brain alone. */
function activeView(attack: Attack, { bans, detector, incidents, now }: Engines): AttackView {
  const endsAfterSeconds = detector.endsAfterSeconds(attack);
  const calm = calmOf(attack, endsAfterSeconds, now().monotonicMs);
  return { attack: incidents.stamped(attack), ban: bans.banOf(attack), calm, endsAfterSeconds };
}

/** As above; null: it is neither in progress nor among the last that ended. */
function ownView(id: string, engines: Engines): AttackView | null {
  const { detector, attackLog } = engines;
  const active = detector.active.values().find((attack) => attack.id === id);
  if (active !== undefined) return activeView(active, engines);
  const recent = attackLog.ended.find((attack) => attack.id === id);
  return recent === undefined ? null : withBan(recent, engines);
}

function shownView(view: AttackView, { attackIds }: Pick<Engines, "attackIds">): AttackView {
  return { ...view, attack: attackIds.shown(view.attack), ban: shownBan(view.ban, attackIds) };
}

/** Active, ended or recorded; null: unknown id. */
export async function attackView(
  id: string,
  engines: Engines,
  { history, asker }: { readonly history: History; readonly asker: Tenant },
): Promise<AttackView | null> {
  const known = ownView(engines.attackIds.ownIdOf(id), engines);
  if (known !== null) return shownView({ ...known, attack: engines.timelines.filled(known.attack) }, engines);
  if (history === null) return null;
  const attack = await orHistoryFault(history.ask("endedAttack", { id: engines.attackIds.shownId(id) }, asker));
  return attack === null ? null : withBan(attack, engines);
}

export async function endedViews(
  question: EndedAttacksQuery,
  engines: Engines,
  { history, asker }: { readonly history: History; readonly asker: Tenant },
): Promise<readonly AttackView[] | null> {
  if (history === null) return null;
  const attacks = await orHistoryFault(history.ask("endedAttacks", question, asker));
  return attacks.map((attack) => withBan(attack, engines));
}

function withBan(attack: Attack, { bans }: Engines): AttackView {
  return { attack, ban: bans.banOf(attack) };
}
