/**
 * Owns the table of bans, which attacks and operators request, and time and policy end. The announcer gets the routes
 * of the active bans. An operator's ban is stored before it takes effect; all else takes effect at once, so that no route
 * waits for the disk: after a kill in between, the next process withdraws unknown routes and detects attacks again.
 */
import type { Attack } from "../detection/attack/attack.ts";
import { newLargestFirst } from "../detection/attack/attack-size.ts";
import type { AttackChange } from "../detection/judge/detector.ts";
import type { Prefix } from "../net/prefix.ts";
import type { RecordTable } from "../system/record-table.ts";
import { ActiveBans } from "./active-bans.ts";
import { unbannableFor, withdrawnAs } from "./admission.ts";
import { announce } from "./announced-routes.ts";
import type { RouteState } from "./announcer.ts";
import { type Ban, type BanEvent, haveRoutesChanged, isWatching, MANUAL_UNBAN, next } from "./ban.ts";
import { type AttackAdmission, BanAdmission } from "./ban-admission.ts";
import type { BanAnswer } from "./ban-answer.ts";
import type { BanEngineOptions } from "./ban-engine-options.ts";
import { prefixUnderAttack } from "./ban-subject.ts";
import { underPolicy } from "./ban-under-policy.ts";
import { BannedAttacks } from "./banned-attacks.ts";
import type { Circumstances, Evidence, FoundRequest } from "./circumstances.ts";
import { type BanCount, CountedBans, countBans } from "./counted-bans.ts";
import { covers, EndedBans } from "./ended-bans.ts";
import { measureAt } from "./measure.ts";
import { clampStart, isSameRefusal, newBan, refusalOf, rejected, withForeignTimes } from "./new-ban.ts";
import { hasTerms } from "./order/ban-order.ts";
import { OperatorBans } from "./order/operator-bans.ts";
import type { OrderGiven } from "./order/ordered-ban.ts";
import { planOf } from "./plan.ts";
import { answering } from "./planned-rules.ts";
import { areBanned, type MitigationPolicy, termsFor, termsOfBan } from "./policy.ts";
import { withoutRefused } from "./retiring.ts";
import { ReviewTurn } from "./review-turn.ts";
import { NOT_TRIED, RouteWatch } from "./route-watch.ts";
import { NEW_RUNG, RungClock } from "./rung-clock.ts";
import { isVirtualAtFirst, takingOver } from "./virtual-bans.ts";
import { type Reach, type WantedChanges, wantedChanges } from "./wanted-changes.ts";

export class BanEngine {
  readonly #options: BanEngineOptions;
  #policy: MitigationPolicy;
  readonly #active = new ActiveBans(() => this.#policy.callers);
  readonly active: ReadonlyMap<string, Ban> = this.#active;
  /** Refused bans by attack in progress. Each tick requests them again. */
  readonly #refused = new CountedBans<string>();
  readonly #ended: EndedBans;
  readonly #attacks = new BannedAttacks();
  readonly #admission: BanAdmission;
  readonly operators: OperatorBans;
  readonly #unsaved: RecordTable<Ban>;
  readonly #routes: RouteWatch;
  readonly #rungs: RungClock;
  /** The routes of the active bans differ from those given to the announcer. */
  #areRoutesStale = false;
  #clockSteps = 0;
  readonly #turn = new ReviewTurn();

  constructor(options: BanEngineOptions) {
    this.#options = options;
    this.#policy = options.policy;
    this.#unsaved = options.store;
    this.#routes = new RouteWatch(options);
    this.#rungs = new RungClock(options.overThresholdMs, options.foreign);
    this.#ended = new EndedBans({ ...options, policy: () => this.#policy });
    const tables = { active: this.#active, ended: this.#ended, attacks: this.#attacks };
    this.#admission = new BanAdmission({ ...tables, policy: () => this.#policy });
    this.operators = new OperatorBans({
      ...{ table: this.#unsaved, active: this.#active, attacks: this.#attacks, admission: this.#admission },
      ...{ policy: () => this.#policy, clockSteps: () => this.#clockSteps },
      newBan: (order, by, wallMs) => this.#newBan(order.prefix, null, wallMs, { order, by }),
      replanned: (ban, wallMs) => this.#replanned(ban, wallMs),
      takeEffect: (ban, previous) => {
        this.#put(ban, previous);
        return this.#wantSoon();
      },
    });
  }

  /**
   * Restores stored bans (oldest first) and attacks in progress; ends bans that expired, that policy no longer allows,
   * or whose attack is missing. `attacks` null: they are not observed, and their bans last until they expire.
   */
  restore(stored: { readonly bans: readonly Ban[]; readonly attacks: readonly Attack[] | null }, wallMs: number): void {
    const { attacks } = stored;
    for (const attack of attacks ?? []) if (prefixUnderAttack(attack) !== null) this.#attacks.set(attack);
    for (const ban of stored.bans.map((was) => clampStart(was, wallMs))) {
      if (ban.state === "active") {
        // A kill while an order was carried out may leave two bans of one prefix: the later one stays.
        const other = this.#active.get(ban.prefix.text);
        if (other !== undefined) this.#unsaved.queue(other.id, null);
        this.#active.put(ban);
        this.#attacks.hold(ban);
      } else this.#ended.add(ban);
      // Only for attacks in progress: nothing would remove the exclusion of an ended one.
      if (ban.reason === MANUAL_UNBAN) this.#attacks.exclude(ban.heldBy.filter((id) => this.#attacks.has(id)));
    }
    // A kill between the writes of a ban and its attack leaves a ban that no event would end.
    for (const ban of attacks === null ? [] : [...this.#active.values()]) {
      const lost = ban.heldBy.filter((id) => !this.#attacks.has(id));
      for (const attackId of lost) this.#applyTo(ban.prefix, { kind: "attack_ended", attackId }, wallMs);
    }
    for (const ban of [...this.#active.values()]) this.#applyTo(ban.prefix, { kind: "clock" }, wallMs);
    this.reconfigure(this.#policy, wallMs);
  }

  /** Takes all changes of one tick, or a change of one attack between ticks. */
  attacksChanged(changes: readonly AttackChange[], wallMs: number): void {
    this.#admission.attacksChanged();
    const isNew = ({ kind, attack }: AttackChange) => kind !== "ended" && this.#banFor(attack) === undefined;
    for (const each of newLargestFirst(changes, isNew)) this.#guarded(() => this.#attackChanged(each, wallMs));
    this.#updateWantedRoutes();
  }

  /** Takes an attack after its classification: rules change with its kind, or if they miss packets. */
  attackClassified(attack: Attack, wallMs: number, evidence: Evidence = "reclassified"): void {
    if (!this.#attacks.has(attack.id)) return;
    this.#attacks.set(attack);
    const ban = this.#banFor(attack);
    if (ban !== undefined) this.#change(ban, this.#climbed(ban, wallMs, evidence));
    this.#updateWantedRoutes();
  }

  /** Takes rules that were found since they were requested. */
  rulesFound(answers: readonly FoundRequest[], wallMs: number): void {
    for (const answer of answers) {
      const ban = this.#active.get(answer.request.prefix.text);
      if (ban !== undefined) this.#guarded(() => this.#change(ban, this.#climbed(ban, wallMs, "newer", answer)));
    }
    this.#updateWantedRoutes();
  }

  /** For an operator, once it is on disk. Rejects when the store fails: then there is no ban. */
  ban = (...order: Parameters<OperatorBans["ban"]>): Promise<BanAnswer> => this.operators.ban(...order);

  /** The ban that ban() would make now, which may be a refusal. Nothing is changed. */
  preview = (...order: Parameters<OperatorBans["preview"]>): Ban => this.operators.preview(...order);

  unban = (...order: Parameters<OperatorBans["unban"]>): Promise<BanAnswer | null> => this.operators.unban(...order);

  /** Ends expired bans; applies due rungs and checks routes of at most BANS_REVIEWED bans, but of those replaced before their turn. */
  tick(wallMs: number): void {
    for (const [ban, isReviewed] of this.#turn.of([...this.#active.values()])) {
      if (this.#active.get(ban.prefix.text) !== ban) continue;
      this.#guarded(() => {
        const aged = next(withForeignTimes(ban, this.#options.foreign, wallMs), { kind: "clock" }, wallMs);
        this.#change(ban, isReviewed ? this.#climbed(aged, wallMs) : aged);
      });
    }
    this.#updateWantedRoutes();
  }

  /** The wall clock was set by `byMs`. Call this before any other method gets the new time. */
  clockStepped(byMs: number, wallMs: number): void {
    this.#clockSteps++;
    this.#rungs.clockStepped(byMs);
    for (const ban of [...this.#active.values()]) {
      this.#routes.forget(ban.id);
      this.#guarded(() => this.#change(ban, next(ban, { kind: "clock_stepped", byMs }, wallMs)));
    }
  }

  reconfigure(policy: MitigationPolicy, wallMs: number): void {
    const before = this.#policy;
    this.#policy = policy;
    for (const ban of [...this.#active.values()]) {
      this.#guarded(() => this.#change(ban, this.#applyPolicy(ban, before, wallMs)));
    }
    this.#areRoutesStale = true; // Also without a change: the announcer of a starting service has no routes yet.
    this.#updateWantedRoutes();
  }

  /** The routes that reconfigure() would announce and withdraw now. Nothing is changed. */
  changesUnder(policy: MitigationPolicy, wallMs: number, reach: Reach | null = null): WantedChanges {
    const before = this.#policy;
    this.#policy = policy;
    try {
      const pairOf = (ban: Ban) => [ban, this.#applyPolicy(ban, before, wallMs, true)] as const;
      return wantedChanges([...this.#active.values()].map(pairOf), reach);
    } finally {
      this.#policy = before;
    }
  }

  /** Also refused and ended ones, unordered. */
  all = (): Ban[] => [...this.#active.values(), ...this.#refused.values(), ...this.#ended.bans.values()];

  /** By state and method, in constant time. */
  counts = (): BanCount[] => countBans([this.#active, this.#refused, this.#ended.bans]);

  /** The current or last ban of an attack. */
  banOf(attack: Attack): Ban | null {
    const active = this.#banFor(attack);
    if (active !== undefined && (attack.endedAt === null || covers(active, attack))) return active;
    return this.#refused.get(attack.id) ?? this.#ended.of(attack);
  }

  /** null: nothing is announced (not active, virtual, only watching, or no speaker). */
  routeState = (ban: Ban): RouteState | null => this.#routes.stateOf(ban);

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
    else this.#banAttacked(prefix, attack, wallMs);
  }

  #attackLasts(ban: Ban, attack: Attack, prefix: Prefix, wallMs: number): void {
    const followed = ban.prefix.text === prefix.text ? ban : this.#follow(ban, attack, prefix, wallMs);
    const { ttlSeconds } = termsOfBan(this.#policy, followed).ban;
    const lasting = next(followed, { kind: "attack_lasts", attackId: attack.id, ttlSeconds }, wallMs);
    this.#change(followed, this.#takenIfNeeded(lasting, wallMs));
  }

  /** A ban that has only watched takes a place when it begins to act; without one it goes on watching. */
  #climbed(ban: Ban, wallMs: number, evidence: Evidence = "same", answer: FoundRequest | null = null): Ban {
    const climbed = this.#replanned(ban, wallMs, evidence, answer);
    const [attack] = this.#attacks.of(ban.heldBy);
    if (!isWatching(ban) || isWatching(climbed) || climbed.state !== "active") return climbed;
    if (attack === undefined) return this.#active.places < this.#policy.maxActiveBans ? climbed : ban;
    const { admission, replaced } = this.#admission.ofAttack(attack, ban.prefix, wallMs, { isClimbing: true });
    if (admission.kind === "refused") return ban;
    this.#replace(replaced, wallMs);
    return climbed;
  }

  #replace(replaced: AttackAdmission["replaced"], wallMs: number): void {
    for (const { ban, reason } of replaced) {
      this.#attacks.replaced(ban.heldBy);
      this.#change(ban, next(ban, { kind: "replaced", reason }, wallMs));
    }
  }

  /** @param of a reload: nothing ends for it; of its preview: nothing changes. */
  #takenIfNeeded(ban: Ban, wallMs: number, of: "attack" | "reload" | "preview" = "attack"): Ban {
    const attack = takingOver(ban, this.#attacks.of(ban.heldBy), this.#policy, (id) => this.#attacks.isExcluded(id));
    if (attack === null) return ban;
    const { admission, replaced } = this.#admission.ofAttack(attack, ban.prefix, wallMs, {
      isBecomingReal: true,
      replacesNone: of !== "attack",
    });
    if (admission.kind === "refused") return ban;
    this.#replace(replaced, wallMs);
    const { hasEscalation, ladder } = termsFor(this.#policy, ban.prefix);
    const taken = { kind: "taken_over", attack, escalation: hasEscalation ? ladder : null } as const;
    if (of !== "preview") this.#rungs.forget(ban.id);
    return this.#replanned(next(ban, taken, wallMs), wallMs);
  }

  /** The attack is now spread over another prefix. Returns the ban that it keeps in force from now on. */
  #follow(ban: Ban, attack: Attack, prefix: Prefix, wallMs: number): Ban {
    // After a restart the attack may be stored with a narrower prefix: a ban never becomes narrower.
    if (prefix.length >= ban.prefix.length) return ban;
    // No operator ordered the wider prefix: the attack gets a ban of its own there.
    if (ban.manual && !this.#active.has(prefix.text)) this.#banAttacked(prefix, attack, wallMs);
    const other = this.#active.get(prefix.text);
    if (other !== undefined) {
      this.#attacks.holds(attack.id, prefix);
      this.#applyTo(ban.prefix, { kind: "attack_ended", attackId: attack.id }, wallMs);
      return other;
    }
    // Neither an operator's ban moves nor one of two attacks, and none to a prefix that may not be banned.
    if (ban.manual || ban.heldBy.length > 1 || this.#admission.ofMove(ban, prefix, wallMs).kind === "refused")
      return ban;
    const there = { ...ban, prefix, measure: measureAt(ban.measure, ban.prefix, prefix) };
    const plan = planOf(there, termsFor(this.#policy, prefix), this.#circumstances(ban.heldBy), wallMs);
    const moved = next(ban, { kind: "moved", prefix, plan, isOut: this.#routes.statusOf(ban, wallMs).isOut }, wallMs);
    this.#routes.forget(ban.id);
    this.#change(ban, moved);
    return moved;
  }

  #banAttacked(prefix: Prefix, attack: Attack, wallMs: number): void {
    // A calm attack gets no new ban: it needs none, and a worse one may need the room.
    if (attack.calmSinceMs !== null || this.#attacks.isExcluded(attack.id) || !areBanned(this.#policy, prefix)) return;
    const { admission, replaced } = this.#admission.ofAttack(attack, prefix, wallMs);
    const previous = this.#refused.get(attack.id) ?? null;
    if (admission.kind === "refused" && isSameRefusal(previous, admission.reason, this.#policy)) return;
    const ban = this.#newBan(prefix, attack, wallMs);
    const refusal = admission.kind === "refused" ? admission.reason : refusalOf(ban);
    if (refusal !== null) {
      if (isSameRefusal(previous, refusal, this.#policy)) return;
      const refused = rejected(ban, refusal);
      this.#refused.set(attack.id, refused);
      this.#options.onChange(refused, previous);
      return;
    }
    this.#refused.delete(attack.id);
    this.#replace(replaced, wallMs);
    this.#put(ban, null);
    this.#unsaved.queue(ban.id, ban);
  }

  #attackEnded(attack: Attack, prefix: Prefix, wallMs: number): void {
    const held = this.#banFor(attack, prefix)?.prefix ?? prefix;
    this.#applyTo(held, { kind: "attack_ended", attackId: attack.id }, wallMs);
    const refused = this.#refused.get(attack.id);
    if (refused !== undefined) {
      this.#refused.delete(attack.id);
      this.#ended.add(refused);
      this.#unsaved.queue(refused.id, refused);
    }
    this.#attacks.delete(attack.id);
  }

  #applyPolicy(was: Ban, before: MitigationPolicy, wallMs: number, isPreview = false): Ban {
    const unbannable = unbannableFor(was.prefix, this.#policy, was.ordered !== undefined);
    if (unbannable !== null) return next(was, { kind: "disallowed", reason: withdrawnAs(unbannable) }, wallMs);
    const ban = this.#takenIfNeeded(was, wallMs, isPreview ? "preview" : "reload");
    const { isOut } = this.#routes.statusOf(ban, wallMs);
    const situation = { circumstances: this.#circumstances(ban.heldBy), isOut, wallMs, onFault: this.#options.onFault };
    const applied = underPolicy(ban, { before, after: this.#policy }, situation);
    const isOver = isWatching(ban) && !isWatching(applied) && this.#active.places >= this.#policy.maxActiveBans;
    return isOver ? next(ban, { kind: "disallowed", reason: "max_active_bans reached" }, wallMs) : applied;
  }

  /** The ban with the plan that follows from the present circumstances. */
  #replanned(ban: Ban, wallMs: number, evidence: Evidence = "same", answer: FoundRequest | null = null): Ban {
    if (ban.state !== "active") return ban;
    const status = this.#routes.statusOf(ban, wallMs);
    const settled = status.isSettled ? next(ban, { kind: "announced" }, wallMs) : ban;
    const present = this.#circumstances(ban.heldBy, status);
    const terms = termsOfBan(this.#policy, ban);
    const rung = this.#rungs.see(ban, present.attacks, terms.ban.deescalateAfterSeconds, wallMs);
    const makeRules = answering(answer, present.makeRules);
    const plan = planOf(settled, terms, { ...present, evidence, rung, makeRules }, wallMs);
    return withoutRefused(next(settled, { kind: "planned", plan, isOut: status.isOut }, wallMs), present.enclosing);
  }

  #circumstances(heldBy: readonly string[], { refusal, isTakenAgain } = NOT_TRIED): Circumstances {
    const [attacks, { evidenceWaitMs, isHooked }] = [this.#attacks.of(heldBy), this.#policy];
    const others = { refusal, isTakenAgain, enclosing: this.#active.enclosing(this.#policy), isHooked };
    return { ...this.#options, ...others, attacks, evidence: "same", evidenceWaitMs, rung: NEW_RUNG };
  }

  /** The ban that the attack keeps in force, or else the ban of its prefix. */
  #banFor(attack: Attack, prefix = prefixUnderAttack(attack)): Ban | undefined {
    const held = attack.carpet === null ? undefined : this.#active.get(this.#attacks.heldPrefix(attack.id) ?? "");
    if (held?.heldBy.includes(attack.id) === true) return held;
    return prefix === null ? undefined : this.#active.get(prefix.text);
  }

  #applyTo(prefix: Prefix, event: BanEvent, wallMs: number): void {
    const ban = this.#active.get(prefix.text);
    if (ban !== undefined) this.#change(ban, next(ban, event, wallMs));
  }

  #change(ban: Ban, changed: Ban): void {
    if (changed === ban) return;
    this.#put(changed, ban);
    this.#unsaved.queue(changed.id, changed);
  }

  #put(ban: Ban, previous: Ban | null): void {
    this.#active.put(ban, previous);
    this.#attacks.hold(ban);
    if (ban.state !== "active") {
      this.#ended.add(ban);
      this.#routes.forget(ban.id);
      this.#rungs.forget(ban.id);
    }
    if (previous === null || haveRoutesChanged(ban, previous)) this.#areRoutesStale = true;
    this.#options.onChange(ban, previous);
  }

  /** Once for all orders that the disk took at once, before any of them is answered. */
  async #wantSoon(): Promise<void> {
    await this.#options.goOn?.();
    this.#guarded(() => this.#updateWantedRoutes());
  }

  /** Called once after all changes: the announcer takes the whole set. */
  #updateWantedRoutes(): void {
    if (!this.#areRoutesStale) return;
    this.#areRoutesStale = false;
    announce(this.#options, this.#active.values());
  }

  #newBan(prefix: Prefix, attack: Attack | null, wallMs: number, { order, by }: Partial<OrderGiven> = {}): Ban {
    const dryRun = order?.isDryRun === true || isVirtualAtFirst(prefix, attack, this.#policy);
    const made = { prefix, ...(order && hasTerms(order.terms) && { ordered: order.terms }) };
    const terms = termsOfBan(this.#policy, made);
    const [circumstances, last] = [this.#circumstances(attack === null ? [] : [attack.id]), this.#ended.lastOf(prefix)];
    return newBan({ id: this.#options.newId(), ...made, by, attack, dryRun, last, terms, circumstances }, wallMs);
  }
}
