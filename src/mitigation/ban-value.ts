/** Which bans matter most where there is not room for the rules or routes of all. */
import { sizeOfRate } from "../detection/attack/attack-size.ts";
import type { Ban } from "./ban.ts";

/** Order of manual bans before others, and of these by the size of their attacks: small ones must not take the room. */
export function mostValuableFirst(a: Ban, b: Ban): number {
  return Number(b.manual) - Number(a.manual) || sizeAtStart(b) - sizeAtStart(a);
}

function sizeAtStart({ metric, rate }: Ban): number {
  return metric === null ? 0 : sizeOfRate(metric, rate);
}
