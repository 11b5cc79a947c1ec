/** The bans in force, by the text of their prefix, and how many addresses they hold. */
import type { Prefix } from "../net/prefix.ts";
import { addressesIn } from "./admission.ts";
import type { Ban } from "./ban.ts";
import { CountedBans } from "./counted-bans.ts";

export class ActiveBans extends CountedBans<string> {
  readonly #addresses = { 4: 0, 6: 0 };

  /** Puts it in, or takes it out when it is over. */
  put(ban: Ban): void {
    const key = ban.prefix.text;
    const isIn = this.has(key);
    const isActive = ban.state === "active";
    if (isIn !== isActive) this.#addresses[ban.prefix.family] += (isActive ? 1 : -1) * addressesIn(ban.prefix);
    if (isActive) this.set(key, ban);
    else this.delete(key);
  }

  addresses(family: Prefix["family"]): number {
    return this.#addresses[family];
  }
}
