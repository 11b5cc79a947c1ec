/** The bans in force, by the text of their prefix, how many addresses they hold, and who ordered them. */
import { type Callers, Shares } from "../access/shares.ts";
import { addressFamily, type IpAddress } from "../net/address.ts";
import { addressBits, addressesIn, type Prefix } from "../net/prefix.ts";
import { type Ban, holderOf, isReal, isWatching } from "./ban.ts";
import { BannedBlocks } from "./banned-blocks.ts";
import type { EnclosingPrefixes } from "./circumstances.ts";
import { CountedBans } from "./counted-bans.ts";
import { EnclosedBans } from "./enclosed-bans.ts";
import { type EnclosingRefusal, notAnnounced, OVER_FRACTION } from "./enclosing.ts";
import { divertedBy } from "./measure.ts";
import type { MitigationPolicy } from "./policy.ts";

const DIVERTED_ITSELF = "the ban of the prefix itself diverts it";
const DROPPED_ITSELF = "the ban of the prefix itself drops it";

export class ActiveBans extends CountedBans<string> {
  readonly #addresses = { 4: 0, 6: 0 };
  /** Number of those that take a place: all but those that only watch. */
  places = 0;
  /** The bans for which a wider prefix is announced. */
  readonly #enclosed = new EnclosedBans();
  readonly #blocks = new BannedBlocks();
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
    const present = this.get(key);
    if (present === undefined || !isActive || !isCountedAlike(present, ban)) {
      if (present !== undefined) this.#leave(present);
      if (isActive) this.#enter(ban);
    }
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

  #enter(ban: Ban): void {
    this.#hold(ban, 1);
    const wider = this.#enclosed.newlyDropped(ban);
    // The addresses of bans within it are counted in its own.
    if (wider !== null) this.#addresses[wider.family] += this.#addedBy(wider);
    this.#enclosed.enter(ban);
    this.#blocks.add(ban.prefix, addressesOf(ban));
    this.#addresses[ban.prefix.family] += this.#countedOf(ban);
  }

  #leave(ban: Ban): void {
    this.#hold(ban, -1);
    this.#addresses[ban.prefix.family] -= this.#countedOf(ban);
    this.#blocks.remove(ban.prefix);
    const wider = this.#enclosed.leave(ban);
    if (wider !== null) this.#addresses[wider.family] -= this.#addedBy(wider);
  }

  #hold(ban: Ban, by: 1 | -1): void {
    if (!isWatching(ban)) this.places += by;
    const holder = holderOf(ban);
    if (holder === null) return;
    this.shares.take(holder, by);
    const addresses = addressesOf(ban);
    if (addresses !== 0) this.addressShares[ban.prefix.family].take(holder, by * addresses);
  }

  /** Its addresses that no dropped prefix has. */
  #countedOf(ban: Ban): number {
    return this.#enclosed.isWithinDropped(ban.prefix) ? 0 : addressesOf(ban);
  }

  /** By how much addresses() would become more if the wider prefix were dropped, which it is not. */
  #addedBy(wider: Prefix): number {
    if (this.#enclosed.isNested(wider)) return 0;
    const counted = this.#blocks.addressesIn(wider, (own) => !this.#enclosed.isWithinDropped(own));
    return addressesIn(wider) - counted - this.#enclosed.addressesDroppedIn(wider);
  }

  /** The prefixes that are announced for narrower bans, as these and the policy say. */
  enclosing(policy: MitigationPolicy): EnclosingPrefixes {
    return {
      refusalOf: (prefix, ban, isDropped) =>
        policy.enclosingRefusal(prefix, ban, this.#tenantOf(ban.prefix)) ??
        this.#otherUse(prefix, ban.prefix, isDropped) ??
        (isDropped ? this.#overFraction(prefix, policy) : null),
      nodeOf: (prefix) => this.#enclosed.nodeOf(prefix),
    };
  }

  /** The bans whose blackhole of a wider prefix is left out once this one diverts that, the oldest first. */
  replacedBy(ban: Ban): readonly Ban[] {
    const diverted = ban.measure.kind === "divert" && isReal(ban) ? divertedBy(ban.measure) : null;
    return diverted === null
      ? []
      : this.#enclosed.droppingBans(diverted).filter(({ prefix: { text } }) => text !== ban.prefix.text);
  }

  /** A tenant moves the traffic of others only as far as it is theirs. An attack is mitigated as the hostgroup says. */
  #tenantOf(own: Prefix): string | null {
    const ban = this.get(own.text);
    return ban === undefined || ban.heldBy.length > 0 ? null : (holderOf(ban)?.tenant ?? null);
  }

  /** The use of the prefix by another method: a speaker keeps one route of it. */
  #otherUse(wider: Prefix, own: Prefix, isDropped: boolean): EnclosingRefusal | null {
    const itself = this.get(wider.text);
    const isUnicast = itself?.measure.kind === "blackhole" || itself?.measure.kind === "divert";
    if (itself !== undefined && isUnicast && isReal(itself)) {
      const isSame = (itself.measure.kind === "blackhole") === isDropped;
      return isSame ? null : notAnnounced(wider, isDropped ? DIVERTED_ITSELF : DROPPED_ITSELF);
    }
    const diverting = isDropped ? this.#enclosed.divertingBan(wider, own) : null;
    return diverting === null ? null : notAnnounced(wider, `the ban of ${diverting.prefix.text} diverts it`);
  }

  #overFraction(wider: Prefix, policy: MitigationPolicy): EnclosingRefusal | null {
    if (policy.maxBannedFraction === 0 || this.#enclosed.isDropped(wider)) return null;
    const added = this.#addedBy(wider);
    const most = policy.addresses(wider.family) * policy.maxBannedFraction;
    return added > 0 && this.addresses(wider.family) + added > most ? notAnnounced(wider, OVER_FRACTION) : null;
  }

  addresses(family: Prefix["family"]): number {
    return this.#addresses[family];
  }

  /** By how much addresses() would become less if these bans ended. */
  addressesOf(bans: readonly Ban[], family: Prefix["family"]): number {
    const ending = bans.filter(({ prefix }) => prefix.family === family);
    const names = new Set(ending.map(({ prefix }) => prefix.text));
    const own = ending.reduce((sum, ban) => sum + this.#countedOf(ban), 0);
    const freed = this.#enclosed.droppedFor(ending);
    const without = new Set(freed.map(({ text }) => text));
    const isLeft = (prefix: Prefix) => !names.has(prefix.text) && !this.#enclosed.isWithinDropped(prefix, without);
    const leftIn = (wider: Prefix) =>
      this.#blocks.addressesIn(wider, isLeft) + this.#enclosed.addressesDroppedIn(wider, without);
    const counted = freed.filter((wider) => !this.#enclosed.isNested(wider));
    return counted.reduce((sum, wider) => sum + addressesIn(wider) - leftIn(wider), own);
  }
}

/** That it takes of those that may be banned at once. */
function addressesOf(ban: Ban): number {
  return isWatching(ban) || ban.isVirtualOrder === true ? 0 : addressesIn(ban.prefix);
}

/** A mere extension changes no count. */
function isCountedAlike(before: Ban, after: Ban): boolean {
  const [was, is] = [holderOf(before), holderOf(after)];
  return (
    before.measure === after.measure &&
    before.dryRun === after.dryRun &&
    isWatching(before) === isWatching(after) &&
    before.isVirtualOrder === after.isVirtualOrder &&
    was?.tenant === is?.tenant &&
    was?.operator === is?.operator
  );
}
