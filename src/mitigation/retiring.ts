/** The part of a ban's previous measure that stays until the present one is announced. Pure. */
import type { Prefix } from "../net/prefix.ts";
import { type Ban, hasRetiring, withoutDiversion } from "./ban.ts";
import type { EnclosingPrefixes } from "./circumstances.ts";
import { anyRouteText, hookText } from "./measure.ts";

/** For operators; null: nothing stays. */
export function retiringTexts(ban: Ban): string[] | null {
  const diverted = hookText(ban.retiringDiversion);
  return hasRetiring(ban) ? [...ban.retiring.map(anyRouteText), ...(diverted === "" ? [] : [diverted])] : null;
}

/**
 * The part of the previous measure that stays, but for wider prefixes that may not be announced any more: these do not
 * wait until other routes have taken their place. The same object if there are none.
 */
export function withoutRefused(ban: Ban, enclosing: EnclosingPrefixes): Ban {
  if (!hasRetiring(ban)) return ban;
  const isRefused = (wider: Prefix, isDropped: boolean) =>
    wider.length < ban.prefix.length && enclosing.refusalOf(wider, ban, isDropped) !== null;
  const retiring = ban.retiring.filter(
    (route) => route.kind === "flowspec" || !isRefused(route.prefix, route.isDivert !== true),
  );
  const isDiverted = ban.retiringDiversion === undefined || !isRefused(ban.retiringDiversion, false);
  if (retiring.length === ban.retiring.length && isDiverted) return ban;
  return { ...(isDiverted ? ban : withoutDiversion(ban)), retiring };
}
