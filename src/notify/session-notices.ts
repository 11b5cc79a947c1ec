/**
 * Decides which changes of BGP sessions are notified: a session that was established and has been down for a while, and
 * its return, or that its neighbor was removed. A session that was never established is not notified, nor is a short restart of the speaker.
 */
import type { Cancel, Timers } from "../system/timers.ts";
import type { Neighbor, SessionEvent } from "./event.ts";

/** How long a session has to be down, ms. */
export const SESSION_GRACE_MS = 3_000;

interface Session {
  latest: Neighbor;
  readonly cancelLoss: Cancel;
  isReportedLost: boolean;
}

interface SessionNoticesOptions {
  readonly timers: Timers;
  readonly notify: (kind: SessionEvent["kind"], neighbor: Neighbor) => void;
}

export class SessionNotices {
  readonly #options: SessionNoticesOptions;
  readonly #up = new Set<string>();
  /** Sessions that were established before. */
  readonly #down = new Map<string, Session>();

  constructor(options: SessionNoticesOptions) {
    this.#options = options;
  }

  /** An earlier process notified its loss. */
  restore(neighbor: Neighbor): void {
    this.#down.set(neighbor.address, { latest: neighbor, isReportedLost: true, cancelLoss: () => {} });
  }

  /** All configured neighbors, after any change. */
  take(neighbors: readonly Neighbor[]): void {
    const known = new Set(neighbors.map(({ address }) => address));
    for (const address of this.#up) if (!known.has(address)) this.#up.delete(address);
    for (const [address, { cancelLoss, isReportedLost, latest }] of this.#down) {
      if (known.has(address)) continue;
      cancelLoss();
      this.#down.delete(address);
      if (isReportedLost) this.#options.notify("bgp_session_restored", { ...latest, state: "removed" });
    }
    for (const neighbor of neighbors) {
      if (neighbor.state === "established") this.#isUp(neighbor);
      else this.#isDown(neighbor);
    }
  }

  stop(): void {
    for (const { cancelLoss } of this.#down.values()) cancelLoss();
    this.#down.clear();
  }

  #isUp(neighbor: Neighbor): void {
    this.#up.add(neighbor.address);
    const session = this.#down.get(neighbor.address);
    if (session === undefined) return;
    session.cancelLoss();
    this.#down.delete(neighbor.address);
    if (session.isReportedLost) this.#options.notify("bgp_session_restored", neighbor);
  }

  #isDown(neighbor: Neighbor): void {
    const session = this.#down.get(neighbor.address);
    if (session !== undefined) session.latest = neighbor;
    if (!this.#up.delete(neighbor.address)) return;
    const lost: Session = {
      latest: neighbor,
      isReportedLost: false,
      cancelLoss: this.#options.timers.after(SESSION_GRACE_MS, () => {
        lost.isReportedLost = true;
        this.#options.notify("bgp_session_lost", lost.latest);
      }),
    };
    this.#down.set(neighbor.address, lost);
  }
}
