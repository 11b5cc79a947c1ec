/**
 * The requests in progress that tenants fill what all callers share with: orders, which wait for the disk, and questions
 * to the history (docs/interface.md#limit-shares). What the administrator may ask is bounded where it waits.
 */
import type { Principal } from "../../access/principal.ts";
import { type Callers, type Room, Shares } from "../../access/shares.ts";
import { HISTORY_READS_MAX, STATE_ORDERS_MAX } from "../../limits.ts";
import type { Soon } from "../../system/soon.ts";
import type { Refusal } from "../refusal.ts";

export type SharedRequest = "orders" | "history";

const ROOMS: Readonly<Record<SharedRequest, Room>> = {
  orders: { capacity: STATE_ORDERS_MAX },
  history: { capacity: HISTORY_READS_MAX },
};

export class RequestShares {
  readonly #shares: Readonly<Record<SharedRequest, Shares>>;

  constructor(callers: () => Callers) {
    this.#shares = { orders: new Shares(callers), history: new Shares(callers) };
  }

  async run<T>(kind: SharedRequest, principal: Principal, work: () => Soon<T>): Promise<T | Refusal> {
    if (principal.tenant === null) return work();
    const shares = this.#shares[kind];
    if (shares.refusal(principal, ROOMS[kind]) !== null) return { kind: "too_many_of_share", what: kind };
    shares.take(principal);
    try {
      return await work();
    } finally {
      shares.giveBack(principal);
    }
  }
}
