/** The part of an event that a tenant may know: the same as the API shows it of the attack, ban or order. Pure. */
import { attackOfTenant } from "../http/wire/attack.ts";
import { namelessBan } from "../http/wire/ban.ts";
import type { NotifyEvent } from "./event.ts";
import type { Orders, OrderType } from "./order-notices.ts";

/** The API shows to the tenants of the victim or the zone why others ordered them, but not why others ended them. */
const IS_REASON_SHOWN: Readonly<Record<OrderType, boolean>> = {
  ...{ source_block: true, lever: true },
  ...{ filter_rule: false, protection: false, ban: false, maintenance: false },
};

/**
 * The event as it goes to the targets of the tenant: without the exporters of flow telemetry, the neighbors, and names and
 * words of others. Called once, before the event enters a queue.
 */
export function eventOfTenant(event: NotifyEvent, tenant: string): NotifyEvent {
  switch (event.kind) {
    case "attack_started":
    case "attack_changed":
    case "attack_lasts":
    case "attack_not_held":
    case "attack_ended": {
      const ban = event.ban === null ? null : namelessBan(event.ban, tenant);
      return { ...event, ban, attack: attackOfTenant({ attack: event.attack, ban }, tenant).attack };
    }
    case "ban_active":
    case "ban_withdrawn":
    case "ban_rejected":
    case "rules_not_found":
      return { ...event, ban: namelessBan(event.ban, tenant) };
    case "order_made":
    case "order_changed":
    case "order_ended":
      return { ...event, orders: ordersOfTenant(event.orders, tenant) };
    default:
      return event;
  }
}

function ordersOfTenant(orders: Orders, tenant: string): Orders {
  if (orders.by === tenant) return orders;
  const isShown = orders.isReasonOfOrder && IS_REASON_SHOWN[orders.type];
  return { ...orders, operator: "", reason: isShown ? orders.reason : "" };
}
