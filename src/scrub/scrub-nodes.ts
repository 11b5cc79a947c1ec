/**
 * The scrub nodes in the service: which ones are alive, their last reports, the rules that they must apply
 * (docs/interface.md#scrub-channel), and the target of each divert. Independent of HTTP: polls and reports arrive as
 * calls, and a watcher is notified when a node's document changes.
 */
import { type Ban, NODES_REFUSE, type NoTarget } from "../mitigation/ban.ts";
import type { DivertRequest, NodeTarget, RulesForReaders } from "../mitigation/circumstances.ts";
import type { NodeRules } from "../mitigation/measure.ts";
import { holdsAll, ReaderRuleFinder } from "../mitigation/rules/reader-rules.ts";
import type { Rule } from "../mitigation/rules/rule.ts";
import type { Prefix } from "../net/prefix.ts";
import { type Liveness, NodePresence, STALE_AFTER_SECONDS } from "../nodes/node-presence.ts";
import type { Now } from "../system/now.ts";
import type { EnforcedReport } from "./enforced-report.ts";
import { NodeEnforcements, type RefusingNode } from "./node-enforcements.ts";
import type { NodeFaults } from "./node-faults.ts";
import { NodeLoads } from "./node-loads.ts";
import { NodePlacements } from "./node-placements.ts";
import { type Candidate, selectNode } from "./node-selection.ts";
import { type DocumentChange, everyBan, isDiverted, type RuleDocument, RuleDocuments } from "./rule-documents.ts";
import {
  missingOf,
  nodeReader,
  type RuleCapability,
  type RuleSupport,
  ruleSupportKey,
  ruleSupportOf,
} from "./rule-forms.ts";
import type { ScrubReport, StoredReport } from "./scrub-report.ts";
import { nextHopFor, type ScrubbingConfig, type ScrubNodeConfig } from "./scrubbing-config.ts";

export interface ScrubNodesOptions {
  /** null: no scrubbing is configured. */
  readonly config: ScrubbingConfig | null;
  readonly now: () => Now;
  /** Rate of the attacks of a ban, megabits per second; null: unknown. */
  readonly mbpsOf: (ban: Ban) => number | null;
  /** The hostgroup of a prefix, by the present configuration. */
  readonly groupOf: (prefix: Prefix) => string;
  readonly observer: ScrubObserver;
}

export interface ScrubObserver {
  reported(): void;
  /**
   * Called for the first report, and when the agent's capabilities change, with the capabilities that it lacks; empty:
   * none.
   */
  ruleSupportChanged(name: string, missing: readonly RuleCapability[]): void;
  /** The node became alive or lost. */
  liveness(name: string, liveness: Liveness): void;
  /** A victim was moved to another node. */
  moved(): void;
  /** The node began, or ceased (`faults` null), to refuse bans or to be late with what it got. */
  enforcementChanged(name: string, faults: NodeFaults | null): void;
}

export interface ScrubNodeView {
  readonly node: ScrubNodeConfig;
  readonly liveness: Liveness;
  /** Whether a poll is parked now. */
  readonly isHolding: boolean;
  /** Wall clock, ms; null: no poll since the start. */
  readonly lastSeenAt: number | null;
  /** Number of bans diverted to it. */
  readonly activeBans: number;
  /** null: none yet. */
  readonly report: StoredReport | null;
  /**
   * Number of rules that it gets in several simpler ones, and of rules that it does not support and that nothing
   * replaces.
   */
  readonly splitRules: number;
  readonly leftOutRules: number;
  readonly faults: NodeFaults;
}

export interface DocumentWatcher {
  /**
   * The document of all nodes will change with refreshDocuments(); with `expiry`, that call may wait, at most
   * `withinMs`.
   */
  documentsChanged(change: Exclude<DocumentChange, "none">, withinMs: number): void;
  /** The document of one node changed, since its capabilities changed. */
  nodeChanged(name: string): void;
  /** Nodes, tokens and bindings may have changed. */
  reloaded(): void;
}

/** A node that reports no capabilities gets the forms of the first version. */
const FIRST_VERSION: RuleSupport = new Set();
/** The longest delay of a later expiry. */
const EXPIRY_WAIT_MS = 10_000;
/** Routers have changed their routes, and a node has measured the traffic that they send it. */
const REPORT_COVERS_MS = 20_000;

export class ScrubNodes {
  readonly #options: ScrubNodesOptions;
  readonly presence = new NodePresence();
  readonly #documents: RuleDocuments;
  readonly #reports = new Map<string, StoredReport>();
  readonly #loads = new NodeLoads();
  readonly #placements: NodePlacements;
  readonly #enforcements = new NodeEnforcements();
  readonly #ruleFinder = new ReaderRuleFinder();
  /** Cached: each diverted ban asks for it in each tick. null: nodes or reports changed. */
  #supports: readonly RuleSupport[] | null = null;
  /** The last reported liveness of each node. */
  readonly #reportedLiveness = new Map<string, Liveness>();
  #nodes: ReadonlyMap<string, ScrubNodeConfig> = new Map();
  #staleAfterMs = STALE_AFTER_SECONDS * 1000;
  #config: ScrubbingConfig | null = null;
  #watcher: DocumentWatcher | null = null;
  #onFaults: ScrubObserver["enforcementChanged"] = () => {};

  constructor(options: ScrubNodesOptions) {
    this.#options = options;
    this.#documents = new RuleDocuments(options.groupOf);
    this.#placements = new NodePlacements(options.groupOf);
    this.#takeOver(options.config);
  }

  /** The present configuration; null: no scrubbing is configured. */
  get config(): ScrubbingConfig | null {
    return this.#config;
  }

  get staleAfterSeconds(): number {
    return this.#staleAfterMs / 1000;
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** Sets the watcher, which answers polls. */
  watch(watcher: DocumentWatcher): void {
    this.#watcher = watcher;
  }

  /** The same changes as the observer receives, for notifications. */
  onFaults(listener: ScrubObserver["enforcementChanged"]): void {
    this.#onFaults = listener;
  }

  has(name: string): boolean {
    return this.#nodes.has(name);
  }

  reconfigure(config: ScrubbingConfig | null): void {
    this.#takeOver(config);
    this.#watcher?.reloaded();
  }

  /** Call this for all active bans at the start, then for each change. */
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

  /** Call this when a poll of this node starts. */
  pollStarted(name: string): void {
    this.presence.pollStarted(name, this.#options.now());
  }

  pollEnded(name: string): void {
    this.presence.pollEnded(name, this.#options.now());
  }

  /** The node has this document, by its poll. */
  documentSent(name: string, etag: string, document: RuleDocument): void {
    if (this.#nodes.has(name)) this.#enforcements.sent(name, { etag, document }, this.#options.now());
  }

  /** Takes a report of a configured node. */
  report(name: string, report: ScrubReport): void {
    const { now, observer } = this.#options;
    const before = this.#reports.get(name);
    const { enforced, ...stored } = report;
    const ruleSupport = ruleSupportOf(report.capabilities);
    const { wallMs, monotonicMs } = now();
    this.#reports.set(name, { ...stored, ruleSupport, reportedAt: wallMs });
    if (enforced !== undefined) this.#judge(name, enforced);
    this.#loads.reported(name, report.loadMbps, monotonicMs);
    observer.reported();
    if (before !== undefined && ruleSupportKey(before.ruleSupport) === ruleSupportKey(ruleSupport)) return;
    this.#supports = null;
    observer.ruleSupportChanged(name, missingOf(ruleSupport));
    this.#watcher?.nodeChanged(name);
  }

  /**
   * Selects the node for traffic to a prefix, which stays with its node unless that is lost or does not enforce its rules.
   * null: no nodes are configured.
   */
  divertTo({ prefix, group, currentNode, rules }: DivertRequest): NodeTarget | null {
    if (this.#config === null || this.#nodes.size === 0) return null;
    const hopOf = (node: ScrubNodeConfig) => nextHopFor(node, group, prefix.family);
    const current = currentNode === null ? undefined : this.#nodes.get(currentNode);
    const nextHop = current === undefined ? null : hopOf(current);
    if (current !== undefined && nextHop !== null && this.#livenessFor(current.name, prefix) !== "lost") {
      return { kind: "node", name: current.name, nextHop };
    }
    const candidates = [...this.#nodes.values()].filter((node) => hopOf(node) !== null);
    if (candidates.length === 0) return { kind: "none" };
    const { selection, onAllNodesLost } = this.#config;
    const holds = this.#holders(candidates, rules);
    const chosen = selectNode(
      prefix.text,
      candidates.map((node) => this.#candidateOf(node, prefix, holds)),
      selection,
    );
    const hop = chosen === null ? null : hopOf(chosen.node);
    return chosen === null || hop === null
      ? { kind: "lost", instead: onAllNodesLost, ...this.#whyLost(candidates) }
      : { kind: "node", name: chosen.name, nextHop: hop };
  }

  /** The rules of a diverted ban for each kind of node that does not support all of its rules. */
  nodeRules(request: RulesForReaders): readonly NodeRules[] {
    this.#supports ??= this.#differentSupports();
    return this.#ruleFinder.rulesFor(this.#supports.map(nodeReader), request);
  }

  /** Reports changes of liveness since the last call. */
  tick(): void {
    this.#ruleFinder.tick();
    const { now, observer } = this.#options;
    this.#enforcements.changes(now().monotonicMs, (name, faults) => {
      observer.enforcementChanged(name, faults);
      this.#onFaults(name, faults);
    });
    for (const name of this.#nodes.keys()) {
      const liveness = this.#livenessOf(name);
      if (liveness === (this.#reportedLiveness.get(name) ?? "not_seen")) continue;
      this.#reportedLiveness.set(name, liveness);
      observer.liveness(name, liveness);
    }
  }

  /** The document for a node; null: for a poll without a node name. */
  documentFor(name: string | null): RuleDocument {
    const node = name === null ? undefined : this.#nodes.get(name);
    if (node === undefined) return this.#documents.of(everyBan(FIRST_VERSION));
    return this.#documents.of(this.#placements.audienceOf(node, this.#ruleSupportOf(node.name)));
  }

  /** The nodes that do not enforce the rules of the ban: at most REFUSING_NODES_SHOWN. */
  refusing(ban: Ban): readonly RefusingNode[] {
    if (!isDiverted(ban) && ban.fallback !== NODES_REFUSE && ban.reason !== NODES_REFUSE) return [];
    const { monotonicMs } = this.#options.now();
    return this.#enforcements.refusing(ban.prefix.text, monotonicMs, (name) => this.#concerns(name, ban));
  }

  /** Number of rules of a diverted ban that its node does not get, and that nothing replaces. */
  leftOutRulesOf(ban: Ban): number {
    const node = isDiverted(ban) ? ban.measure.node : null;
    return node === null ? 0 : this.#documents.leftOutOf(ban, this.#ruleSupportOf(node));
  }

  /**
   * Whether the node of a diverted ban reports that no traffic reaches it, in a report of well after the ban began: then
   * that of the ban does not come by it. False: some does, or it is not known.
   */
  isNodeIdle(ban: Ban): boolean {
    const node = isDiverted(ban) ? ban.measure.node : null;
    const report = node === null ? undefined : this.#reports.get(node);
    return report !== undefined && report.loadMbps === 0 && report.reportedAt - ban.startedAt >= REPORT_COVERS_MS;
  }

  /** Generates the documents again from the present bans. */
  refreshDocuments(): void {
    this.#documents.refresh();
  }

  /** All nodes in the order of the configuration. */
  *views(): Generator<ScrubNodeView> {
    for (const node of this.#nodes.values()) yield this.#viewOf(node);
  }

  #viewOf(node: ScrubNodeConfig): ScrubNodeView {
    const { name } = node;
    const { splitRules, leftOutRules } = this.documentFor(name);
    return {
      node,
      liveness: this.#livenessOf(name),
      isHolding: this.presence.isHolding(name),
      lastSeenAt: this.presence.lastSeenAt(name, this.#options.now()),
      activeBans: this.#loads.bansOf(name),
      report: this.#reports.get(name) ?? null,
      splitRules,
      leftOutRules,
      faults: this.#enforcements.view(name, this.#options.now().monotonicMs),
    };
  }

  #judge(name: string, enforced: EnforcedReport): void {
    const concerns = (ban: Ban) => this.#concerns(name, ban);
    this.#enforcements.reported(name, enforced, this.#options.now(), { withinMs: this.#staleAfterMs, concerns });
  }

  #concerns(name: string, ban: Ban): boolean {
    const node = this.#nodes.get(name);
    return node !== undefined && this.#placements.mayGet(node, ban);
  }

  #takeOver(config: ScrubbingConfig | null): void {
    this.#config = config;
    const { nodes, staleAfterSeconds } = config ?? { nodes: [], staleAfterSeconds: STALE_AFTER_SECONDS };
    this.#nodes = new Map(nodes.map((node) => [node.name, node]));
    this.#staleAfterMs = staleAfterSeconds * 1000;
    this.presence.reconfigure([...this.#nodes.keys()], this.#options.now().monotonicMs);
    for (const name of this.#reports.keys()) if (!this.#nodes.has(name)) this.#reports.delete(name);
    for (const name of this.#reportedLiveness.keys()) if (!this.#nodes.has(name)) this.#reportedLiveness.delete(name);
    this.#loads.forget((name) => this.#nodes.has(name));
    this.#placements.reconfigured();
    this.#enforcements.forget((name, ban) => (ban === null ? !this.#nodes.has(name) : !this.#concerns(name, ban)));
    // Hostgroups may have other prefixes, and nodes other hostgroups.
    this.#documents.refresh();
    this.#supports = null;
  }

  #ruleSupportOf(name: string): RuleSupport {
    return this.#reports.get(name)?.ruleSupport ?? FIRST_VERSION;
  }

  /** The different capabilities of all nodes; without nodes, those of a poll without a node name. */
  #differentSupports(): readonly RuleSupport[] {
    const all =
      this.#nodes.size === 0 ? [FIRST_VERSION] : [...this.#nodes.keys()].map((name) => this.#ruleSupportOf(name));
    return [...new Map(all.map((support) => [ruleSupportKey(support), support])).values()];
  }

  /**
   * Which nodes can hold the rules. Rules that are not known yet may have any match field. All nodes alike: each can,
   * so that the rules are not requested.
   */
  #holders(nodes: readonly ScrubNodeConfig[], rules: () => readonly Rule[]): (name: string) => boolean {
    const alive = nodes.filter(({ name }) => this.#livenessOf(name) !== "lost");
    if (new Set(alive.map(({ name }) => ruleSupportKey(this.#ruleSupportOf(name)))).size <= 1) return () => true;
    const wanted = rules();
    return (name) => {
      const support = this.#ruleSupportOf(name);
      return wanted.length === 0 ? missingOf(support).length === 0 : holdsAll(wanted, nodeReader(support));
    };
  }

  #place(ban: Ban): void {
    const { now, mbpsOf, observer } = this.#options;
    const node = isDiverted(ban) ? ban.measure.node : null;
    const before = this.#loads.nodeOf(ban.id);
    if (isDiverted(ban)) this.#placements.put(ban, node);
    else this.#placements.end(ban.id);
    if (before === node) return;
    this.#loads.place(ban.id, node, mbpsOf(ban), now().monotonicMs);
    if (before === null || node === null) return;
    observer.moved();
    if (this.#livenessFor(before, ban.prefix) === "lost" && this.#livenessOf(before) !== "lost") {
      this.#placements.forget(ban.id, before);
    }
  }

  #livenessOf(name: string): Liveness {
    return this.presence.livenessOf(name, this.#options.now().monotonicMs, this.#staleAfterMs);
  }

  /** A node that does not enforce the rules of a ban is lost for it. */
  #livenessFor(name: string, prefix: Prefix): Liveness {
    const { monotonicMs } = this.#options.now();
    return this.#enforcements.faultOf(name, prefix.text, monotonicMs) === null ? this.#livenessOf(name) : "lost";
  }

  #whyLost(candidates: readonly ScrubNodeConfig[]): { readonly why?: NoTarget } {
    return candidates.some(({ name }) => this.#livenessOf(name) !== "lost") ? { why: NODES_REFUSE } : {};
  }

  #candidateOf(
    node: ScrubNodeConfig,
    prefix: Prefix,
    holds: (name: string) => boolean,
  ): Candidate & { readonly node: ScrubNodeConfig } {
    const { name, capacityMbps } = node;
    return {
      node,
      name,
      liveness: this.#livenessFor(name, prefix),
      enforces: this.#enforcements.enforces(name, prefix.text),
      utilization: capacityMbps === null ? 0 : this.#loads.utilizationOf(name, capacityMbps),
      bans: this.#loads.bansOf(name),
      holdsAllRules: holds(name),
    };
  }
}
