/**
 * Applies admit() to the tables of the ban engine: for an operator, for a ban that moves, and for an attack, which may
 * replace bans in force at a cap.
 */
import type { Holder } from "../access/shares.ts";
import type { Attack } from "../detection/attack/attack.ts";
import { sizeOfRates } from "../detection/attack/attack-size.ts";
import { addressesIn, type Prefix } from "../net/prefix.ts";
import type { ActiveBans } from "./active-bans.ts";
import {
  type Admission,
  type AdmissionRequest,
  admit,
  type Cap,
  isCap,
  manualAddressRoom,
  manualRoom,
  OVER_ADDRESSES,
  OVER_SHARE,
  replacedAt,
} from "./admission.ts";
import { type Ban, holderOf, isWatching } from "./ban.ts";
import { isOneAddress } from "./ban-subject.ts";
import type { BannedAttacks } from "./banned-attacks.ts";
import type { EndedBans } from "./ended-bans.ts";
import { type BanOrder, hasTerms } from "./order/ban-order.ts";
import type { OrderRefusal } from "./order/order-policy.ts";
import { isVirtualBy } from "./order/ordered-ban.ts";
import { type MitigationPolicy, termsFor } from "./policy.ts";
import { isCoolingDown } from "./repetition.ts";
import { ReplaceableBans } from "./replaceable-bans.ts";
import { ReplacementBudget } from "./replacement-budget.ts";

interface Tables {
  readonly active: ActiveBans;
  readonly ended: EndedBans;
  readonly attacks: BannedAttacks;
  readonly policy: () => MitigationPolicy;
}

export interface AttackAdmission {
  readonly admission: Admission;
  /** The bans that end for it, because a cap is reached. */
  readonly replaced: readonly { readonly ban: Ban; readonly reason: string }[];
}

/** The ban that the attack has. */
interface PresentBan {
  /** It has only watched, and takes a place now. */
  readonly isClimbing?: boolean;
  /** It was virtual by order, and takes its addresses now. */
  readonly isBecomingReal?: boolean;
  /** No other ban ends for it. */
  readonly replacesNone?: boolean;
}

export class BanAdmission {
  readonly #tables: Tables;
  /** Made at the first need in a tick. */
  #replaceable: ReplaceableBans | null = null;
  readonly #budget = new ReplacementBudget();

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** The attacks have changed. */
  attacksChanged(): void {
    this.#replaceable = null;
  }

  /**
   * For an operator. At a cap nothing is replaced: the operator chooses. A tenant has a share of its own, also of
   * automatic bans that its order makes manual ones, which no attack replaces.
   */
  ofOperator(order: BanOrder, by: Holder): Admission {
    const { prefix } = order;
    const { active, policy } = this.#tables;
    const present = active.get(prefix.text);
    // An operator's ban acts at once.
    const isClimbing = present !== undefined && isWatching(present);
    const isVirtual = isVirtualBy(order, present ?? null, policy());
    const isBecomingReal = !isVirtual && present?.isVirtualOrder === true;
    const request = { prefix, isCoolingDown: false, isOrdered: true, isClimbing, isVirtual, isBecomingReal };
    const admission = this.#admit(request, []);
    if (admission.kind === "refused") return admission;
    const fault = faultBeside(order, present ?? null) ?? policy().orders.faultOf(order, by);
    if (fault !== null) return { kind: "refused", reason: fault };
    if (by.tenant === null) return admission;
    if (present !== undefined && isOthers(order, present)) return { kind: "refused", reason: OTHERS };
    const holder = present === undefined ? null : holderOf(present);
    const { operator, tenant } = this.shareOf(prefix, by);
    if (tenant === null) return admission;
    // It stays in the share that it is in.
    const isIn = holder?.tenant === tenant && holder.operator === operator;
    const isOver = !isIn && active.shares.refusal(by, manualRoom(policy())) !== null;
    if (isOver) return { kind: "refused", reason: OVER_SHARE };
    const room = isVirtual || (isIn && !isBecomingReal) ? null : manualAddressRoom(policy(), prefix.family);
    const isFull = room !== null && active.addressShares[prefix.family].refusal(by, room, addressesIn(prefix)) !== null;
    return isFull ? { kind: "refused", reason: OVER_ADDRESSES } : admission;
  }

  /** The holder whose share an order takes. A ban that the administrator ordered stays the administrator's. */
  shareOf(prefix: Prefix, by: Holder): Holder {
    const present = this.#tables.active.get(prefix.text);
    return present !== undefined && holderOf(present)?.tenant === null ? { ...by, tenant: null } : by;
  }

  /** For a ban that moves to a wider prefix. */
  ofMove(ban: Ban, prefix: Prefix, wallMs: number): Admission {
    return this.#admit({ prefix, isCoolingDown: this.#isCoolingDown(prefix, wallMs) }, [ban]);
  }

  /** At a cap call it for the largest attack first: the room and the replacements are bounded. */
  ofAttack(
    attack: Attack,
    prefix: Prefix,
    wallMs: number,
    { isClimbing = false, isBecomingReal = false, replacesNone = false }: PresentBan = {},
  ): AttackAdmission {
    const isWatching = !isClimbing && termsFor(this.#tables.policy(), prefix).ladder[0]?.action === "none";
    const isCoolingDown = this.#isCoolingDown(prefix, wallMs);
    const request = { prefix, isCoolingDown, isClimbing, isWatching, isBecomingReal };
    const first = this.#admit(request, []);
    const cap = capOf(first);
    if (cap === null || replacesNone) return { admission: first, replaced: [] };
    const { active, attacks } = this.#tables;
    this.#replaceable ??= new ReplaceableBans(active.values(), attacks, wallMs);
    const newcomer = { size: sizeOfRates(attack.rates), isBack: attacks.wasReplaced(attack.id) };
    const replaced: Ban[] = [];
    let reached = cap;
    for (const { id, prefix: banned } of this.#replaceable.before(newcomer)) {
      const ban = active.get(banned.text);
      // Ended earlier in this tick, or ordered by an operator meanwhile.
      if (ban?.id !== id || ban.manual) continue;
      if (reached === "max_banned_fraction reached" && banned.family !== prefix.family) continue;
      replaced.push(ban);
      const admission = this.#admit(request, replaced);
      const next = capOf(admission);
      if (next === null) {
        if (!this.#budget.take(wallMs)) break;
        return { admission, replaced: replaced.map((one) => ({ ban: one, reason: replacedAt(cap) })) };
      }
      reached = next;
    }
    return { admission: first, replaced: [] };
  }

  #isCoolingDown(prefix: Prefix, wallMs: number): boolean {
    const { ended, policy } = this.#tables;
    return isCoolingDown(ended.lastOf(prefix), termsFor(policy(), prefix).ban, wallMs);
  }

  /** @param without bans that would end for it. One for one is allowed even above a cap that a reload has lowered. */
  #admit(request: AdmissionRequest, without: readonly Ban[]): Admission {
    const { prefix } = request;
    const { active, policy } = this.#tables;
    const left = active.places - without.length;
    const { maxActiveBans } = policy();
    return admit(request, policy(), {
      isBanned: request.isClimbing !== true && active.has(prefix.text),
      active: without.length === 0 ? left : Math.min(left, maxActiveBans - 1),
      addresses: (family) => active.addresses(family) - active.addressesOf(without, family),
    });
  }
}

/** Beside a ban in force: it would end by a virtual one, without the word for that. */
function faultBeside({ prefix, terms, isDryRun }: BanOrder, present: Ban | null): OrderRefusal | null {
  if (present === null) {
    return terms.method === undefined && !isOneAddress(prefix) ? "order: a prefix needs a method: say which" : null;
  }
  if (!isDryRun || present.dryRun) return null;
  return "order: the ban in force does not become virtual: unban it first, or leave out dry_run";
}

const OTHERS: OrderRefusal = "order: a token without a tenant ordered this ban: ask them to change it";

/** Whether a tenant would change what the administrator ordered, or make it real; it may prolong it. */
function isOthers({ terms, ttlSeconds, isDryRun }: BanOrder, present: Ban): boolean {
  if (holderOf(present)?.tenant !== null) return false;
  if (present.isVirtualOrder === true && !isDryRun) return true;
  return present.ordered !== undefined && (hasTerms(terms) || ttlSeconds !== null);
}

/** null: it is not refused because of a cap. */
function capOf(admission: Admission): Cap | null {
  return admission.kind === "refused" && isCap(admission.reason) ? admission.reason : null;
}
