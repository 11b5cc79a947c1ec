/** Which bans matter most where there is not room for the rules or routes of all. */
import { sizeOfRate } from "../detection/attack/attack-size.ts";
import type { Ban } from "./ban.ts";

/**
 * Order of what the administrator ordered before all else, and of this by the size of attacks: small ones must not take
 * the room, nor what a tenant orders the room of others.
 */
export function mostValuableFirst(a: Ban, b: Ban): number {
  return Number(isAdministrators(b)) - Number(isAdministrators(a)) || sizeAtStart(b) - sizeAtStart(a);
}

function isAdministrators({ manual, tenant }: Ban): boolean {
  return manual && tenant === undefined;
}

function sizeAtStart({ metric, rate }: Ban): number {
  return metric === null ? 0 : sizeOfRate(metric, rate);
}
