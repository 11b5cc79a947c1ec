/**
 * Follows the sessions of a managed speaker: says which neighbors need all routes again, records why neighbors end their
 * sessions, and learns how many routes a neighbor takes.
 */

import type { RouteFamily } from "../route-family.ts";
import type { RouteLimit } from "../withheld-routes.ts";
import type { Session } from "./neighbor.ts";
import { NeighborLimits, type RouteCounts } from "./neighbor-limits.ts";
import { isPrefixLimit, notificationText, type PeerNotification, prefixLimit } from "./peer-notification.ts";
import type { SpeakerClient } from "./speaker-client.ts";
import { ignoreRefusal } from "./speaker-fault.ts";

interface Watched {
  readonly sessions: readonly Session[];
  /** Those since the last call. */
  readonly notifications: readonly PeerNotification[];
  /** Our routes in the speaker that a neighbor gets if it takes them all. */
  readonly installed: (neighbor: string) => RouteCounts;
  /** Monotonic. */
  readonly nowMs: number;
}

export class NeighborWatch {
  /** The client that has the sessions. */
  #client: SpeakerClient | null = null;
  /** By neighbor with a session. */
  #up: ReadonlyMap<string, Session> = new Map();
  /** By neighbor: of its families, what it would get without a limit. Of the last session if it has none. */
  readonly #wanted = new Map<string, RouteCounts>();
  readonly #lastNotifications = new Map<string, PeerNotification>();
  readonly #limits = new NeighborLimits();

  /**
   * Takes a neighbor out of the speaker that ended its session over the number of our routes: it may come back when the
   * routes beyond its limit are withheld. Returns the neighbors to which all routes must be sent again.
   */
  async follow(
    client: SpeakerClient,
    { sessions, notifications, installed, nowMs }: Watched,
  ): Promise<readonly string[]> {
    // The speaker may be another one, and its times have whole seconds.
    if (client !== this.#client) this.#up = new Map();
    this.#client = client;
    const unsent = this.#unsent(sessions);
    this.#limits.observe(this.#count(sessions, installed), nowMs);
    const limited = new Set<string>();
    for (const notification of notifications) {
      const { neighbor } = notification;
      this.#lastNotifications.set(neighbor, notification);
      // A second one is about the same routes: the neighbor came back before it was removed.
      if (!isPrefixLimit(notification) || limited.has(neighbor)) continue;
      limited.add(neighbor);
      // A session may come and go between two looks at it.
      const wanted = this.#wanted.get(neighbor) ?? installed(neighbor);
      this.#limits.limitReached(neighbor, prefixLimit(notification), wanted, nowMs);
      await client.deletePeer(neighbor).catch(ignoreRefusal);
    }
    return unsent;
  }

  limits(): readonly RouteLimit[] {
    return this.#limits.limits();
  }

  /** Limits that are found. */
  known(): readonly RouteLimit[] {
    return this.#limits.known();
  }

  /** As another brain found it. */
  suggest(limit: RouteLimit, nowMs: number): void {
    this.#limits.suggest(limit, nowMs);
  }

  restore(limit: RouteLimit, nowMs: number): void {
    this.#limits.restore(limit, nowMs);
  }

  /** Why the neighbor ended its last session; null: it has not, or not by a notification. */
  faultOf(neighbor: string): string | null {
    const notification = this.#lastNotifications.get(neighbor);
    return notification === undefined ? null : notificationText(notification);
  }

  /** Forgets all neighbors but these. */
  keep(neighbors: ReadonlySet<string>): void {
    this.#limits.keep(neighbors);
    for (const known of [this.#lastNotifications, this.#wanted]) {
      for (const neighbor of known.keys()) if (!neighbors.has(neighbor)) known.delete(neighbor);
    }
  }

  /** By neighbor with a session. */
  #count(sessions: readonly Session[], installed: Watched["installed"]): ReadonlyMap<string, RouteCounts> {
    const wanted = new Map<string, RouteCounts>();
    const countOf = (address: string, families: Iterable<RouteFamily>) => {
      const own = installed(address);
      return new Map([...families].map((family) => [family, own.get(family) ?? 0]));
    };
    for (const { address, state, families } of sessions) {
      if (state === "established") wanted.set(address, countOf(address, families));
    }
    for (const [address, counts] of wanted) this.#wanted.set(address, counts);
    for (const [address, counts] of this.#wanted) {
      if (!wanted.has(address)) this.#wanted.set(address, countOf(address, counts.keys()));
    }
    return wanted;
  }

  /**
   * Neighbors whose session began or whose deferral ended: as a restarting speaker gobgpd waits for its peers' routes
   * before it sends its own, and GoBGP 3 then forgets peers without graceful restart.
   */
  #unsent(sessions: readonly Session[]): readonly string[] {
    const before = this.#up;
    const established = sessions.filter(({ state }) => state === "established");
    this.#up = new Map(established.map((session) => [session.address, session]));
    return established.flatMap(({ address, changedAtMs, isDeferring }) => {
      const known = before.get(address);
      const isNew = known?.changedAtMs !== changedAtMs;
      if (isNew) this.#lastNotifications.delete(address);
      return isNew || (known?.isDeferring === true && !isDeferring) ? address : [];
    });
  }
}
