/**
 * Owns the table of bans: attacks and operators ask for bans here, time and policy end them. The routes wanted of the
 * announcer are always those of the active bans. What an operator orders is stored before it is answered. What happens by
 * itself is stored by the next flush(), so that no disk stands between an attack and its route: a process killed in
 * between finds a route that it does not want at its next start, withdraws it, and detects the attack anew.
 */
import { isDeepStrictEqual } from "node:util";
import type { Attack } from "../detection/attack/attack.ts";
import type { AttackChange } from "../detection/judge/detector.ts";
import type { IpAddress } from "../net/address.ts";
import { hostPrefix, type Prefix } from "../net/prefix.ts";
import { ActiveBans } from "./active-bans.ts";
import { type Admission, addressesIn, admit, unbannableFor, withdrawnAs } from "./admission.ts";
import type { Announcer, RouteState } from "./announcer.ts";
import { type Ban, type BanEvent, hasOtherRoutes, MANUAL_UNBAN, next, type Plan, wantedRoutes } from "./ban.ts";
import { type StoredBansOptions, unsavedBans } from "./ban-store.ts";
import { prefixUnderAttack } from "./ban-subject.ts";
import { BannedAttacks } from "./banned-attacks.ts";
import { type BanCount, CountedBans, countBans } from "./counted-bans.ts";
import { covers, EndedBans } from "./ended-bans.ts";
import { measureAt } from "./measure.ts";
import { begunBy, isRefusedAs, newBan, refusalOf, rejected } from "./new-ban.ts";
import { type BanTerms, type Circumstances, type Evidence, planOf } from "./plan.ts";
import { areBanned, type MitigationPolicy, termsFor } from "./policy.ts";
import { isCoolingDown } from "./repetition.ts";
import { RouteWatch } from "./route-watch.ts";

type Sources = Pick<Circumstances, "packetsOf" | "makeRules" | "divertTo">;

export interface BanEngineOptions extends StoredBansOptions, Sources {
  readonly policy: MitigationPolicy;
  readonly announcer: Announcer | null;
  readonly newId: () => string;
  /** Ended bans that stay in the table and the store. */
  readonly endedKept: number;
  /** After any change of a ban; `previous` is null for a new one. */
  readonly onChange: (ban: Ban, previous: Ban | null) => void;
  /** One ban could not be brought on: it stays as it was until the next time, and all others go on. */
  readonly onFault: (cause: unknown) => void;
}

/** Bans whose rungs and routes are looked at in one tick, so that it does not keep the event loop for long. */
export const BANS_REVIEWED = 2000;

export class BanEngine {
  readonly #options: BanEngineOptions;
  readonly #sources: Sources;
  #policy: MitigationPolicy;
  readonly #active = new ActiveBans();
  /** Refused bans of attacks in progress, by attack. They are asked for again each tick. */
  readonly #refused = new CountedBans<string>();
  readonly #ended: EndedBans;
  readonly #attacks = new BannedAttacks();
  readonly #unsaved: ReturnType<typeof unsavedBans>;
  readonly #routes: RouteWatch;
  /** The routes of the active bans are others than the announcer knows. */
  #areRoutesStale = false;
  /** Place in the table. */
  #nextReviewed = 0;

  constructor(options: BanEngineOptions) {
    const { packetsOf, makeRules, divertTo } = options;
    this.#options = options;
    this.#sources = { packetsOf, makeRules, divertTo };
    this.#policy = options.policy;
    this.#unsaved = unsavedBans(options);
    this.#routes = new RouteWatch(options.announcer);
    this.#ended = new EndedBans(options.endedKept, (id) => this.#unsaved.soon(id, null));
  }

  /**
   * What the store had: bans, oldest first, and the attacks in progress. Ends what expired, what policy no longer allows
   * and what lost its attack, and wants the rest. `attacks` null: nobody can see how they go on, and their bans run to
   * their expiry.
   */
  restore(stored: { readonly bans: readonly Ban[]; readonly attacks: readonly Attack[] | null }, wallMs: number): void {
    const { attacks } = stored;
    for (const attack of attacks ?? []) if (prefixUnderAttack(attack) !== null) this.#attacks.set(attack);
    for (const ban of stored.bans.map((was) => begunBy(was, wallMs))) {
      if (ban.state === "active") {
        this.#active.put(ban);
        this.#attacks.hold(ban);
      } else this.#ended.add(ban);
      // Of an attack that is over nobody would ever take the pardon back.
      if (ban.reason === MANUAL_UNBAN) this.#attacks.pardon(ban.heldBy.filter((id) => this.#attacks.has(id)));
    }
    // A process killed between writing a ban and its attack leaves a ban whose attack nobody would see end.
    for (const ban of attacks === null ? [] : [...this.#active.values()]) {
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

  /** Packets of it were looked at: rules follow what it is, and, where that is as before, packets that they miss. */
  attackClassified(attack: Attack, wallMs: number, evidence: Evidence = "told"): void {
    if (!this.#attacks.has(attack.id)) return;
    this.#attacks.set(attack);
    const ban = this.#banFor(attack);
    if (ban !== undefined) this.#change(ban, this.#reconsidered(ban, wallMs, evidence));
    this.#wantRoutesIfStale();
  }

  /** By an operator. Throws when the store cannot keep it: then there is no ban. */
  ban(target: IpAddress, wallMs: number): Ban {
    const ban = this.preview(target, wallMs);
    if (ban.state === "rejected") return ban;
    this.#unsaved.now([[ban.id, ban]]);
    this.#put(ban, this.#active.get(ban.prefix.text) ?? null);
    this.#wantRoutesIfStale();
    return ban;
  }

  /** What an operator's order would come to now, a refusal included. Nothing is done. */
  preview(target: IpAddress, wallMs: number): Ban {
    const prefix = hostPrefix(target);
    const admission = this.#admit({ prefix, isCoolingDown: false });
    const existing = this.#active.get(prefix.text);
    const { ttlSeconds } = this.#policy.termsOf(target).ban;
    const ban =
      existing === undefined || admission.kind === "refused"
        ? this.#newBan(prefix, null, wallMs)
        : this.#reconsidered(next(existing, { kind: "refreshed", ttlSeconds }, wallMs), wallMs);
    const refusal = admission.kind === "refused" ? admission.reason : refusalOf(ban);
    return refusal === null ? ban : rejected(ban, refusal);
  }

  /**
   * By an operator: the ban of the address, or, where it has none, that of the narrowest prefix whose first address it is.
   * null: there is none active. Throws when the store cannot keep it: then the ban stays.
   */
  unban(target: IpAddress, wallMs: number): Ban | null {
    const ban = this.#active.startingAt(target);
    if (ban === null) return null;
    const withdrawn = next(ban, { kind: "unbanned" }, wallMs);
    this.#unsaved.now([[withdrawn.id, withdrawn]]);
    this.#attacks.pardon(ban.heldBy);
    this.#put(withdrawn, ban);
    this.#wantRoutesIfStale();
    return withdrawn;
  }

  /** Ends what has expired, climbs the ladders, and looks at what has become of routes: in turns, where there are many. */
  tick(wallMs: number): void {
    const bans = [...this.#active.values()];
    const from = bans.length > BANS_REVIEWED ? this.#nextReviewed % bans.length : 0;
    for (const [i, ban] of bans.entries()) {
      const isReviewed = (i - from + bans.length) % bans.length < BANS_REVIEWED;
      this.#guarded(() => {
        const aged = next(ban, { kind: "clock" }, wallMs);
        this.#change(ban, isReviewed ? this.#reconsidered(aged, wallMs) : aged);
      });
    }
    this.#nextReviewed = from + BANS_REVIEWED;
    this.#wantRoutesIfStale();
  }

  /** The wall clock was set by so much; to be told before the new time is used for anything else. */
  clockStepped(byMs: number, wallMs: number): void {
    for (const ban of [...this.#active.values()]) {
      this.#routes.forget(ban.id);
      this.#guarded(() => this.#change(ban, next(ban, { kind: "clock_stepped", byMs }, wallMs)));
    }
  }

  /** Stores what happened by itself since the last time; all of it waits on when the write fails. */
  flush(): void {
    this.#unsaved.flush();
  }

  get unsaved(): number {
    return this.#unsaved.unsaved;
  }

  reconfigure(policy: MitigationPolicy, wallMs: number): void {
    const before = this.#policy;
    this.#policy = policy;
    for (const ban of [...this.#active.values()]) {
      this.#guarded(() => this.#change(ban, this.#underPolicy(ban, before, wallMs)));
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
    const active = this.#banFor(attack);
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
    this.#attacks.set(attack);
    const ban = this.#banFor(attack, prefix);
    if (ban !== undefined) this.#attackLasts(ban, attack, prefix, wallMs);
    else if (!this.#attacks.isPardoned(attack.id) && areBanned(this.#policy, prefix))
      this.#banAttacked(prefix, attack, wallMs);
  }

  #attackLasts(ban: Ban, attack: Attack, prefix: Prefix, wallMs: number): void {
    const followed = ban.prefix.text === prefix.text ? ban : this.#follow(ban, attack, prefix, wallMs);
    const { ttlSeconds } = termsFor(this.#policy, followed.prefix).ban;
    this.#change(followed, next(followed, { kind: "attack_lasts", attackId: attack.id, ttlSeconds }, wallMs));
  }

  /** The attack is spread over another prefix than its ban is of. Returns the ban that it holds from now on. */
  #follow(ban: Ban, attack: Attack, prefix: Prefix, wallMs: number): Ban {
    // A restart may know an attack as it began: a ban grows no narrower.
    if (prefix.length >= ban.prefix.length) return ban;
    const other = this.#active.get(prefix.text);
    if (other !== undefined) {
      this.#attacks.holds(attack.id, prefix);
      this.#applyTo(ban.prefix, { kind: "attack_ended", attackId: attack.id }, wallMs);
      return other;
    }
    // What two attacks hold stays where it is; and what may not be banned leaves the ban as wide as it is.
    if (ban.heldBy.length > 1 || this.#admitAttacked(prefix, wallMs, ban).kind === "refused") return ban;
    const there = { ...ban, prefix, measure: measureAt(ban.measure, ban.prefix, prefix) };
    const plan = planOf(there, termsFor(this.#policy, prefix), this.#circumstances(ban.heldBy, null), wallMs);
    const moved = next(ban, { kind: "moved", prefix, plan, isOut: this.#routes.newsOf(ban, wallMs).isOut }, wallMs);
    this.#routes.forget(ban.id);
    this.#change(ban, moved);
    return moved;
  }

  #banAttacked(prefix: Prefix, attack: Attack, wallMs: number): void {
    const admission = this.#admitAttacked(prefix, wallMs);
    const previous = this.#refused.get(attack.id) ?? null;
    if (admission.kind === "refused" && isRefusedAs(previous, admission.reason, this.#policy)) return;
    const ban = this.#newBan(prefix, attack, wallMs);
    const refusal = admission.kind === "refused" ? admission.reason : refusalOf(ban);
    if (refusal !== null) {
      if (isRefusedAs(previous, refusal, this.#policy)) return;
      const refused = rejected(ban, refusal);
      this.#refused.set(attack.id, refused);
      this.#options.onChange(refused, previous);
      return;
    }
    this.#refused.delete(attack.id);
    this.#put(ban, null);
    this.#unsaved.soon(ban.id, ban);
  }

  #attackEnded(attack: Attack, prefix: Prefix, wallMs: number): void {
    const held = this.#banFor(attack, prefix)?.prefix ?? prefix;
    this.#applyTo(held, { kind: "attack_ended", attackId: attack.id }, wallMs);
    const refused = this.#refused.get(attack.id);
    if (refused !== undefined) {
      this.#refused.delete(attack.id);
      this.#ended.add(refused);
      this.#unsaved.soon(refused.id, refused);
    }
    this.#attacks.delete(attack.id);
  }

  #underPolicy(ban: Ban, before: MitigationPolicy, wallMs: number): Ban {
    const { dryRun } = this.#policy;
    const unbannable = unbannableFor(ban.prefix, this.#policy);
    if (unbannable !== null) return next(ban, { kind: "disallowed", reason: withdrawnAs(unbannable) }, wallMs);
    const terms = termsFor(this.#policy, ban.prefix);
    // What was refused under other terms is tried again.
    const fallback = isDeepStrictEqual(termsFor(before, ban.prefix), terms) ? ban.fallback : null;
    const event: BanEvent = {
      kind: "policy",
      dryRun,
      escalation: terms.hasEscalation ? terms.ladder : null,
      plan: this.#planOrAsItIs({ ...ban, dryRun, fallback }, terms, wallMs),
      isOut: this.#routes.newsOf(ban, wallMs).isOut,
    };
    return next(ban, event, wallMs);
  }

  /** What cannot be planned does what it did: it still becomes virtual with all others. */
  #planOrAsItIs(ban: Ban, terms: BanTerms, wallMs: number): Plan {
    try {
      return planOf(ban, terms, this.#circumstances(ban.heldBy, null), wallMs);
    } catch (cause) {
      this.#options.onFault(cause);
      const { step, method, measure, fallback } = ban;
      return { step, method, measure, fallback };
    }
  }

  /** What is to be done for it now, of what is known now. */
  #reconsidered(ban: Ban, wallMs: number, evidence: Evidence = "same"): Ban {
    if (ban.state !== "active") return ban;
    const news = this.#routes.newsOf(ban, wallMs);
    const settled = news.isSettled ? next(ban, { kind: "announced" }, wallMs) : ban;
    const circumstances = { ...this.#circumstances(ban.heldBy, news.refusal), evidence };
    const plan = planOf(settled, termsFor(this.#policy, ban.prefix), circumstances, wallMs);
    return next(settled, { kind: "planned", plan, isOut: news.isOut }, wallMs);
  }

  #circumstances(heldBy: readonly string[], refusal: string | null): Circumstances {
    const attacks = this.#attacks.of(heldBy);
    return { ...this.#sources, attacks, refusal, evidence: "same", evidenceWaitMs: this.#policy.evidenceWaitMs };
  }

  /** The one that it holds, or else that of what it is on. */
  #banFor(attack: Attack, prefix = prefixUnderAttack(attack)): Ban | undefined {
    const held = attack.carpet === null ? undefined : this.#active.get(this.#attacks.heldPrefix(attack.id) ?? "");
    if (held?.heldBy.includes(attack.id) === true) return held;
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
    this.#active.put(ban, previous);
    this.#attacks.hold(ban);
    if (ban.state !== "active") {
      this.#ended.add(ban);
      this.#routes.forget(ban.id);
    }
    if (previous === null || hasOtherRoutes(ban, previous)) this.#areRoutesStale = true;
    this.#options.onChange(ban, previous);
  }

  /** Once for all changes of a call: the announcer takes the whole set each time. */
  #wantRoutesIfStale(): void {
    if (!this.#areRoutesStale) return;
    this.#areRoutesStale = false;
    this.#options.announcer?.want([...this.#active.values()].flatMap(wantedRoutes));
  }

  /** @param instead a ban whose place the new one would take. */
  #admitAttacked(prefix: Prefix, wallMs: number, instead: Ban | null = null): Admission {
    const { ban: config } = termsFor(this.#policy, prefix);
    const isCooling = isCoolingDown(this.#ended.lastOf(prefix), config, wallMs);
    return this.#admit({ prefix, isCoolingDown: isCooling }, instead);
  }

  #admit(request: Parameters<typeof admit>[0], instead: Ban | null = null): Admission {
    const active = this.#active;
    return admit(request, this.#policy, {
      isBanned: active.has(request.prefix.text),
      active: active.size - (instead === null ? 0 : 1),
      addresses: (family) => active.addresses(family) - (instead === null ? 0 : addressesIn(instead.prefix)),
    });
  }

  #newBan(prefix: Prefix, attack: Attack | null, wallMs: number): Ban {
    const { dryRun } = this.#policy;
    const [terms, last] = [termsFor(this.#policy, prefix), this.#ended.lastOf(prefix)];
    const circumstances = this.#circumstances(attack === null ? [] : [attack.id], null);
    return newBan({ id: this.#options.newId(), prefix, attack, dryRun, last, terms, circumstances }, wallMs);
  }
}
