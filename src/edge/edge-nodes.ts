/**
 * The edge nodes and their zones as the configuration has them: which node serves which zone, and which nodes are there
 * (docs/interface.md#node-liveness). Knows nothing of HTTP: polls come in as calls. What nodes report is another's
 * matter.
 */
import type { EdgeConfig, EdgeNodeConfig } from "../config/sections/edge.ts";
import { STALE_AFTER_SECONDS } from "../config/sections/nodes.ts";
import type { Now } from "../detection/attack/attack.ts";
import { type Liveness, NodePresence } from "../nodes/node-presence.ts";
import { isPlaced, scopeOf } from "./placement.ts";
import type { Zone } from "./zone.ts";

export interface EdgeNodesOptions {
  /** null: no edge is configured. */
  readonly config: EdgeConfig | null;
  readonly now: () => Now;
}

export interface EdgeNodeView {
  readonly name: string;
  /** Of these hostgroups it serves the labelled zones. */
  readonly scope: readonly string[];
  readonly liveness: Liveness;
  /** A poll of it is parked now. */
  readonly isHolding: boolean;
  /** Wall clock, ms; null: not since the start. */
  readonly lastSeenAt: number | null;
  /** Name of the token of its last accepted poll; null: none yet. */
  readonly lastToken: string | null;
  readonly zonesPlaced: number;
}

export interface EdgeNode {
  readonly name: string;
  readonly scope: readonly string[];
}

export class EdgeNodes {
  readonly #now: () => Now;
  readonly #presence = new NodePresence();
  /** By node. */
  readonly #lastTokens = new Map<string, string>();
  #nodeList: readonly EdgeNode[] = [];
  #zoneList: readonly Zone[] = [];
  #nodes: ReadonlyMap<string, EdgeNode> = new Map();
  #zones: ReadonlyMap<string, Zone> = new Map();
  #placement = new Placement([], []);
  #staleAfterMs = STALE_AFTER_SECONDS * 1000;

  constructor({ config, now }: EdgeNodesOptions) {
    this.#now = now;
    this.reconfigure(config);
  }

  /** Nodes that stay are as present as they were. */
  reconfigure(config: EdgeConfig | null): void {
    const nodes = (config?.nodes ?? []).map(edgeNode);
    const zones = config?.zones ?? [];
    this.#nodeList = nodes;
    this.#zoneList = zones;
    this.#nodes = new Map(nodes.map((node) => [node.name, node]));
    this.#zones = new Map(zones.map((zone) => [zone.name, zone]));
    this.#placement = new Placement(nodes, zones);
    this.#staleAfterMs = (config?.staleAfterSeconds ?? STALE_AFTER_SECONDS) * 1000;
    this.#presence.reconfigure([...this.#nodes.keys()], this.#now().monotonicMs);
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

  /** Empty for a node that is not there. */
  scopeOf(name: string): readonly string[] {
    return this.#nodes.get(name)?.scope ?? [];
  }

  /** By name, each once. */
  zones(): readonly Zone[] {
    return this.#zoneList;
  }

  zone(name: string): Zone | null {
    return this.#zones.get(name) ?? null;
  }

  /** Whether there are such a node and such a zone, and the one serves the other. */
  serves(node: string, zoneName: string): boolean {
    const scope = this.#nodes.get(node)?.scope;
    const zone = this.#zones.get(zoneName);
    return scope !== undefined && zone !== undefined && isPlaced(zone, scope);
  }

  /** In the order of the configuration; the same array until it changes. Empty for a zone that is not there. */
  nodesOf(zoneName: string): readonly string[] {
    const zone = this.#zones.get(zoneName);
    return zone === undefined ? [] : this.#placement.nodesOf(zone);
  }

  /** An accepted poll of an agent that polls as this node. */
  pollStarted(name: string, tokenName: string): void {
    this.#presence.pollStarted(name, this.#now().monotonicMs);
    this.#lastTokens.set(name, tokenName);
  }

  pollEnded(name: string): void {
    this.#presence.pollEnded(name, this.#now().monotonicMs);
  }

  isAlive(name: string): boolean {
    return this.livenessOf(name) === "alive";
  }

  livenessOf(name: string): Liveness {
    return this.#presence.livenessOf(name, this.#now().monotonicMs, this.#staleAfterMs);
  }

  /** Of a configured node. */
  view(name: string): EdgeNodeView {
    const { wallMs, monotonicMs } = this.#now();
    const seenMs = this.#presence.lastSeenMs(name);
    const scope = this.scopeOf(name);
    return {
      name,
      scope,
      liveness: this.livenessOf(name),
      isHolding: this.#presence.isHolding(name),
      // By the wall clock of now: it may have been set since.
      lastSeenAt: seenMs === null ? null : wallMs - (monotonicMs - seenMs),
      lastToken: this.#lastTokens.get(name) ?? null,
      zonesPlaced: this.#placement.zonesIn(scope),
    };
  }
}

function edgeNode({ name, hostgroups }: EdgeNodeConfig): EdgeNode {
  return { name, scope: scopeOf({ hostgroups }) };
}

/** Counted by label once, since nodes times zones are millions. */
class Placement {
  readonly #everyNode: readonly string[];
  readonly #nodesByLabel: ReadonlyMap<string, readonly string[]>;
  /** Of zones without a label: null. */
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
