/**
 * When edge nodes come and go, as events (docs/interface.md#edge-events): one that is first seen in time, or never, is
 * none. A node that was lost before it was ever seen comes back as one that was.
 */
import type { Liveness } from "../nodes/node-presence.ts";

export type PresenceChange = "node_alive" | "node_lost";

export class PresenceChanges {
  /** As they were at the last look. */
  readonly #known = new Map<string, Liveness>();

  /** null: nothing has changed, or nothing that is news. */
  next(node: string, liveness: Liveness): PresenceChange | null {
    const before = this.#known.get(node) ?? "not_seen";
    this.#known.set(node, liveness);
    if (liveness === "alive") return before === "lost" ? "node_alive" : null;
    return before === "alive" && liveness === "lost" ? "node_lost" : null;
  }

  /** Of nodes that are there no more. */
  forget(has: (node: string) => boolean): void {
    for (const node of this.#known.keys()) if (!has(node)) this.#known.delete(node);
  }
}
