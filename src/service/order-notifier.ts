/**
 * Which brain of a cluster notifies of a change of an order: the one at which a caller ordered it. An order whose time is
 * over ends at each brain by itself, and is notified by the brain that took it; while that is out of reach, by the
 * holder of the lease.
 */
import type { Lease } from "../cluster/lease.ts";
import type { SharedTable } from "../cluster/order-exchange.ts";
import type { OrderRegister } from "../cluster/order-register.ts";
import type { Peers } from "../cluster/peers.ts";
import { TTL_EXPIRED } from "../mitigation/ban.ts";
import type { OrderType } from "../notify/order-notices.ts";
import { type OrderedChange, TAKEN_OVER } from "./order-changes.ts";

interface OrderNotifierOptions {
  readonly register: Pick<OrderRegister, "isAdopting" | "stampOf">;
  readonly peers: Pick<Peers, "own" | "states">;
  readonly lease: Lease;
}

const TABLES: Readonly<Record<OrderType, SharedTable>> = {
  ...{ source_block: "source_blocks", filter_rule: "filter_rules", protection: "protections" },
  ...{ lever: "levers", ban: "bans", maintenance: "maintenance" },
};
/** Ends that come at each brain, with none of them by a caller. */
const BY_TIME: ReadonlySet<string> = new Set(["expired", TTL_EXPIRED, TAKEN_OVER]);

/** Call this in the turn of the change. */
export function isNotifiedHere(change: OrderedChange, { register, peers, lease }: OrderNotifierOptions): boolean {
  if (register.isAdopting) return false;
  if (change.turn !== "ended" || !BY_TIME.has(change.end)) return true;
  const taker = register.stampOf(TABLES[change.type], keyOf(change))?.brain ?? peers.own;
  if (taker === peers.own) return true;
  return !peers.states().some(({ name, isUp }) => name === taker && isUp) && lease.holds();
}

/** Bans are kept by prefix, and named by address. */
function keyOf({ type, target, about }: OrderedChange): string {
  return type === "ban" && "text" in about ? about.text : target;
}
