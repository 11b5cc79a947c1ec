/** The owners of the orders that end by the clock, so that none is left out when it ticks or is set. */
import type { OrderType } from "../notify/order-notices.ts";

export interface TimedOrders {
  /** Call this every second. */
  tick(wallMs: number): void;
  /** The wall clock was set by `byMs`. */
  clockStepped(byMs: number, wallMs: number): void;
}

/** null: only a caller ends them (protections), or the feed of zones ends them (levers). */
type OrderOwners = Readonly<Record<OrderType, TimedOrders | null>>;

/** In the order of `owners`. */
export function timedOrders(owners: OrderOwners): readonly TimedOrders[] {
  return Object.values(owners).filter((owner) => owner !== null);
}
