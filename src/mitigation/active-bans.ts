/** The bans in force, by the text of their prefix, how many addresses they hold, and who ordered them. */
import { type Callers, Shares } from "../access/shares.ts";
import { addressFamily, type IpAddress } from "../net/address.ts";
import { addressBits, addressesIn, type Prefix } from "../net/prefix.ts";
import { type Ban, holderOf, isWatching } from "./ban.ts";
import { CountedBans } from "./counted-bans.ts";

export class ActiveBans extends CountedBans<string> {
  readonly #addresses = { 4: 0, 6: 0 };
  /** Number of those that take a place: all but those that only watch. */
  places = 0;
  /** The tenants' shares of manual bans. */
  readonly shares: Shares;

  constructor(callers: () => Callers) {
    super();
    this.shares = new Shares(callers);
  }

  /**
   * Adds an active ban, or removes one that ended. `previous`: the ban before the change, perhaps of another prefix.
   */
  put(ban: Ban, previous: Ban | null = null): void {
    const key = ban.prefix.text;
    if (previous !== null && previous.prefix.text !== key) this.put({ ...previous, state: "withdrawn" });
    const was = this.get(key);
    const isActive = ban.state === "active";
    const more = Number(isActive && !isWatching(ban)) - Number(was !== undefined && !isWatching(was));
    this.places += more;
    this.#addresses[ban.prefix.family] += more * addressesIn(ban.prefix);
    this.#count(this.get(key), -1);
    if (isActive) this.#count(ban, 1);
    if (isActive) this.set(key, ban);
    else this.delete(key);
  }

  /** The ban of the address, or of the narrowest banned prefix whose first address it is; null: there is none. */
  startingAt(ip: IpAddress): Ban | null {
    for (let length: number = addressBits(addressFamily(ip)); length > 0; length--) {
      const ban = this.get(`${ip}/${length}`);
      if (ban !== undefined) return ban;
    }
    return null;
  }

  #count(ban: Ban | undefined, places: 1 | -1): void {
    const holder = ban === undefined ? null : holderOf(ban);
    if (holder !== null) this.shares.take(holder, places);
  }

  addresses(family: Prefix["family"]): number {
    return this.#addresses[family];
  }
}
