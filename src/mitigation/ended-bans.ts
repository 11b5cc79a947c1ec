/**
 * Withdrawn and rejected bans, up to a bound; over it the oldest of the tenant that has most are removed, so that bans
 * and unbans of one tenant's addresses end no cooldown of another's.
 */
import type { Tenant } from "../access/fair-queue.ts";
import type { Attack } from "../detection/attack/attack.ts";
import { enclosingPrefix, type Prefix } from "../net/prefix.ts";
import type { Ban } from "./ban.ts";
import type { BanEngineOptions } from "./ban-engine-options.ts";
import { isOneAddress, prefixUnderAttack } from "./ban-subject.ts";
import { CountedBans } from "./counted-bans.ts";

interface EndedBansOptions extends Pick<BanEngineOptions, "endedKept" | "store"> {
  /** The one in force. */
  readonly policy: () => { tenantOf(prefix: Prefix): Tenant };
}

export class EndedBans {
  readonly #options: EndedBansOptions;
  /** By id, in the order in which they ended. */
  readonly bans = new CountedBans<string>();
  /** By attack that caused a ban: its last ended ban. */
  readonly #byAttack = new Map<string, Ban>();
  /** The last ban that was in force, by the text of its prefix. */
  readonly #lastOf = new Map<string, Ban>();

  /** By the text of their prefix: ids, in the order in which they ended. */
  readonly #byPrefix = new Map<string, Set<string>>();
  /** By tenant when they ended: ids, the oldest first. */
  readonly #byTenant = new Map<Tenant, Set<string>>();

  constructor(options: EndedBansOptions) {
    this.#options = options;
  }

  add(ban: Ban): void {
    this.bans.set(ban.id, ban);
    if (ban.attackId !== null) this.#byAttack.set(ban.attackId, ban);
    if (ban.state === "withdrawn") this.#lastOf.set(ban.prefix.text, ban);
    this.#byPrefix.set(ban.prefix.text, (this.#byPrefix.get(ban.prefix.text) ?? new Set()).add(ban.id));
    const tenant = this.#options.policy().tenantOf(ban.prefix);
    this.#byTenant.set(tenant, (this.#byTenant.get(tenant) ?? new Set()).add(ban.id));
    while (this.bans.size > this.#options.endedKept) this.#forgetOne();
  }

  /**
   * The last ban that was in force for a prefix; null: none, or it was removed. A spread attack that resumes may start
   * in a part of its old prefix: the bans of wider prefixes count too.
   */
  lastOf(prefix: Prefix): Ban | null {
    let last = this.#lastOf.get(prefix.text) ?? null;
    if (isOneAddress(prefix)) return last;
    for (let length = prefix.length - 1; length > 0; length--) {
      const wider = this.#lastOf.get(enclosingPrefix(prefix.address, length).text);
      if (wider !== undefined && (wider.withdrawnAt ?? 0) > (last?.withdrawnAt ?? 0)) last = wider;
    }
    return last;
  }

  /** The last ban of an attack; null: none, or it was removed. */
  of(attack: Attack): Ban | null {
    const own = this.#byAttack.get(attack.id);
    if (own !== undefined) return own;
    // The attack did not cause it: a manual ban, or a ban of an attack in the other direction.
    const prefix = prefixUnderAttack(attack);
    if (prefix === null) return null;
    for (const id of this.#byPrefix.get(prefix.text) ?? []) {
      const ban = this.bans.get(id);
      if (ban !== undefined && covers(ban, attack)) return ban;
    }
    return null;
  }

  #forgetOne(): void {
    const [tenant, ids] = [...this.#byTenant].reduce((most, own) => (own[1].size > most[1].size ? own : most));
    const [oldest = ""] = ids;
    ids.delete(oldest);
    if (ids.size === 0) this.#byTenant.delete(tenant);
    const ban = this.bans.get(oldest);
    if (ban !== undefined) this.#forget(ban);
  }

  #forget(ban: Ban): void {
    this.bans.delete(ban.id);
    if (ban.attackId !== null && this.#byAttack.get(ban.attackId) === ban) this.#byAttack.delete(ban.attackId);
    if (this.#lastOf.get(ban.prefix.text) === ban) this.#lastOf.delete(ban.prefix.text);
    const ofPrefix = this.#byPrefix.get(ban.prefix.text);
    ofPrefix?.delete(ban.id);
    if (ofPrefix?.size === 0) this.#byPrefix.delete(ban.prefix.text);
    this.#options.store.queue(ban.id, null);
  }
}

/**
 * Whether a ban of the attacked prefix was in force during the attack. A ban that the attack did not cause may cover
 * several attacks. Both ends are exclusive, for a ban that starts as an attack ends does not belong to it; a ban that the
 * attack has held covers it even if it was replaced in the tick in which the attack began.
 */
export function covers(ban: Ban, attack: Attack): boolean {
  if (ban.state === "rejected") return false;
  return (
    ban.heldBy.includes(attack.id) ||
    (ban.startedAt < (attack.endedAt ?? Number.POSITIVE_INFINITY) &&
      attack.startedAt < (ban.withdrawnAt ?? Number.POSITIVE_INFINITY))
  );
}
