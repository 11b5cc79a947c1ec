/**
 * Estimates the load of each scrub node: the load that it reported, plus what was diverted to it too recently for its
 * report. Monotonic time is an argument, ms.
 */

interface Placed {
  readonly node: string;
  /** Rate of the attack at its start; null: unknown. */
  readonly mbps: number | null;
  readonly sinceMs: number;
}

interface NodeLoad {
  /** null: never reported. */
  reportedMbps: number | null;
  /** By id. */
  readonly bans: Map<string, Placed>;
  /** Ids of the bans that the report does not include. */
  readonly recent: Set<string>;
}

/**
 * A report is a mean over some seconds, and diverted traffic arrives late: a ban newer than this is not in the report.
 */
export const SETTLED_MS = 20_000;
/** Share of a node's capacity that a ban of an unknown rate counts for. */
export const UNKNOWN_SHARE = 0.01;

export class NodeLoads {
  readonly #loads = new Map<string, NodeLoad>();
  readonly #placed = new Map<string, Placed>();

  /** @param node null: the ban is not diverted to a node, or no longer. */
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

  /** As a fraction of its capacity. */
  utilizationOf(node: string, capacityMbps: number): number {
    const load = this.#loads.get(node);
    if (load === undefined) return 0;
    let mbps = load.reportedMbps ?? 0;
    for (const id of load.recent) mbps += load.bans.get(id)?.mbps ?? capacityMbps * UNKNOWN_SHARE;
    return mbps / capacityMbps;
  }

  /** Removes nodes that are not configured any more; their bans move when they are planned next. */
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
