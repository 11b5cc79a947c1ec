/**
 * Owns the table of bans: attacks and operators ask for bans here, time and policy end them. The routes wanted of the
 * announcer are always those of the active bans. What an operator orders is stored before it is answered. What happens by
 * itself is stored by the next flush(), so that no disk stands between an attack and its route: a process killed in
 * between finds a route that it does not want at its next start, withdraws it, and detects the attack anew.
 */
import { type Attack, attackRate } from "../detection/attack.ts";
import type { AttackChange } from "../detection/detector.ts";
import type { IpAddress } from "../net/address.ts";
import { hostPrefix, type Prefix } from "../net/prefix.ts";
import { type AdmissionPolicy, admit, type Refusal } from "./admission.ts";
import type { Announcer, Route, RouteState, UnicastRoute } from "./announcer.ts";
import { type Ban, type BanEvent, MANUAL_UNBAN, next } from "./ban.ts";
import { type BanCount, CountedBans, countBans } from "./counted-bans.ts";
import { covers, EndedBans } from "./ended-bans.ts";

export interface MitigationPolicy extends AdmissionPolicy {
  readonly dryRun: boolean;
  readonly ttlSeconds: number;
  /** The blackhole route of a prefix; null without a BGP speaker. */
  routeFor(prefix: Prefix): UnicastRoute | null;
}

/** Where bans survive the process. */
export interface BanStore {
  saveBan(ban: Ban): void;
  removeBan(id: string): void;
  /** Returns when all that `writes` did is on disk, or throws and none of it is: one wait, however many bans. */
  atOnce(writes: () => void): void;
}

export interface BanEngineOptions {
  readonly policy: MitigationPolicy;
  readonly store: BanStore;
  readonly announcer: Announcer | null;
  readonly newId: () => string;
  /** Ended bans that stay in the table and the store. */
  readonly endedKept: number;
  /** After any change of a ban; `previous` is null for a new one. */
  readonly onChange: (ban: Ban, previous: Ban | null) => void;
  /** A change waits for flush(), which is due in some milliseconds. */
  readonly onUnsaved: () => void;
  /** A write failed. What happened by itself holds all the same and is written again with the next flush(). */
  readonly onStoreFault: (cause: unknown) => void;
}

export class BanEngine {
  readonly #options: BanEngineOptions;
  #policy: MitigationPolicy;
  readonly #active = new CountedBans<IpAddress>();
  /** Refused bans of attacks in progress, by attack. They are asked for again each tick. */
  readonly #refused = new CountedBans<string>();
  readonly #ended: EndedBans;
  /** Attacks whose ban an operator lifted: they get no other. */
  readonly #pardoned = new Set<string>();
  /** What waits for flush(), by id; null: forgotten, to be removed from the store. */
  readonly #unsaved = new Map<string, Ban | null>();
  /** The routes of the active bans are others than the announcer knows. */
  #areRoutesStale = false;

  constructor(options: BanEngineOptions) {
    this.#options = options;
    this.#policy = options.policy;
    this.#ended = new EndedBans(options.endedKept, (id) => this.#saveSoon(id, null));
  }

  /**
   * What the store had: bans, oldest first, and the attacks in progress. Ends what expired, what policy no longer allows
   * and what lost its attack, and wants the rest.
   */
  restore({ bans, attacks }: { bans: readonly Ban[]; attacks: readonly Attack[] }, wallMs: number): void {
    const known = new Set(attacks.map(({ id }) => id));
    for (const ban of bans) {
      if (ban.state === "active") this.#active.set(ban.target, ban);
      else this.#ended.add(ban);
      // Of an attack that is over nobody would ever take the pardon back.
      const { attackId, reason } = ban;
      if (attackId !== null && reason === MANUAL_UNBAN && known.has(attackId)) this.#pardoned.add(attackId);
    }
    // A process killed between writing a ban and its attack leaves a ban whose attack nobody would see end.
    for (const ban of [...this.#active.values()]) {
      if (ban.attackId !== null && !known.has(ban.attackId)) this.#apply(ban, { kind: "attack_ended" }, wallMs);
    }
    this.#endExpired(wallMs);
    this.reconfigure(this.#policy, wallMs);
  }

  /** All changes of one tick. */
  attacksChanged(changes: readonly AttackChange[], wallMs: number): void {
    for (const change of changes) this.#attackChanged(change, wallMs);
    this.#wantRoutesIfStale();
  }

  /** By an operator. Throws when the store cannot keep it: then there is no ban. */
  ban(target: IpAddress, wallMs: number): Ban {
    const admission = this.#admit(target);
    if (admission.kind === "refused") return { ...this.#newBan(target, null, wallMs), ...rejection(admission.reason) };
    const existing = this.#active.get(target);
    const ban =
      existing === undefined
        ? this.#newBan(target, null, wallMs)
        : next(existing, { kind: "refreshed", ttlSeconds: this.#policy.ttlSeconds }, wallMs);
    this.#saveOrThrow(ban);
    this.#put(ban, existing ?? null);
    this.#wantRoutesIfStale();
    return ban;
  }

  /** By an operator. null: the address has no active ban. Throws when the store cannot keep it: then the ban stays. */
  unban(target: IpAddress, wallMs: number): Ban | null {
    const ban = this.#active.get(target);
    if (ban === undefined) return null;
    const withdrawn = next(ban, { kind: "unbanned" }, wallMs);
    this.#saveOrThrow(withdrawn);
    if (ban.attackId !== null) this.#pardoned.add(ban.attackId);
    this.#put(withdrawn, ban);
    this.#wantRoutesIfStale();
    return withdrawn;
  }

  /** Ends what has expired. */
  tick(wallMs: number): void {
    this.#endExpired(wallMs);
    this.#wantRoutesIfStale();
  }

  /** The wall clock was set by so much; to be told before the new time is used for anything else. */
  clockStepped(byMs: number, wallMs: number): void {
    for (const ban of [...this.#active.values()]) this.#apply(ban, { kind: "clock_stepped", byMs }, wallMs);
  }

  /** Stores what happened by itself since the last time; all of it waits on when the write fails. */
  flush(): void {
    if (this.#unsaved.size === 0) return;
    try {
      this.#write(this.#unsaved);
    } catch (cause) {
      this.#options.onStoreFault(cause);
    }
  }

  reconfigure(policy: MitigationPolicy, wallMs: number): void {
    this.#policy = policy;
    for (const ban of [...this.#active.values()]) {
      const isInNetworks = policy.isInNetworks(ban.target);
      const isWhitelisted = policy.isWhitelisted(ban.target);
      const route = policy.routeFor(ban.prefix);
      this.#apply(ban, { kind: "policy", isInNetworks, isWhitelisted, dryRun: policy.dryRun, route }, wallMs);
    }
    // Also when nothing changed: the announcer of a service that starts knows no route yet.
    this.#areRoutesStale = true;
    this.#wantRoutesIfStale();
  }

  get active(): ReadonlyMap<IpAddress, Ban> {
    return this.#active;
  }

  /** Active, refused and ended, in no order. */
  all(): Ban[] {
    return [...this.#active.values(), ...this.#refused.values(), ...this.#ended.bans.values()];
  }

  /** How many there are in all(), without a walk through them. */
  counts(): BanCount[] {
    return countBans([this.#active, this.#refused, this.#ended.bans]);
  }

  /** The ban that an attack has or had. */
  banOf(attack: Attack): Ban | null {
    const active = attack.target === null ? undefined : this.#active.get(attack.target);
    if (active !== undefined && (attack.endedAt === null || covers(active, attack))) return active;
    return this.#refused.get(attack.id) ?? this.#ended.of(attack);
  }

  /** null where nothing is to be announced: not active, virtual, or no speaker. */
  routeState(ban: Ban): RouteState | null {
    const { announcer } = this.#options;
    return announcer !== null && ban.route !== null && isAnnounced(ban) ? announcer.routeState(ban.route) : null;
  }

  get unsaved(): number {
    return this.#unsaved.size;
  }

  #attackChanged({ kind, attack }: AttackChange, wallMs: number): void {
    const { target } = attack;
    // A hostgroup as a whole has no address to ban: such an attack alerts.
    if (target === null) return;
    const ban = this.#active.get(target);
    if (kind === "ended") {
      this.#attackEnded(attack, ban, wallMs);
    } else if (ban !== undefined) {
      this.#apply(ban, { kind: "attack_lasts", attackId: attack.id, ttlSeconds: this.#policy.ttlSeconds }, wallMs);
    } else if (!this.#pardoned.has(attack.id)) {
      this.#banAttacked(target, attack, wallMs);
    }
  }

  #banAttacked(target: IpAddress, attack: Attack, wallMs: number): void {
    const admission = this.#admit(target);
    const previous = this.#refused.get(attack.id) ?? null;
    if (admission.kind === "refused") {
      if (previous?.reason === admission.reason) return;
      const rejected = { ...this.#newBan(target, attack, wallMs), ...rejection(admission.reason) };
      this.#refused.set(attack.id, rejected);
      this.#options.onChange(rejected, previous);
      return;
    }
    this.#refused.delete(attack.id);
    const ban = this.#newBan(target, attack, wallMs);
    this.#put(ban, null);
    this.#saveSoon(ban.id, ban);
  }

  #attackEnded(attack: Attack, ban: Ban | undefined, wallMs: number): void {
    if (ban?.attackId === attack.id) this.#apply(ban, { kind: "attack_ended" }, wallMs);
    const refused = this.#refused.get(attack.id);
    if (refused !== undefined) {
      this.#refused.delete(attack.id);
      this.#ended.add(refused);
      this.#saveSoon(refused.id, refused);
    }
    this.#pardoned.delete(attack.id);
  }

  #endExpired(wallMs: number): void {
    for (const ban of [...this.#active.values()]) this.#apply(ban, { kind: "clock" }, wallMs);
  }

  #apply(ban: Ban, event: BanEvent, wallMs: number): void {
    const changed = next(ban, event, wallMs);
    if (changed === ban) return;
    this.#put(changed, ban);
    this.#saveSoon(changed.id, changed);
  }

  #put(ban: Ban, previous: Ban | null): void {
    if (ban.state === "active") {
      this.#active.set(ban.target, ban);
    } else {
      this.#active.delete(ban.target);
      this.#ended.add(ban);
    }
    if (previous === null || isAnnounced(ban) !== isAnnounced(previous) || ban.route !== previous.route) {
      this.#areRoutesStale = true;
    }
    this.#options.onChange(ban, previous);
  }

  #saveSoon(id: string, ban: Ban | null): void {
    this.#unsaved.set(id, ban);
    this.#options.onUnsaved();
  }

  /** With all that waits, so that the disk never has a later change without the earlier ones. */
  #saveOrThrow(ban: Ban): void {
    try {
      this.#write(new Map([...this.#unsaved, [ban.id, ban]]));
    } catch (cause) {
      this.#options.onStoreFault(cause);
      throw cause;
    }
  }

  /** All that waits is among the changes. */
  #write(changes: ReadonlyMap<string, Ban | null>): void {
    const { store } = this.#options;
    const writes = () => {
      for (const [id, ban] of changes) {
        if (ban === null) store.removeBan(id);
        else store.saveBan(ban);
      }
    };
    store.atOnce(writes);
    this.#unsaved.clear();
  }

  /** Once for all changes of a call: the announcer takes the whole set each time. */
  #wantRoutesIfStale(): void {
    if (!this.#areRoutesStale) return;
    this.#areRoutesStale = false;
    const routes: Route[] = [];
    for (const ban of this.#active.values()) if (isAnnounced(ban) && ban.route !== null) routes.push(ban.route);
    this.#options.announcer?.want(routes);
  }

  #admit(target: IpAddress) {
    return admit(target, this.#policy, { isBanned: this.#active.has(target), active: this.#active.size });
  }

  #newBan(target: IpAddress, attack: Attack | null, wallMs: number): Ban {
    const prefix = hostPrefix(target);
    return {
      id: this.#options.newId(),
      target,
      prefix,
      method: "blackhole",
      state: "active",
      dryRun: this.#policy.dryRun,
      manual: attack === null,
      attackId: attack?.id ?? null,
      metric: attack?.metric ?? null,
      rate: attack === null ? 0 : attackRate(attack),
      threshold: attack?.threshold ?? 0,
      route: this.#policy.routeFor(prefix),
      startedAt: wallMs,
      expiresAt: wallMs + this.#policy.ttlSeconds * 1000,
      withdrawnAt: null,
      reason: null,
    };
  }
}

function rejection(reason: Refusal): Pick<Ban, "state" | "reason"> {
  return { state: "rejected", reason };
}

/** The one place where a virtual ban and a real one part. */
export function isAnnounced(ban: Ban): boolean {
  return ban.state === "active" && !ban.dryRun && ban.route !== null;
}
