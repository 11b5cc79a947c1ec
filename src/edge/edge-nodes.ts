/**
 * The configured edge nodes and zones: which node serves which zone, and which nodes are alive
 * (docs/interface.md#node-liveness). Knows nothing of HTTP or of reports.
 */
import { type Liveness, NodePresence, STALE_AFTER_SECONDS } from "../nodes/node-presence.ts";
import type { Now } from "../system/now.ts";
import type { EdgeConfig, EdgeNodeConfig } from "./edge-config.ts";
import { isPlaced, scopeOf } from "./zones/placement.ts";
import type { Zone } from "./zones/zone.ts";

interface EdgeNodesOptions {
  /** null: no edge is configured. */
  readonly config: EdgeConfig | null;
  readonly now: () => Now;
}

export interface EdgeNodeView {
  readonly name: string;
  /** The node serves the zones of these hostgroups, and zones without one. */
  readonly scope: readonly string[];
  readonly liveness: Liveness;
  /** A poll of the node is parked now. */
  readonly isHolding: boolean;
  /** Wall clock, ms; null: not seen since the start. */
  readonly lastSeenAt: number | null;
  /** Name of the token of its last accepted poll; null: none yet. */
  readonly lastToken: string | null;
  readonly zonesPlaced: number;
}

interface EdgeNode {
  readonly name: string;
  readonly scope: readonly string[];
}

export class EdgeNodes {
  readonly #now: () => Now;
  readonly presence = new NodePresence();
  /** By node. */
  readonly #lastTokens = new Map<string, string>();
  #nodeList: readonly EdgeNode[] = [];
  #zoneList: readonly Zone[] = [];
  #areZonesKnown = true;
  #nodes: ReadonlyMap<string, EdgeNode> = new Map();
  #zones: ReadonlyMap<string, Zone> = new Map();
  #placement = new Placement([], []);
  #staleAfterMs = STALE_AFTER_SECONDS * 1000;

  constructor({ config, now }: EdgeNodesOptions) {
    this.#now = now;
    this.reconfigure(config);
  }

  /** Nodes that are still configured keep their presence. */
  reconfigure(config: EdgeConfig | null): void {
    const nodes = (config?.nodes ?? []).map(edgeNode);
    const zones = config?.zones ?? [];
    this.#nodeList = nodes;
    this.#zoneList = zones;
    this.#areZonesKnown = config?.areZonesKnown ?? true;
    this.#nodes = new Map(nodes.map((node) => [node.name, node]));
    this.#zones = new Map(zones.map((zone) => [zone.name, zone]));
    this.#placement = new Placement(nodes, zones);
    this.#staleAfterMs = (config?.staleAfterSeconds ?? STALE_AFTER_SECONDS) * 1000;
    this.presence.reconfigure([...this.#nodes.keys()], this.#now().monotonicMs);
    for (const name of this.#lastTokens.keys()) if (!this.has(name)) this.#lastTokens.delete(name);
  }

  get size(): number {
    return this.#nodes.size;
  }

  get staleAfterSeconds(): number {
    return this.#staleAfterMs / 1000;
  }

  has(name: string): boolean {
    return this.#nodes.has(name);
  }

  /** In the order of the configuration. */
  nodes(): readonly EdgeNode[] {
    return this.#nodeList;
  }

  /** Empty for an unknown node. */
  scopeOf(name: string): readonly string[] {
    return this.#nodes.get(name)?.scope ?? [];
  }

  /** Sorted by name, without duplicates. */
  zones(): readonly Zone[] {
    return this.#zoneList;
  }

  /** False: what nodes have is not to be replaced by no zones. */
  get areZonesKnown(): boolean {
    return this.#areZonesKnown;
  }

  zone(name: string): Zone | null {
    return this.#zones.get(name) ?? null;
  }

  /** Whether both exist and the node serves the zone. */
  serves(node: string, zoneName: string): boolean {
    const scope = this.#nodes.get(node)?.scope;
    const zone = this.#zones.get(zoneName);
    return scope !== undefined && zone !== undefined && isPlaced(zone, scope);
  }

  /** In the order of the configuration; the same array until it changes. Empty for an unknown zone. */
  nodesOf(zoneName: string): readonly string[] {
    const zone = this.#zones.get(zoneName);
    return zone === undefined ? [] : this.#placement.nodesOf(zone);
  }

  /** An agent's poll as this node was accepted. */
  pollStarted(name: string, tokenName: string): void {
    this.presence.pollStarted(name, this.#now());
    this.#lastTokens.set(name, tokenName);
  }

  pollEnded(name: string): void {
    this.presence.pollEnded(name, this.#now());
  }

  isAlive(name: string): boolean {
    return this.livenessOf(name) === "alive";
  }

  livenessOf(name: string): Liveness {
    return this.presence.livenessOf(name, this.#now().monotonicMs, this.#staleAfterMs);
  }

  /** The node must be configured. */
  view(name: string): EdgeNodeView {
    const scope = this.scopeOf(name);
    return {
      name,
      scope,
      liveness: this.livenessOf(name),
      isHolding: this.presence.isHolding(name),
      lastSeenAt: this.presence.lastSeenAt(name, this.#now()),
      lastToken: this.#lastTokens.get(name) ?? null,
      zonesPlaced: this.#placement.zonesIn(scope),
    };
  }
}

function edgeNode({ name, hostgroups }: EdgeNodeConfig): EdgeNode {
  return { name, scope: scopeOf({ hostgroups }) };
}

/** Counts by hostgroup once, since nodes times zones are millions. */
class Placement {
  readonly #everyNode: readonly string[];
  readonly #nodesByLabel: ReadonlyMap<string, readonly string[]>;
  /** The key null is for zones without a hostgroup. */
  readonly #zonesByLabel = new Map<string | null, number>();

  constructor(nodes: readonly EdgeNode[], zones: readonly Zone[]) {
    this.#everyNode = nodes.map(({ name }) => name);
    const byLabel = new Map<string, string[]>();
    for (const { name, scope } of nodes) {
      for (const label of new Set(scope)) {
        const names = byLabel.get(label);
        if (names === undefined) byLabel.set(label, [name]);
        else names.push(name);
      }
    }
    this.#nodesByLabel = byLabel;
    for (const { hostgroup } of zones) this.#zonesByLabel.set(hostgroup, (this.#zonesByLabel.get(hostgroup) ?? 0) + 1);
  }

  nodesOf({ hostgroup }: Zone): readonly string[] {
    return hostgroup === null ? this.#everyNode : (this.#nodesByLabel.get(hostgroup) ?? []);
  }

  zonesIn(scope: readonly string[]): number {
    const labels: (string | null)[] = [null, ...new Set(scope)];
    return labels.reduce((sum, label) => sum + (this.#zonesByLabel.get(label) ?? 0), 0);
  }
}
