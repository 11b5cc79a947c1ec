/** What reaches the victims when their bans end, by the attacks in progress. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { t } from "../language.ts";
import { banSubject } from "./bans.ts";
import { bitRate, packetRate, wholeNumber } from "./format/numbers.ts";

/** From this number on that are attacked now, the number must be typed. */
const TYPED_FROM = 2;

/** The number that must be typed before they are ended together: of those attacked now; null: none. */
export function numberToType(bans: readonly BanWire[], active: readonly AttackWire[]): number | null {
  const subjects = new Set(active.map(({ target, prefix }) => target ?? prefix ?? ""));
  const attacked = bans.filter((ban) => subjects.has(banSubject(ban))).length;
  return attacked >= TYPED_FROM ? attacked : null;
}

/** null: none of them is attacked now. */
export function liftEffect(bans: readonly BanWire[], active: readonly AttackWire[]): string | null {
  const bySubject = Map.groupBy(active, ({ target, prefix }) => target ?? prefix ?? "");
  const attacked = bans.flatMap((ban) => {
    const own = bySubject.get(banSubject(ban)) ?? [];
    return own.length === 0 ? [] : [{ ban, own }];
  });
  const [first] = attacked;
  if (first === undefined) return null;
  const all = attacked.flatMap(({ own }) => own);
  const sum = (of: (attack: AttackWire) => number) => all.reduce((total, attack) => total + of(attack), 0);
  const rates = `${packetRate(sum(({ rates: { pps } }) => pps))}, ${bitRate(sum(({ rates: { mbps } }) => mbps))}`;
  if (bans.length === 1) return t`It is attacked now: ${rates} will reach ${banSubject(first.ban)}.`;
  return attacked.length === 1
    ? t`1 of these ${wholeNumber(bans.length)} is attacked now: ${rates} will reach them.`
    : t`${wholeNumber(attacked.length)} of these ${wholeNumber(bans.length)} are attacked now: ${rates} will reach them.`;
}
