/** Standing orders of all kinds in one form, for those who are notified of them. */
import type { Tenancy } from "../access/tenancy.ts";
import type { Lever } from "../edge/zones/levers.ts";
import type { Ban, BanChange } from "../mitigation/ban.ts";
import { isOneAddress } from "../mitigation/ban-subject.ts";
import type { WindowOrder } from "../mitigation/maintenance/maintenance-windows.ts";
import type { RuleOrder } from "../mitigation/operator/filter-rules.ts";
import type { ProtectionChoice } from "../mitigation/protection/choice.ts";
import { hostPrefix, type Prefix, parsePrefix } from "../net/prefix.ts";
import type { OrderChange, OrderTurn } from "../notify/order-notices.ts";
import { pairName, type SourceBlock } from "../sourceblock/source-block.ts";
import type { OrderObserver } from "../system/standing-orders.ts";

/** An order that changed, and what it is about: a prefix, or what an owner has as a whole. */
export interface OrderedChange extends Omit<OrderChange, "tenant" | "group"> {
  readonly about: Prefix | Pick<OrderChange, "tenant" | "group">;
}

export type OnOrders = (changes: readonly OrderedChange[]) => void;
type Subject = Omit<OrderedChange, "turn" | "end" | "isReasonOfOrder">;

const OF_NONE = { tenant: null, group: null } as const;

/** The observer, and after it the listener. */
export function noticed<R, Refusal, End extends string, Observer extends OrderObserver<R, Refusal, End>>(
  observer: Observer & OrderObserver<R, Refusal, End>,
  subjectOf: (order: R) => Subject,
  onOrders: OnOrders,
): Observer {
  return {
    ...observer,
    began(order, before, by) {
      observer.began(order, before, by);
      const whose = by && { operator: by.operator, by: by.tenant };
      const began = { turn: before === null ? "made" : "changed", end: "", isReasonOfOrder: true } as const;
      onOrders([{ ...subjectOf(order), ...whose, ...began }]);
    },
    ended(end, orders, by) {
      observer.ended(end, orders, by);
      const ended = { ...(by && wordsOf(by)), turn: "ended", end, isReasonOfOrder: by === undefined } as const;
      if (orders.length > 0) onOrders(orders.map((order) => ({ ...subjectOf(order), ...ended })));
    },
  };
}

/** The name, tenant and reason of the caller who ended an order. */
function wordsOf({ operator, tenant = null, reason }: NonNullable<Ban["endedBy"]>) {
  return { operator, by: tenant, reason };
}

export function blockSubject(block: SourceBlock): Subject {
  const { victim, operator = "", tenant: by = null, reason, expiresAt } = block;
  return { type: "source_block", target: pairName(block), operator, by, reason, expiresAt, about: hostPrefix(victim) };
}

export function ruleSubject({ name, reason, expiresAt }: RuleOrder): Subject {
  return { type: "filter_rule", target: name, operator: "", by: null, reason, expiresAt, about: OF_NONE };
}

export function protectionSubject({ prefix, operator, note, tenant }: ProtectionChoice): Subject {
  const about = parsePrefix(prefix) ?? { tenant, group: null };
  return { type: "protection", target: prefix, operator, by: tenant, reason: note, expiresAt: null, about };
}

/** @param about the owner of its zone. */
export function leverSubject({ zone, reason, untilMs }: Lever, about: Pick<OrderChange, "tenant" | "group">): Subject {
  return { type: "lever", target: zone, operator: "", by: null, reason, expiresAt: untilMs, about };
}

export function windowSubject({ name, operator, window, expiresAt }: WindowOrder): Subject {
  return { type: "maintenance", target: name, operator, by: null, reason: window.reason, expiresAt, about: OF_NONE };
}

/** null: it is not of an operator, or nothing that was ordered has changed. */
export function banOrderChange({ ban, previous }: BanChange): OrderedChange | null {
  if (ban.state === "rejected") return null;
  const turn = turnOf(ban, previous);
  if (turn === null) return null;
  const { target, prefix, expiresAt, endedBy } = ban;
  // A ban that its attack took over has the order no more.
  const { operator = "", tenant: by = null, orderReason: reason = "" } = ban.manual ? ban : (previous ?? ban);
  return {
    ...{ type: "ban", turn, target: isOneAddress(prefix) ? target : prefix.text, expiresAt, about: prefix },
    ...(endedBy === undefined ? { operator, by, reason } : wordsOf(endedBy)),
    isReasonOfOrder: endedBy === undefined,
    end: turn === "ended" ? (ban.manual ? (ban.reason ?? "by policy") : TAKEN_OVER) : "",
  };
}

export const TAKEN_OVER = "taken over by an attack";

/** Changes by its attack or a step of the clock are of no operator. */
function turnOf(ban: Ban, previous: Ban | null): OrderTurn | null {
  if (!ban.manual) return ban.state === "active" && previous?.manual === true ? "ended" : null;
  if (ban.state === "withdrawn") return previous?.state === "active" ? "ended" : null;
  if (previous === null || !previous.manual) return "made";
  return ban.reordered === previous.reordered ? null : "changed";
}

export function ownedBy(
  tenancy: Pick<Tenancy, "tenantOf" | "groupOf">,
  { about, ...change }: OrderedChange,
): OrderChange {
  if (!("address" in about)) return { ...change, ...about };
  return { ...change, tenant: tenancy.tenantOf(about.address), group: tenancy.groupOf(about.address) };
}
