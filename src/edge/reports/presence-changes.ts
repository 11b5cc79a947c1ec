/**
 * Turns changes of edge nodes' liveness into events (docs/interface.md#edge-events). No event for a node that is seen
 * in time after the start, or that was never seen. A node that was lost before it was first seen counts as back when it
 * is seen.
 */
import type { Liveness } from "../../nodes/node-presence.ts";

export type PresenceChange = "node_alive" | "node_lost";

export class PresenceChanges {
  /** Liveness at the last check. */
  readonly #known = new Map<string, Liveness>();

  /** null: nothing has changed, or the change is not an event. */
  next(node: string, liveness: Liveness): PresenceChange | null {
    // Until the brain that saw it last is back, nothing is known that could have changed.
    if (liveness === "unknown") return null;
    const before = this.#known.get(node) ?? "not_seen";
    this.#known.set(node, liveness);
    if (liveness === "alive") return before === "lost" ? "node_alive" : null;
    return before === "alive" && liveness === "lost" ? "node_lost" : null;
  }

  /** Forgets nodes that were removed. */
  forget(has: (node: string) => boolean): void {
    for (const node of this.#known.keys()) if (!has(node)) this.#known.delete(node);
  }
}
