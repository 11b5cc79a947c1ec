/**
 * What is diverted to each scrub node, and how much that is: what the node reported, and what was diverted to it too
 * recently for its report to know of. Monotonic time is an argument, ms.
 */

interface Placed {
  readonly node: string;
  /** Of its attack as it began; null: not known. */
  readonly mbps: number | null;
  readonly sinceMs: number;
}

interface NodeLoad {
  /** null: never said. */
  reportedMbps: number | null;
  /** By id. */
  readonly bans: Map<string, Placed>;
  /** Those that the report does not know of. */
  readonly recent: Set<string>;
}

/** A report is the mean of some seconds, and traffic takes some to come: one that is younger is not in it. */
export const SETTLED_MS = 20_000;
/** Share of a node's capacity that a ban of an unknown rate is taken for. */
export const UNKNOWN_SHARE = 0.01;

export class NodeLoads {
  readonly #loads = new Map<string, NodeLoad>();
  readonly #placed = new Map<string, Placed>();

  /** null: the ban is not, or no longer, diverted to a node. */
  place(banId: string, node: string | null, mbps: number | null, nowMs: number): void {
    const before = this.#placed.get(banId);
    if ((before?.node ?? null) === node) return;
    if (before !== undefined) this.#takeOut(banId, before.node);
    if (node === null) return;
    const placed = { node, mbps, sinceMs: nowMs };
    this.#placed.set(banId, placed);
    const load = this.#loadOf(node);
    load.bans.set(banId, placed);
    load.recent.add(banId);
  }

  nodeOf(banId: string): string | null {
    return this.#placed.get(banId)?.node ?? null;
  }

  bansOf(node: string): number {
    return this.#loads.get(node)?.bans.size ?? 0;
  }

  reported(node: string, mbps: number | null, nowMs: number): void {
    const load = this.#loadOf(node);
    load.reportedMbps = mbps;
    if (mbps === null) return;
    for (const id of load.recent) {
      if (nowMs - (load.bans.get(id)?.sinceMs ?? 0) >= SETTLED_MS) load.recent.delete(id);
    }
  }

  /** Of its capacity. */
  utilizationOf(node: string, capacityMbps: number): number {
    const load = this.#loads.get(node);
    if (load === undefined) return 0;
    let mbps = load.reportedMbps ?? 0;
    for (const id of load.recent) mbps += load.bans.get(id)?.mbps ?? capacityMbps * UNKNOWN_SHARE;
    return mbps / capacityMbps;
  }

  /** It is not configured any more; bans that are still diverted to it move with the next look at them. */
  forget(isConfigured: (node: string) => boolean): void {
    for (const [node, load] of this.#loads) {
      if (isConfigured(node)) continue;
      load.reportedMbps = null;
      if (load.bans.size === 0) this.#loads.delete(node);
    }
  }

  #takeOut(banId: string, node: string): void {
    this.#placed.delete(banId);
    const load = this.#loads.get(node);
    load?.bans.delete(banId);
    load?.recent.delete(banId);
    if (load?.bans.size === 0 && load.reportedMbps === null) this.#loads.delete(node);
  }

  #loadOf(node: string): NodeLoad {
    const known = this.#loads.get(node);
    if (known !== undefined) return known;
    const load = { reportedMbps: null, bans: new Map<string, Placed>(), recent: new Set<string>() };
    this.#loads.set(node, load);
    return load;
  }
}
