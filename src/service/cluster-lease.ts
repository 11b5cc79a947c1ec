/** The lease of a pair without etcd, as the connections show it. */
import { holdsPairLease } from "../cluster/joins/pair-lease.ts";
import type { Lease } from "../cluster/lease.ts";
import type { Peers } from "../cluster/peers.ts";
import type { Clock } from "../system/clock.ts";

interface Reach {
  /** It is connected, and has said what it did while it was not. */
  isUp: boolean;
  /** Monotonic, ms. */
  sinceMs: number;
}

export class PairLease implements Lease {
  readonly #peers: Peers;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #startedMs: number;
  readonly #reach = new Map<string, Reach>();

  constructor(peers: Peers, clock: Pick<Clock, "monotonicMs">) {
    this.#peers = peers;
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
    for (const { name } of peers.states()) this.#reach.set(name, { isUp: false, sinceMs: this.#startedMs });
    peers.onUp((name) => this.#set(name, false));
    peers.onDown((name) => this.#set(name, false));
  }

  /** The peer has said what it did while it was out of reach. */
  synced(name: string): void {
    this.#set(name, true);
  }

  holds(): boolean {
    const peers = this.#peers.states().map(({ name, receivedMs }) => {
      const { isUp, sinceMs } = this.#reach.get(name) ?? { isUp: false, sinceMs: this.#startedMs };
      return { name, isUp, sinceMs, receivedMs };
    });
    return holdsPairLease(this.#peers.own, peers, { nowMs: this.#clock.monotonicMs(), startedMs: this.#startedMs });
  }

  /** Out of reach for `afterMs`: its part is another brain's by then. */
  isGone(name: string, afterMs: number): boolean {
    const reach = this.#reach.get(name);
    return reach === undefined || (!reach.isUp && this.#clock.monotonicMs() - reach.sinceMs >= afterMs);
  }

  #set(name: string, isUp: boolean): void {
    this.#reach.set(name, { isUp, sinceMs: this.#clock.monotonicMs() });
  }
}
