/** The traffic that reaches the victims when their bans end, by the attacks in progress. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { t } from "../language.ts";
import { banSubject } from "./bans.ts";
import { bitRate, packetRate, wholeNumber } from "./format/numbers.ts";
import { isWithin } from "./format/subject-order.ts";

/** From this number on that are attacked now, the number must be typed. */
const TYPED_FROM = 2;

/** The number that must be typed before they are ended together: of those attacked now; null: none. */
export function numberToType(bans: readonly BanWire[], active: readonly AttackWire[]): number | null {
  const { length: attacked } = attackedOf(bans, active);
  return attacked >= TYPED_FROM ? attacked : null;
}

/** null: none of them is attacked now. */
export function liftEffect(bans: readonly BanWire[], active: readonly AttackWire[]): string | null {
  const attacked = attackedOf(bans, active);
  const [first] = attacked;
  if (first === undefined) return null;
  const all = countedOnce([...new Set(attacked.flatMap(({ own }) => own))]);
  const sum = (of: (attack: AttackWire) => number) => all.reduce((total, attack) => total + of(attack), 0);
  const rates = `${packetRate(sum(({ rates: { pps } }) => pps))}, ${bitRate(sum(({ rates: { mbps } }) => mbps))}`;
  if (bans.length === 1) return t`It is attacked now: ${rates} will reach ${banSubject(first.ban)}.`;
  return attacked.length === 1
    ? t`1 of these ${wholeNumber(bans.length)} is attacked now: ${rates} will reach them.`
    : t`${wholeNumber(attacked.length)} of these ${wholeNumber(bans.length)} are attacked now: ${rates} will reach them.`;
}

const subjectOf = ({ target, prefix }: AttackWire) => target ?? prefix ?? "";

/** Those that are attacked now, each with the attacks on its address, or on what is in its prefix and has no ban left. */
function attackedOf(bans: readonly BanWire[], active: readonly AttackWire[]) {
  const incoming = active.filter(({ direction }) => direction !== "outgoing");
  const lifted = new Set(bans.map(banSubject));
  const isLeft = (attack: AttackWire) =>
    attack.ban_state === "active" && !attack.dry_run && !lifted.has(subjectOf(attack));
  const bySubject = Map.groupBy(incoming, subjectOf);
  return bans.flatMap((ban) => {
    const subject = banSubject(ban);
    const own = subject.includes("/")
      ? incoming.filter((attack) => isWithin(subjectOf(attack), subject) && !isLeft(attack))
      : (bySubject.get(subject) ?? []);
    return own.length === 0 ? [] : [{ ban, own }];
  });
}

/** The traffic of a host in a prefix that is attacked is a part of that. */
function countedOnce(attacks: readonly AttackWire[]): AttackWire[] {
  const spread = attacks.flatMap(({ target, prefix }) => (target === undefined && prefix !== undefined ? prefix : []));
  return attacks.filter(({ target }) => target === undefined || !spread.some((prefix) => isWithin(target, prefix)));
}
