/**
 * Owns the table of bans: attacks and operators ask for bans here, time and policy end them. The routes wanted of the
 * announcer are always those of the active bans. What an operator orders is stored before it is answered. What happens by
 * itself is stored by the next flush(), so that no disk stands between an attack and its route: a process killed in
 * between finds a route that it does not want at its next start, withdraws it, and detects the attack anew.
 */
import { isDeepStrictEqual } from "node:util";
import type { Attack } from "../detection/attack.ts";
import type { AttackChange } from "../detection/detector.ts";
import type { IpAddress } from "../net/address.ts";
import { hostPrefix, type Prefix } from "../net/prefix.ts";
import { ActiveBans } from "./active-bans.ts";
import { type Admission, type AdmissionPolicy, admit, type Refusal } from "./admission.ts";
import type { Announcer, Route, RouteState } from "./announcer.ts";
import { type Ban, type BanEvent, MANUAL_UNBAN, next, wantedRoutes } from "./ban.ts";
import { prefixUnderAttack } from "./ban-subject.ts";
import { type BanCount, CountedBans, countBans } from "./counted-bans.ts";
import { covers, EndedBans } from "./ended-bans.ts";
import { newBan } from "./new-ban.ts";
import { type BanTerms, type Circumstances, planOf, type RuleMaker } from "./plan.ts";
import { isCoolingDown } from "./repetition.ts";
import { RouteWatch } from "./route-watch.ts";
import { UnsavedBans, type UnsavedBansOptions } from "./unsaved-bans.ts";

export interface MitigationPolicy extends AdmissionPolicy {
  readonly dryRun: boolean;
  /** How long rules wait until it can be told what an attack is; 0: that is never told. */
  readonly evidenceWaitMs: number;
  /** The same object for all addresses of one hostgroup. */
  termsOf(target: IpAddress): BanTerms;
}

export interface BanEngineOptions extends UnsavedBansOptions {
  readonly policy: MitigationPolicy;
  readonly announcer: Announcer | null;
  readonly packetsOf: Circumstances["packetsOf"];
  readonly makeRules: RuleMaker;
  readonly newId: () => string;
  /** Ended bans that stay in the table and the store. */
  readonly endedKept: number;
  /** After any change of a ban; `previous` is null for a new one. */
  readonly onChange: (ban: Ban, previous: Ban | null) => void;
  /** One ban could not be brought on: it stays as it was until the next time, and all others go on. */
  readonly onFault: (cause: unknown) => void;
}

export class BanEngine {
  readonly #options: BanEngineOptions;
  #policy: MitigationPolicy;
  readonly #active = new ActiveBans();
  /** Refused bans of attacks in progress, by attack. They are asked for again each tick. */
  readonly #refused = new CountedBans<string>();
  readonly #ended: EndedBans;
  /** Attacks in progress, as they were heard of last. */
  readonly #attacks = new Map<string, Attack>();
  /** Attacks whose ban an operator lifted: they get no other. */
  readonly #pardoned = new Set<string>();
  readonly #unsaved: UnsavedBans;
  readonly #routes: RouteWatch;
  /** The routes of the active bans are others than the announcer knows. */
  #areRoutesStale = false;

  constructor(options: BanEngineOptions) {
    this.#options = options;
    this.#policy = options.policy;
    this.#unsaved = new UnsavedBans(options);
    this.#routes = new RouteWatch(options.announcer);
    this.#ended = new EndedBans(options.endedKept, (id) => this.#unsaved.soon(id, null));
  }

  /**
   * What the store had: bans, oldest first, and the attacks in progress. Ends what expired, what policy no longer allows
   * and what lost its attack, and wants the rest.
   */
  restore({ bans, attacks }: { bans: readonly Ban[]; attacks: readonly Attack[] }, wallMs: number): void {
    for (const attack of attacks) if (prefixUnderAttack(attack) !== null) this.#attacks.set(attack.id, attack);
    for (const ban of bans) {
      if (ban.state === "active") this.#active.put(ban);
      else this.#ended.add(ban);
      // Of an attack that is over nobody would ever take the pardon back.
      if (ban.reason === MANUAL_UNBAN) this.#pardon(ban.heldBy.filter((id) => this.#attacks.has(id)));
    }
    // A process killed between writing a ban and its attack leaves a ban whose attack nobody would see end.
    for (const ban of [...this.#active.values()]) {
      const lost = ban.heldBy.filter((id) => !this.#attacks.has(id));
      for (const attackId of lost) this.#applyTo(ban.prefix, { kind: "attack_ended", attackId }, wallMs);
    }
    for (const ban of [...this.#active.values()]) this.#applyTo(ban.prefix, { kind: "clock" }, wallMs);
    this.reconfigure(this.#policy, wallMs);
  }

  /** All changes of one tick, or what became known of an attack in between. */
  attacksChanged(changes: readonly AttackChange[], wallMs: number): void {
    for (const change of changes) this.#guarded(() => this.#attackChanged(change, wallMs));
    this.#wantRoutesIfStale();
  }

  /** It is known now what the attack is, or better than before, or it became another: rules follow. */
  attackClassified(attack: Attack, wallMs: number): void {
    if (!this.#attacks.has(attack.id)) return;
    this.#attacks.set(attack.id, attack);
    const ban = this.#banOn(prefixUnderAttack(attack));
    if (ban !== undefined) this.#change(ban, this.#reconsidered(ban, wallMs, { isToldAnew: true }));
    this.#wantRoutesIfStale();
  }

  /** By an operator. Throws when the store cannot keep it: then there is no ban. */
  ban(target: IpAddress, wallMs: number): Ban {
    const prefix = hostPrefix(target);
    const admission = this.#admit({ target, prefix, isCoolingDown: false });
    if (admission.kind === "refused") return { ...this.#newBan(prefix, null, wallMs), ...rejection(admission.reason) };
    const existing = this.#active.get(prefix.text) ?? null;
    const { ttlSeconds } = this.#policy.termsOf(target).ban;
    const ban =
      existing === null
        ? this.#newBan(prefix, null, wallMs)
        : this.#reconsidered(next(existing, { kind: "refreshed", ttlSeconds }, wallMs), wallMs);
    this.#unsaved.now(ban);
    this.#put(ban, existing);
    this.#wantRoutesIfStale();
    return ban;
  }

  /** By an operator. null: the address has no active ban. Throws when the store cannot keep it: then the ban stays. */
  unban(target: IpAddress, wallMs: number): Ban | null {
    const ban = this.#active.get(hostPrefix(target).text);
    if (ban === undefined) return null;
    const withdrawn = next(ban, { kind: "unbanned" }, wallMs);
    this.#unsaved.now(withdrawn);
    this.#pardon(ban.heldBy);
    this.#put(withdrawn, ban);
    this.#wantRoutesIfStale();
    return withdrawn;
  }

  /** Ends what has expired, climbs the ladders, and looks at what has become of routes. */
  tick(wallMs: number): void {
    for (const ban of [...this.#active.values()]) {
      this.#guarded(() => this.#change(ban, this.#reconsidered(next(ban, { kind: "clock" }, wallMs), wallMs)));
    }
    this.#wantRoutesIfStale();
  }

  /** The wall clock was set by so much; to be told before the new time is used for anything else. */
  clockStepped(byMs: number, wallMs: number): void {
    for (const ban of [...this.#active.values()]) {
      this.#routes.forget(ban.id);
      this.#change(ban, next(ban, { kind: "clock_stepped", byMs }, wallMs));
    }
  }

  /** Stores what happened by itself since the last time; all of it waits on when the write fails. */
  flush(): void {
    this.#unsaved.flush();
  }

  get unsaved(): number {
    return this.#unsaved.size;
  }

  reconfigure(policy: MitigationPolicy, wallMs: number): void {
    const before = this.#policy;
    this.#policy = policy;
    for (const ban of [...this.#active.values()]) {
      const terms = policy.termsOf(ban.target);
      const { dryRun } = policy;
      // What was refused under other terms is tried again.
      const fallback = isDeepStrictEqual(before.termsOf(ban.target), terms) ? ban.fallback : null;
      const event: BanEvent = {
        kind: "policy",
        isInNetworks: policy.isInNetworks(ban.target),
        isWhitelisted: policy.isWhitelisted(ban.target),
        dryRun,
        escalation: terms.hasEscalation ? terms.ladder : null,
        plan: planOf({ ...ban, dryRun, fallback }, terms, this.#circumstances(ban.heldBy, null), wallMs),
        isOut: this.#routes.newsOf(ban, wallMs).isOut,
      };
      this.#change(ban, next(ban, event, wallMs));
    }
    // Also when nothing changed: the announcer of a service that starts knows no route yet.
    this.#areRoutesStale = true;
    this.#wantRoutesIfStale();
  }

  /** By the text of their prefix. */
  get active(): ReadonlyMap<string, Ban> {
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
    const active = this.#banOn(prefixUnderAttack(attack));
    if (active !== undefined && (attack.endedAt === null || covers(active, attack))) return active;
    return this.#refused.get(attack.id) ?? this.#ended.of(attack);
  }

  /** null where nothing is to be announced: not active, virtual, only watched, or no speaker. */
  routeState(ban: Ban): RouteState | null {
    return this.#routes.stateOf(ban);
  }

  #guarded(step: () => void): void {
    try {
      step();
    } catch (cause) {
      this.#options.onFault(cause);
    }
  }

  #attackChanged({ kind, attack }: AttackChange, wallMs: number): void {
    const prefix = prefixUnderAttack(attack);
    if (prefix === null) return;
    if (kind === "ended") {
      this.#attackEnded(attack, prefix, wallMs);
      return;
    }
    this.#attacks.set(attack.id, attack);
    const { ttlSeconds } = this.#policy.termsOf(prefix.address).ban;
    if (this.#active.has(prefix.text)) {
      this.#applyTo(prefix, { kind: "attack_lasts", attackId: attack.id, ttlSeconds }, wallMs);
    } else if (!this.#pardoned.has(attack.id)) this.#banAttacked(prefix, attack, wallMs);
  }

  #banAttacked(prefix: Prefix, attack: Attack, wallMs: number): void {
    const { ban: config } = this.#policy.termsOf(prefix.address);
    const isCooling = isCoolingDown(this.#ended.lastOf(prefix), config, wallMs);
    const admission = this.#admit({ target: prefix.address, prefix, isCoolingDown: isCooling });
    const previous = this.#refused.get(attack.id) ?? null;
    if (admission.kind === "refused") {
      if (previous?.reason === admission.reason) return;
      const rejected = { ...this.#newBan(prefix, attack, wallMs), ...rejection(admission.reason) };
      this.#refused.set(attack.id, rejected);
      this.#options.onChange(rejected, previous);
      return;
    }
    this.#refused.delete(attack.id);
    const ban = this.#newBan(prefix, attack, wallMs);
    this.#put(ban, null);
    this.#unsaved.soon(ban.id, ban);
  }

  #attackEnded(attack: Attack, prefix: Prefix, wallMs: number): void {
    this.#applyTo(prefix, { kind: "attack_ended", attackId: attack.id }, wallMs);
    const refused = this.#refused.get(attack.id);
    if (refused !== undefined) {
      this.#refused.delete(attack.id);
      this.#ended.add(refused);
      this.#unsaved.soon(refused.id, refused);
    }
    this.#pardoned.delete(attack.id);
    this.#attacks.delete(attack.id);
  }

  /** What is to be done for it now, of what is known now. */
  #reconsidered(ban: Ban, wallMs: number, { isToldAnew } = { isToldAnew: false }): Ban {
    if (ban.state !== "active") return ban;
    const news = this.#routes.newsOf(ban, wallMs);
    const settled = news.isSettled ? next(ban, { kind: "announced" }, wallMs) : ban;
    const circumstances = { ...this.#circumstances(ban.heldBy, news.refusal), isToldAnew };
    const plan = planOf(settled, this.#policy.termsOf(ban.target), circumstances, wallMs);
    return next(settled, { kind: "planned", plan, isOut: news.isOut }, wallMs);
  }

  #circumstances(heldBy: readonly string[], refusal: string | null): Circumstances {
    const { makeRules, packetsOf } = this.#options;
    const attacks = heldBy.flatMap((id) => this.#attacks.get(id) ?? []);
    return { attacks, refusal, isToldAnew: false, packetsOf, makeRules, evidenceWaitMs: this.#policy.evidenceWaitMs };
  }

  #banOn(prefix: Prefix | null): Ban | undefined {
    return prefix === null ? undefined : this.#active.get(prefix.text);
  }

  #applyTo(prefix: Prefix, event: BanEvent, wallMs: number): void {
    const ban = this.#active.get(prefix.text);
    if (ban !== undefined) this.#change(ban, next(ban, event, wallMs));
  }

  /** By itself: stored soon. */
  #change(ban: Ban, changed: Ban): void {
    if (changed === ban) return;
    this.#put(changed, ban);
    this.#unsaved.soon(changed.id, changed);
  }

  #put(ban: Ban, previous: Ban | null): void {
    this.#active.put(ban);
    if (ban.state !== "active") {
      this.#ended.add(ban);
      this.#routes.forget(ban.id);
    }
    if (previous === null || areRoutesOther(ban, previous)) this.#areRoutesStale = true;
    this.#options.onChange(ban, previous);
  }

  /** Once for all changes of a call: the announcer takes the whole set each time. */
  #wantRoutesIfStale(): void {
    if (!this.#areRoutesStale) return;
    this.#areRoutesStale = false;
    const routes: Route[] = [];
    for (const ban of this.#active.values()) routes.push(...wantedRoutes(ban));
    this.#options.announcer?.want(routes);
  }

  #pardon(attackIds: readonly string[]): void {
    for (const id of attackIds) this.#pardoned.add(id);
  }

  #admit(request: Parameters<typeof admit>[0]): Admission {
    const active = this.#active;
    return admit(request, this.#policy, {
      isBanned: active.has(request.prefix.text),
      active: active.size,
      addresses: (family) => active.addresses(family),
    });
  }

  #newBan(prefix: Prefix, attack: Attack | null, wallMs: number): Ban {
    const { newId } = this.#options;
    const { dryRun } = this.#policy;
    const terms = this.#policy.termsOf(prefix.address);
    const last = this.#ended.lastOf(prefix);
    const circumstances = this.#circumstances(attack === null ? [] : [attack.id], null);
    return newBan({ id: newId(), prefix, attack, dryRun, last, terms, circumstances }, wallMs);
  }
}

function rejection(reason: Refusal): Pick<Ban, "state" | "reason" | "repeat" | "holdUntil"> {
  return { state: "rejected", reason, repeat: 0, holdUntil: null };
}

function areRoutesOther(ban: Ban, previous: Ban): boolean {
  return (
    ban.state !== previous.state ||
    ban.dryRun !== previous.dryRun ||
    ban.measure !== previous.measure ||
    ban.retiring !== previous.retiring
  );
}
