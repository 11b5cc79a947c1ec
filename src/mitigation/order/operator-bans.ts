/** Carries out the orders of operators for bans, in the tables of the ban engine. */
import { ADMINISTRATOR, type Holder } from "../../access/shares.ts";
import type { IpAddress } from "../../net/address.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { RecordTable } from "../../system/record-table.ts";
import type { ActiveBans } from "../active-bans.ts";
import { type Ban, type BanEvent, next, TTL_EXPIRED } from "../ban.ts";
import type { BanAdmission } from "../ban-admission.ts";
import type { BanAnswer } from "../ban-answer.ts";
import type { BannedAttacks } from "../banned-attacks.ts";
import type { MitigationPolicy } from "../policy.ts";
import type { BanOrder, ManyOrders } from "./ban-order.ts";
import { type BanOrderRecord, orderOfRecord } from "./ban-order-record.ts";
import { orderedBan, storeOrdered } from "./ordered-ban.ts";

interface OperatorBansOptions {
  readonly table: RecordTable<Ban>;
  readonly active: ActiveBans;
  readonly attacks: BannedAttacks;
  readonly admission: BanAdmission;
  readonly policy: () => MitigationPolicy;
  /** How often the wall clock was set. */
  readonly clockSteps: () => number;
  readonly newBan: (order: BanOrder, by: Holder, wallMs: number) => Ban;
  readonly replanned: (ban: Ban, wallMs: number) => Ban;
  /** Resolves when its routes are wanted. */
  readonly takeEffect: (ban: Ban, previous: Ban | null) => Promise<void>;
}

export class OperatorBans {
  readonly #options: OperatorBansOptions;

  constructor(options: OperatorBansOptions) {
    this.#options = options;
  }

  ban(order: BanOrder, now: () => number, by: Holder = ADMINISTRATOR): Promise<BanAnswer> {
    const { table, active, policy, clockSteps, takeEffect } = this.#options;
    const present = () => active.get(order.prefix.text) ?? null;
    return storeOrdered({
      table,
      decide: () => this.preview(order, now(), by),
      present,
      basis: () => [policy(), clockSteps()],
      takeEffect: (ban) => takeEffect(ban, present()),
    });
  }

  preview(order: BanOrder, wallMs: number, by: Holder = ADMINISTRATOR): Ban {
    const { active, admission: admissions, policy, newBan, replanned } = this.#options;
    const { prefix } = order;
    const [admission, share] = [admissions.ofOperator(order, by), admissions.shareOf(prefix, by)];
    const given = { order, by: share, admission, existing: active.get(prefix.text) ?? null, policy: policy() };
    const maker = { newBan: () => newBan(order, share, wallMs), replanned: (ban: Ban) => replanned(ban, wallMs) };
    return orderedBan(given, maker, wallMs);
  }

  /** See ActiveBans.replacedBy. */
  replacedBy(ban: Ban): readonly Ban[] {
    return this.#options.active.replacedBy(ban);
  }

  /** The active ban of the prefix, or of an address the one of the narrowest prefix that begins with it; null: none. */
  inForce(of: IpAddress | Prefix): Ban | null {
    const { active } = this.#options;
    return typeof of === "string" ? active.startingAt(of) : (active.get(of.text) ?? null);
  }

  /** Each order as it would be, once those that end have ended and the orders before it are in force. Nothing is changed. */
  previewAll({ orders, ended }: ManyOrders, wallMs: number, by: Holder): Ban[] {
    const { active } = this.#options;
    const tried: (readonly [made: Ban, present: Ban | null])[] = [];
    const ending = ended.flatMap((of) => this.inForce(of) ?? []);
    try {
      for (const ban of ending) active.put({ ...ban, state: "withdrawn" });
      return orders.map((order) => {
        const present = active.get(order.prefix.text) ?? null;
        const made = this.preview(order, wallMs, by);
        if (made.state === "active") {
          tried.push([made, present]);
          active.put(made, present);
        }
        return made;
      });
    } finally {
      for (const [made, present] of tried.reverse()) active.put(present ?? { ...made, state: "withdrawn" });
      for (const ban of ending) active.put(ban);
    }
  }

  /** Ends at once the ban that is in force there. null: none is. */
  async unban(of: IpAddress | Prefix, wallMs: number, by?: Ban["endedBy"]): Promise<BanAnswer | null> {
    const { table, attacks, takeEffect } = this.#options;
    const ban = this.inForce(of);
    if (ban === null) return null;
    const withdrawn = next(ban, { kind: "unbanned", ...(by && { by }) }, wallMs);
    table.sharing?.ends(withdrawn.id, withdrawn);
    const saved = table.save(withdrawn.id, withdrawn);
    attacks.exclude(ban.heldBy);
    void takeEffect(withdrawn, ban);
    return { ban: withdrawn, isSaved: await saved };
  }

  /** The ban that an operator ordered for the prefix and that is in force; null: none. */
  present(prefix: string): Ban | null {
    const ban = this.#options.active.get(prefix);
    return ban?.manual === true ? ban : null;
  }

  /** All of that. */
  all(): Ban[] {
    return [...this.#options.active.values()].filter(({ manual }) => manual);
  }

  /** The order of another brain, once it is there. Returns null, or why there is no ban of it here. */
  adopt(record: BanOrderRecord, wallMs: number): string | null {
    const { table, active, takeEffect } = this.#options;
    const { order, by } = orderOfRecord(record, wallMs);
    const present = active.get(record.prefix) ?? null;
    const made = this.preview(order, wallMs, by);
    if (made.state === "rejected") return made.reason;
    const { id, startedAt, countedFrom, expiresAt } = record;
    const ban = present === null ? { ...made, id, startedAt, countedFrom, expiresAt } : { ...made, expiresAt };
    table.queue(ban.id, ban);
    void takeEffect(ban, present);
    return null;
  }

  /**
   * Another brain has ended the ban of the prefix, by an unban or, with `by` null, since the time of its order is over:
   * then a ban of attacks stays. @param atMs wall clock, ms: a ban of attacks that began after it stays, too; of two orders
   * the stamp has decided.
   */
  endAdopted(
    prefix: string,
    { by, atMs }: { readonly by: Ban["endedBy"] | null; readonly atMs: number },
    wallMs: number,
  ): void {
    const { table, active, attacks, takeEffect } = this.#options;
    const ban = active.get(prefix);
    if (ban === undefined || (by === null && !ban.manual)) return;
    // The clock may have been set since: the time that is counted from moves with it.
    if (!ban.manual && Math.min(ban.startedAt, ban.countedFrom) > atMs) return;
    const event: BanEvent =
      by === null ? { kind: "disallowed", reason: TTL_EXPIRED } : { kind: "unbanned", ...(by && { by }) };
    const ended = next(ban, event, wallMs);
    table.queue(ended.id, ended);
    if (by !== null) attacks.exclude(ban.heldBy);
    void takeEffect(ended, ban);
  }
}
