/**
 * Follows the sessions of a managed speaker: sends the routes at the start of each, records why neighbors end them, and
 * takes those out for a while that end them over the number of our routes.
 */
import type { Session } from "./neighbor.ts";
import { type Load, NeighborPauses } from "./neighbor-pauses.ts";
import { isPrefixLimit, notificationText, type PeerNotification } from "./peer-notification.ts";
import type { SpeakerClient } from "./speaker-client.ts";
import { SpeakerFault } from "./speaker-fault.ts";

export class NeighborWatch {
  /** By neighbor with a session: since when it has been up. */
  #up: ReadonlyMap<string, number | null> = new Map();
  readonly #lastNotifications = new Map<string, PeerNotification>();
  readonly #pauses = new NeighborPauses();

  /** @param notifications those since the last call. */
  async follow(
    client: SpeakerClient,
    {
      sessions,
      notifications,
      load,
    }: { sessions: readonly Session[]; notifications: readonly PeerNotification[]; load: Load },
  ): Promise<void> {
    await this.#resendToNew(client, sessions);
    for (const notification of notifications) {
      const { neighbor } = notification;
      this.#lastNotifications.set(neighbor, notification);
      if (!isPrefixLimit(notification)) continue;
      this.#pauses.limitReached(neighbor, load);
      await client.deletePeer(neighbor).catch(ignoreRefusal);
    }
  }

  isPaused(neighbor: string, load: Load): boolean {
    return this.#pauses.isPaused(neighbor, load);
  }

  /** Why the neighbor ended its last session; null: it has not, or not by a notification. */
  faultOf(neighbor: string): string | null {
    const notification = this.#lastNotifications.get(neighbor);
    return notification === undefined ? null : notificationText(notification);
  }

  /** The neighbors may be others: forgets pauses and notifications. */
  forget(): void {
    this.#pauses.clear();
    this.#lastNotifications.clear();
  }

  /**
   * As a restarting speaker gobgpd waits for its peers' routes before it sends its own, and GoBGP 3 then forgets peers
   * without graceful restart.
   */
  async #resendToNew(client: SpeakerClient, sessions: readonly Session[]): Promise<void> {
    const before = this.#up;
    const established = sessions.filter(({ state }) => state === "established");
    this.#up = new Map(established.map(({ address, changedAtMs }) => [address, changedAtMs]));
    for (const [address, sinceMs] of this.#up) {
      if (before.get(address) === sinceMs) continue;
      this.#lastNotifications.delete(address);
      await client.resend(address).catch(ignoreRefusal);
    }
  }
}

/** The neighbor was just removed. */
function ignoreRefusal(fault: unknown): void {
  if (!(fault instanceof SpeakerFault) || fault.kind !== "failed") throw fault;
}
