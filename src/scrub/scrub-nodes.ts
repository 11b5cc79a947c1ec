/**
 * The scrub nodes as the service knows them: which are alive, what they reported last, and what they are told to drop
 * (interface 2.9, 2.10, 4.5). Knows nothing of HTTP: polls and reports come in as calls, and whoever watches is told when
 * the document of a node is another.
 */
import { type ScrubbingConfig, type ScrubNodeConfig, STALE_AFTER_SECONDS } from "../config/nodes-section.ts";
import type { Now } from "../detection/attack.ts";
import type { Ban } from "../mitigation/ban.ts";
import { type Liveness, NodePresence } from "./node-presence.ts";
import { type DocumentChange, isDiverted, type RuleDocument, RuleDocuments } from "./rule-documents.ts";
import { missingOf, type RuleCapability, type Understanding, understandingKey, understandingOf } from "./rule-forms.ts";

export interface ScrubNodesOptions {
  /** null: no scrubbing is configured. */
  readonly config: ScrubbingConfig | null;
  readonly now: () => Now;
  readonly observer: ScrubObserver;
}

export interface ScrubObserver {
  reported(): void;
  /** With the first report, and when its agent is another: what it does not know of rules; empty: it knows all. */
  understands(name: string, missing: readonly RuleCapability[]): void;
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
  /** All nodes' document; `expiry` may wait, for no longer than `withinMs`. */
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
  /** Ids of bans by the node that they are frozen to. */
  readonly #bansOf = new Map<string, Set<string>>();
  readonly #nodeOf = new Map<string, string>();
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
    const { wallMs } = this.#options.now();
    this.#watcher?.documentsChanged(change, Math.min(EXPIRY_WAIT_MS, Math.max(0, ban.expiresAt - wallMs) / 4));
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
    this.#reports.set(name, { ...report, understanding, reportedAt: now().wallMs });
    observer.reported();
    if (before !== undefined && understandingKey(before.understanding) === understandingKey(understanding)) return;
    observer.understands(name, missingOf(understanding));
    this.#watcher?.nodeChanged(name);
  }

  /** What a node is told; null: whoever does not say which node it is. */
  documentFor(name: string | null): RuleDocument {
    return this.#documents.of(name === null ? FIRST_VERSION : this.#understandingOf(name));
  }

  /** Expiries are told as they are now. */
  refreshExpiries(): void {
    this.#documents.refreshed();
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
      liveness: this.#presence.livenessOf(name, monotonicMs, this.#staleAfterMs),
      isHolding: this.#presence.isHolding(name),
      // By the wall clock of now: it may have been set since.
      lastSeenAt: seenMs === null ? null : wallMs - (monotonicMs - seenMs),
      activeBans: this.#bansOf.get(name)?.size ?? 0,
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
  }

  #understandingOf(name: string): Understanding {
    return this.#reports.get(name)?.understanding ?? FIRST_VERSION;
  }

  #place(ban: Ban): void {
    const before = this.#nodeOf.get(ban.id) ?? null;
    const node = isDiverted(ban) ? ban.measure.node : null;
    if (before === node) return;
    if (before !== null) {
      const left = this.#bansOf.get(before);
      left?.delete(ban.id);
      if (left?.size === 0) this.#bansOf.delete(before);
      this.#nodeOf.delete(ban.id);
    }
    if (node === null) return;
    this.#nodeOf.set(ban.id, node);
    const bans = this.#bansOf.get(node);
    if (bans === undefined) this.#bansOf.set(node, new Set([ban.id]));
    else bans.add(ban.id);
  }
}
