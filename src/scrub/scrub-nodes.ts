/**
 * The scrub nodes as the service knows them: which are alive, what they reported last, and what they are told to drop
 * (docs/interface.md#scrub-channel), and where diverted traffic goes. Knows nothing of HTTP: polls and reports come in
 * as calls, and whoever watches is told when the document of a node is another.
 */
import {
  nextHopFor,
  type ScrubbingConfig,
  type ScrubNodeConfig,
  STALE_AFTER_SECONDS,
} from "../config/sections/nodes.ts";
import type { Now } from "../detection/attack/attack.ts";
import type { Ban } from "../mitigation/ban.ts";
import type { DivertRequest, NodeTarget } from "../mitigation/plan.ts";
import { type Liveness, NodePresence } from "../nodes/node-presence.ts";
import { NodeLoads } from "./node-loads.ts";
import { type Candidate, selectNode } from "./node-selection.ts";
import { type DocumentChange, isDiverted, type RuleDocument, RuleDocuments } from "./rule-documents.ts";
import { missingOf, type RuleCapability, type Understanding, understandingKey, understandingOf } from "./rule-forms.ts";

export interface ScrubNodesOptions {
  /** null: no scrubbing is configured. */
  readonly config: ScrubbingConfig | null;
  readonly now: () => Now;
  /** Of the attacks that hold a ban, megabits per second; null: not known. */
  readonly mbpsOf: (ban: Ban) => number | null;
  readonly observer: ScrubObserver;
}

export interface ScrubObserver {
  reported(): void;
  /** With the first report, and when its agent is another: what it does not know of rules; empty: it knows all. */
  understands(name: string, missing: readonly RuleCapability[]): void;
  /** It is alive or lost now. */
  liveness(name: string, liveness: Liveness): void;
  /** A victim goes to another node. */
  moved(): void;
}

/** What a node says of itself. */
export interface ScrubReport {
  /** As it came, unknown keys among it. */
  readonly wire: object;
  /** null: not said. */
  readonly loadMbps: number | null;
  readonly capabilities: readonly string[];
}

export interface ScrubNodeView {
  readonly node: ScrubNodeConfig;
  readonly liveness: Liveness;
  /** A poll of it is parked now. */
  readonly isHolding: boolean;
  /** Wall clock, ms; null: not since the start. */
  readonly lastSeenAt: number | null;
  /** Bans that are diverted to it. */
  readonly activeBans: number;
  /** null: none yet. */
  readonly report: StoredReport | null;
  /** Rules that it gets in several simpler ones, and rules that it does not get: it would not understand them. */
  readonly splitRules: number;
  readonly leftOutRules: number;
}

export interface StoredReport extends ScrubReport {
  /** Wall clock, ms. */
  readonly reportedAt: number;
  readonly understanding: Understanding;
}

export interface DocumentWatcher {
  /** All nodes' document, once refreshDocuments() is called; `expiry` may wait for that, for no longer than `withinMs`. */
  documentsChanged(change: Exclude<DocumentChange, "none">, withinMs: number): void;
  /** That of one node: it understands other rules now. */
  nodeChanged(name: string): void;
  /** Nodes, tokens and bindings may be others. */
  reloaded(): void;
}

/** Who does not say what it understands gets what the first version understood. */
const FIRST_VERSION: Understanding = new Set();
/** The longest that a later expiry is kept back. */
const EXPIRY_WAIT_MS = 10_000;

export class ScrubNodes {
  readonly #options: ScrubNodesOptions;
  readonly #presence = new NodePresence();
  readonly #documents = new RuleDocuments();
  readonly #reports = new Map<string, StoredReport>();
  readonly #loads = new NodeLoads();
  /** As it was told last. */
  readonly #told = new Map<string, Liveness>();
  #nodes: ReadonlyMap<string, ScrubNodeConfig> = new Map();
  #staleAfterMs = STALE_AFTER_SECONDS * 1000;
  #config: ScrubbingConfig | null = null;
  #watcher: DocumentWatcher | null = null;

  constructor(options: ScrubNodesOptions) {
    this.#options = options;
    this.#takeOver(options.config);
  }

  /** In force; null: no scrubbing is configured. */
  get config(): ScrubbingConfig | null {
    return this.#config;
  }

  get staleAfterSeconds(): number {
    return this.#staleAfterMs / 1000;
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** The one who answers polls. */
  watch(watcher: DocumentWatcher): void {
    this.#watcher = watcher;
  }

  has(name: string): boolean {
    return this.#nodes.has(name);
  }

  reconfigure(config: ScrubbingConfig | null): void {
    this.#takeOver(config);
    this.#watcher?.reloaded();
  }

  /** The bans in force at the start, then each that changes. */
  banChanged(ban: Ban): void {
    this.#place(ban);
    const change = this.#documents.put(ban);
    if (change === "none") return;
    if (this.#watcher === null) {
      this.refreshDocuments();
      return;
    }
    const { wallMs } = this.#options.now();
    this.#watcher.documentsChanged(change, Math.min(EXPIRY_WAIT_MS, Math.max(0, ban.expiresAt - wallMs) / 4));
  }

  /** Of an agent that polls as this node. */
  pollStarted(name: string): void {
    this.#presence.pollStarted(name, this.#options.now().monotonicMs);
  }

  pollEnded(name: string): void {
    this.#presence.pollEnded(name, this.#options.now().monotonicMs);
  }

  /** Of a configured node. */
  report(name: string, report: ScrubReport): void {
    const { now, observer } = this.#options;
    const before = this.#reports.get(name);
    const understanding = understandingOf(report.capabilities);
    const { wallMs, monotonicMs } = now();
    this.#reports.set(name, { ...report, understanding, reportedAt: wallMs });
    this.#loads.reported(name, report.loadMbps, monotonicMs);
    observer.reported();
    if (before !== undefined && understandingKey(before.understanding) === understandingKey(understanding)) return;
    observer.understands(name, missingOf(understanding));
    this.#watcher?.nodeChanged(name);
  }

  /** Where traffic to a prefix goes; it stays with its node as long as that may be there. null: there are no nodes at all. */
  divertTo({ prefix, group, frozenTo }: DivertRequest): NodeTarget | null {
    if (this.#config === null || this.#nodes.size === 0) return null;
    const hopOf = (node: ScrubNodeConfig) => nextHopFor(node, group, prefix.family);
    const frozen = frozenTo === null ? undefined : this.#nodes.get(frozenTo);
    const nextHop = frozen === undefined ? null : hopOf(frozen);
    if (frozen !== undefined && nextHop !== null && this.#livenessOf(frozen.name) !== "lost") {
      return { kind: "node", name: frozen.name, nextHop };
    }
    const candidates = [...this.#nodes.values()].filter((node) => hopOf(node) !== null);
    if (candidates.length === 0) return { kind: "none" };
    const { selection, onAllNodesLost } = this.#config;
    const chosen = selectNode(
      prefix.text,
      candidates.map((node) => this.#candidateOf(node)),
      selection,
    );
    const hop = chosen === null ? null : hopOf(chosen.node);
    return chosen === null || hop === null
      ? { kind: "lost", instead: onAllNodesLost }
      : { kind: "node", name: chosen.name, nextHop: hop };
  }

  /** Tells what has become of nodes since the last time. */
  tick(): void {
    for (const name of this.#nodes.keys()) {
      const liveness = this.#livenessOf(name);
      if (liveness === (this.#told.get(name) ?? "not_seen")) continue;
      this.#told.set(name, liveness);
      this.#options.observer.liveness(name, liveness);
    }
  }

  /** What a node is told; null: whoever does not say which node it is. */
  documentFor(name: string | null): RuleDocument {
    return this.#documents.of(name === null ? FIRST_VERSION : this.#understandingOf(name));
  }

  /** Documents are of bans as they are now. */
  refreshDocuments(): void {
    this.#documents.refresh();
  }

  /** In the order of the configuration. */
  *views(): Generator<ScrubNodeView> {
    for (const node of this.#nodes.values()) yield this.#viewOf(node);
  }

  #viewOf(node: ScrubNodeConfig): ScrubNodeView {
    const { wallMs, monotonicMs } = this.#options.now();
    const { name } = node;
    const seenMs = this.#presence.lastSeenMs(name);
    const { splitRules, leftOutRules } = this.documentFor(name);
    return {
      node,
      liveness: this.#livenessOf(name),
      isHolding: this.#presence.isHolding(name),
      // By the wall clock of now: it may have been set since.
      lastSeenAt: seenMs === null ? null : wallMs - (monotonicMs - seenMs),
      activeBans: this.#loads.bansOf(name),
      report: this.#reports.get(name) ?? null,
      splitRules,
      leftOutRules,
    };
  }

  #takeOver(config: ScrubbingConfig | null): void {
    this.#config = config;
    const { nodes, staleAfterSeconds } = config ?? { nodes: [], staleAfterSeconds: STALE_AFTER_SECONDS };
    this.#nodes = new Map(nodes.map((node) => [node.name, node]));
    this.#staleAfterMs = staleAfterSeconds * 1000;
    this.#presence.reconfigure([...this.#nodes.keys()], this.#options.now().monotonicMs);
    for (const name of this.#reports.keys()) if (!this.#nodes.has(name)) this.#reports.delete(name);
    for (const name of this.#told.keys()) if (!this.#nodes.has(name)) this.#told.delete(name);
    this.#loads.forget((name) => this.#nodes.has(name));
  }

  #understandingOf(name: string): Understanding {
    return this.#reports.get(name)?.understanding ?? FIRST_VERSION;
  }

  #place(ban: Ban): void {
    const { now, mbpsOf, observer } = this.#options;
    const node = isDiverted(ban) ? ban.measure.node : null;
    const before = this.#loads.nodeOf(ban.id);
    if (before === node) return;
    this.#loads.place(ban.id, node, mbpsOf(ban), now().monotonicMs);
    if (before !== null && node !== null) observer.moved();
  }

  #livenessOf(name: string): Liveness {
    return this.#presence.livenessOf(name, this.#options.now().monotonicMs, this.#staleAfterMs);
  }

  #candidateOf(node: ScrubNodeConfig): Candidate & { readonly node: ScrubNodeConfig } {
    const { name, capacityMbps } = node;
    return {
      node,
      name,
      liveness: this.#livenessOf(name),
      utilization: capacityMbps === null ? 0 : this.#loads.utilizationOf(name, capacityMbps),
      bans: this.#loads.bansOf(name),
    };
  }
}
