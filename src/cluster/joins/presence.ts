/**
 * Which nodes other brains see (docs/interface.md#node-liveness): a node is alive while any brain sees it. Pure; times are
 * those of the own monotonic clock, ms. Knows neither the connection nor how the brain's own polls are counted.
 */

/** The view of one brain on a node. */
interface Sighting {
  /** A poll of the node is parked there. */
  readonly isHolding: boolean;
  /** The last start or end of a poll there. */
  readonly seenMs: number;
  /** When that brain went out of reach, which has not said anything of the node since; null: it is in reach. */
  readonly leftMs: number | null;
}

/** One of the other brains, for one node. */
export interface BrainView {
  readonly reach: Reach;
  /** null: it never saw the node. */
  readonly sighting: Sighting | null;
}

/** Since when the brain is in reach, or out of it; at first since the own start. */
interface Reach {
  readonly isUp: boolean;
  readonly sinceMs: number;
  /** It was in reach since the own start. */
  readonly wasUp: boolean;
}

/**
 * How long a node is `unknown` at most, ms: a brain that does not come back must not keep victims with a node that is dead.
 * Operators have this time to bring the brain back, or the node to this one.
 */
export const UNKNOWN_MAX_MS = 600_000;

/** `unknown`: a brain that is out of reach saw it last, so that nothing that is done with the node changes. */
type Elsewhere = "alive" | "unknown";

/**
 * The state of a node that the own polls do not show alive. null: the own sighting alone decides.
 * @param ownSeenMs the last poll here; null: none since the start.
 */
export function elsewhere(
  ownSeenMs: number | null,
  brains: readonly BrainView[],
  { nowMs, staleAfterMs }: { readonly nowMs: number; readonly staleAfterMs: number },
): Elsewhere | null {
  if (brains.some((brain) => isAliveAt(brain, nowMs, staleAfterMs))) return "alive";
  return brains.some((brain) => mayBeAliveAt(brain, ownSeenMs, nowMs, staleAfterMs)) ? "unknown" : null;
}

function isAliveAt({ reach, sighting }: BrainView, nowMs: number, staleAfterMs: number): boolean {
  if (sighting === null || !reach.isUp) return false;
  return sighting.isHolding || nowMs - sighting.seenMs <= staleAfterMs;
}

/** A brain that has come back has as long as any brain after its start to be polled again. */
function mayBeAliveAt(
  { reach, sighting }: BrainView,
  ownSeenMs: number | null,
  nowMs: number,
  staleAfterMs: number,
): boolean {
  if (!reach.isUp && nowMs - reach.sinceMs > UNKNOWN_MAX_MS) return false;
  // The view of that brain is not known at all: only of nodes that were never seen here.
  if (!reach.wasUp) return ownSeenMs === null;
  if (sighting === null || sighting.leftMs === null) return false;
  if (reach.isUp && nowMs - reach.sinceMs > staleAfterMs) return false;
  const wasAlive = sighting.leftMs - sighting.seenMs <= staleAfterMs;
  return wasAlive && (ownSeenMs === null || sighting.seenMs > ownSeenMs);
}

/** The sightings of all other brains. Nodes are those that the own configuration names: the table has that bound. */
export class ForeignSightings {
  readonly #brains = new Map<string, { reach: Reach; readonly nodes: Map<string, Sighting> }>();

  /** @param brains names of the others. */
  constructor(brains: readonly string[], nowMs: number) {
    for (const name of brains)
      this.#brains.set(name, { reach: { isUp: false, sinceMs: nowMs, wasUp: false }, nodes: new Map() });
  }

  /** Earlier sightings stay, for as long as a node may take to poll it again. */
  up(brain: string, nowMs: number): void {
    const known = this.#brains.get(brain);
    if (known !== undefined) known.reach = { isUp: true, sinceMs: nowMs, wasUp: true };
  }

  /** Polls that were parked there are seen until now. */
  down(brain: string, nowMs: number): void {
    const known = this.#brains.get(brain);
    if (known === undefined || !known.reach.isUp) return;
    known.reach = { isUp: false, sinceMs: nowMs, wasUp: true };
    for (const [node, { isHolding, seenMs, leftMs }] of known.nodes) {
      known.nodes.set(node, { isHolding: false, seenMs: isHolding ? nowMs : seenMs, leftMs: leftMs ?? nowMs });
    }
  }

  saw(brain: string, node: string, seen: Pick<Sighting, "isHolding" | "seenMs">): void {
    this.#brains.get(brain)?.nodes.set(node, { ...seen, leftMs: null });
  }

  /** Removes nodes that are not configured any more. */
  keepOnly(isConfigured: (node: string) => boolean): void {
    for (const { nodes } of this.#brains.values()) {
      for (const node of nodes.keys()) if (!isConfigured(node)) nodes.delete(node);
    }
  }

  stateOf(node: string, ownSeenMs: number | null, at: { readonly nowMs: number; readonly staleAfterMs: number }) {
    return elsewhere(ownSeenMs, this.#viewsOf(node), at);
  }

  /** The latest sighting by any of them; null: none. */
  seenMs(node: string, nowMs: number): number | null {
    const seen = this.#viewsOf(node).flatMap(({ reach, sighting }) => {
      if (sighting === null) return [];
      return [sighting.isHolding && reach.isUp ? nowMs : sighting.seenMs];
    });
    return seen.length === 0 ? null : Math.max(...seen);
  }

  #viewsOf(node: string): BrainView[] {
    return [...this.#brains.values()].map(({ reach, nodes }) => ({ reach, sighting: nodes.get(node) ?? null }));
  }
}
