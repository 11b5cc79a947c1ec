/** The bans in force, by the text of their prefix, how many addresses they hold, and who ordered them. */
import { type Callers, Shares } from "../access/shares.ts";
import { addressFamily, type IpAddress } from "../net/address.ts";
import { addressBits, addressesIn, type Prefix } from "../net/prefix.ts";
import { type Ban, holderOf, isWatching } from "./ban.ts";
import type { EnclosingPrefixes } from "./circumstances.ts";
import { CountedBans } from "./counted-bans.ts";
import { EnclosedBans, isDroppedAround } from "./enclosed-bans.ts";
import { notAnnounced, OVER_FRACTION } from "./enclosing.ts";
import type { MitigationPolicy } from "./policy.ts";

export class ActiveBans extends CountedBans<string> {
  readonly #addresses = { 4: 0, 6: 0 };
  /** Number of those that take a place: all but those that only watch. */
  places = 0;
  /** The bans for which a wider prefix is announced. */
  readonly #enclosed = new EnclosedBans();
  /** The tenants' shares of manual bans. */
  readonly shares: Shares;
  /** The same of their addresses. */
  readonly addressShares: Readonly<Record<Prefix["family"], Shares>>;

  constructor(callers: () => Callers) {
    super();
    this.shares = new Shares(callers);
    this.addressShares = { 4: new Shares(callers), 6: new Shares(callers) };
  }

  /**
   * Adds an active ban, or removes one that ended. `previous`: the ban before the change, perhaps of another prefix.
   */
  put(ban: Ban, previous: Ban | null = null): void {
    const key = ban.prefix.text;
    if (previous !== null && previous.prefix.text !== key) this.put({ ...previous, state: "withdrawn" });
    const isActive = ban.state === "active";
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

  #count(ban: Ban | undefined, by: 1 | -1): void {
    if (ban === undefined) return;
    const { family } = ban.prefix;
    const addresses = by * addressesOf(ban);
    if (!isWatching(ban)) this.places += by;
    const enclosed = this.#enclosed.count(ban, by);
    this.#addresses[family] += enclosed + (isDroppedAround(ban) ? 0 : addresses);
    const holder = holderOf(ban);
    if (holder === null) return;
    this.shares.take(holder, by);
    if (addresses !== 0) this.addressShares[family].take(holder, addresses);
  }

  /** What is announced for narrower bans, as these and the policy say. */
  enclosing(policy: MitigationPolicy): EnclosingPrefixes {
    return {
      refusalOf: (prefix, own, isDropped) => {
        const refusal = policy.enclosingRefusal(prefix, own);
        const isBounded = isDropped && policy.maxBannedFraction > 0 && !this.#enclosed.isDropped(prefix);
        if (refusal !== null || !isBounded) return refusal;
        const most = policy.addresses(prefix.family) * policy.maxBannedFraction;
        const dropped = this.addresses(prefix.family) + addressesIn(prefix);
        return dropped > most ? notAnnounced(prefix, OVER_FRACTION) : null;
      },
      nodeOf: (prefix) => this.#enclosed.nodeOf(prefix),
    };
  }

  addresses(family: Prefix["family"]): number {
    return this.#addresses[family];
  }

  /** By how much addresses() would become less if these bans ended. */
  addressesOf(bans: readonly Ban[], family: Prefix["family"]): number {
    const ending = bans.filter(({ prefix }) => prefix.family === family);
    const own = ending.reduce((sum, ban) => sum + (isDroppedAround(ban) ? 0 : addressesOf(ban)), 0);
    return own + this.#enclosed.droppedFor(ending);
  }
}

/** That it takes of those that may be banned at once. */
function addressesOf(ban: Ban): number {
  return isWatching(ban) || ban.isVirtualOrder === true ? 0 : addressesIn(ban.prefix);
}
