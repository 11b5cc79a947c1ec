/**
 * The long polls of scrub nodes (docs/interface.md#rules-poll): each node's document as bytes, and waking polls when
 * documents change.
 */
import { type PolledDocument, uncompressed } from "../../nodes/polled-document.ts";
import type { RuleDocument } from "../../scrub/rule-documents.ts";
import type { ScrubNodes } from "../../scrub/scrub-nodes.ts";
import type { Clock } from "../../system/clock.ts";
import type { Cancel, Timers } from "../../system/timers.ts";
import type { Refusal } from "../refusal.ts";
import type { Answer, Call } from "../route.ts";
import { ruleDocumentText } from "../wire/scrub-document.ts";
import { agentPresence, type Found, type HoldMetrics, Holds, holdCaps } from "./holds.ts";

/** How long a poll for the scrub nodes' rules stays parked, ms. */
export const RULES_HOLD_MS = 30_000;

interface RulePollsOptions {
  readonly nodes: ScrubNodes;
  readonly metrics: HoldMetrics;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Timers;
  readonly nextTurn: () => Promise<void>;
}

/**
 * With thousands of frequently changing bans, writing documents takes at most a share of 1 / (1 + REST) of the time.
 */
const REST = 10;

export class RulePolls {
  readonly #nodes: ScrubNodes;
  readonly #clock: RulePollsOptions["clock"];
  readonly #timers: Timers;
  readonly #holds: Holds<Call>;
  readonly #written = new WeakMap<RuleDocument, PolledDocument>();
  readonly #contentOf = new WeakMap<PolledDocument, RuleDocument>();
  /** When all polls were last woken, and the time spent writing documents since; monotonic clock, ms. */
  #lastWake = { atMs: Number.NEGATIVE_INFINITY, madeMs: 0 };
  /** The pending wake-up. */
  #refresh: { readonly dueMs: number; readonly cancel: Cancel } | null = null;

  constructor({ nodes, metrics, clock, timers, nextTurn }: RulePollsOptions) {
    this.#nodes = nodes;
    this.#clock = clock;
    this.#timers = timers;
    this.#holds = new Holds<Call>({
      holdMs: RULES_HOLD_MS,
      caps: () => holdCaps(nodes.size),
      find: (call) => this.#find(call),
      presence: agentPresence(nodes),
      hasDocument: (call, document) => this.#hasDocument(call, document),
      metrics,
      clock,
      timers,
      nextTurn,
    });
    nodes.watch({
      documentsChanged: (change, withinMs) => this.#wakeWithin(change === "content" ? this.#restMs() : withinMs),
      nodeChanged: (name) => this.#holds.changed(name),
      reloaded: () => this.#holds.recheckAll(),
    });
  }

  poll(call: Call): Answer {
    return this.#holds.poll(call);
  }

  /** Answers all parked polls and parks no more. */
  async stop(): Promise<void> {
    this.#cancelRefresh();
    await this.#holds.stop();
  }

  /** The key is the node's name; "" for a caller that names no node. */
  #find({ node }: Call): Found | Refusal {
    if (node !== null && !this.#nodes.has(node)) return { kind: "unknown_scrub_node" };
    return { kind: "document", key: node ?? "", document: this.#documentFor(node) };
  }

  #documentFor(node: string | null): PolledDocument {
    const begunMs = this.#clock.monotonicMs();
    const written = this.#writtenOf(this.#nodes.documentFor(node));
    this.#lastWake.madeMs += this.#clock.monotonicMs() - begunMs;
    return written;
  }

  #writtenOf(document: RuleDocument): PolledDocument {
    let written = this.#written.get(document);
    if (written === undefined) {
      written = uncompressed(ruleDocumentText(document));
      this.#written.set(document, written);
      this.#contentOf.set(written, document);
    }
    return written;
  }

  /** As for liveness, an operator's preview says nothing of the node. */
  #hasDocument({ principal, node, request }: Call, document: PolledDocument): void {
    const content = this.#contentOf.get(document);
    if (principal.role !== "agent" || node === null || request.method === "HEAD" || content === undefined) return;
    this.#nodes.documentSent(node, document.etag, content);
  }

  /** 0 if writing documents took no time: then all polls are woken at once. */
  #restMs(): number {
    const { atMs, madeMs } = this.#lastWake;
    return Math.max(0, atMs + REST * madeMs - this.#clock.monotonicMs());
  }

  #wakeWithin(ms: number): void {
    const nowMs = this.#clock.monotonicMs();
    const dueMs = nowMs + ms;
    if (this.#refresh !== null && this.#refresh.dueMs <= dueMs) return;
    this.#cancelRefresh();
    if (dueMs === nowMs) this.#wakeAll();
    else this.#refresh = { dueMs, cancel: this.#timers.after(ms, () => this.#wakeAll()) };
  }

  #wakeAll(): void {
    this.#refresh = null;
    this.#lastWake = { atMs: this.#clock.monotonicMs(), madeMs: 0 };
    this.#nodes.refreshDocuments();
    this.#holds.changedAll();
  }

  #cancelRefresh(): void {
    this.#refresh?.cancel();
    this.#refresh = null;
  }
}
