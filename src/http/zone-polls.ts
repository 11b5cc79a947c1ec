/** The long polls of edge nodes (interface 4.6): who gets which zone document, and who is told when it is another. */
import type { EdgeNodes } from "../edge/edge-nodes.ts";
import { scopeOf } from "../edge/placement.ts";
import type { ZoneDocument } from "../edge/zone-documents.ts";
import type { ZoneFeed } from "../edge/zone-feed.ts";
import { ZONES_HOLD_MS } from "../limits.ts";
import type { Clock } from "../system/clock.ts";
import type { Cancel, Timers } from "../system/timers.ts";
import { type Found, type HoldMetrics, Holds, holdCaps } from "./holds.ts";
import type { Refusal } from "./refusal.ts";
import type { Answer, Call } from "./route.ts";

export interface ZonePollsOptions {
  readonly edge: { readonly nodes: EdgeNodes; readonly feed: Pick<ZoneFeed, "watch" | "documentFor"> };
  readonly metrics: HoldMetrics;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Timers;
  readonly nextTurn: () => Promise<void>;
}

/** Where documents take long to write, that takes no more than a share of one to this; yet nobody waits longer than a second. */
const REST = 10;
const REST_MS_MAX = 1000;
/** Of an agent that does not say which node it is: what every node gets. */
const ANY_NODE = scopeOf({ hostgroups: null });

export class ZonePolls {
  readonly #edge: ZonePollsOptions["edge"];
  readonly #clock: ZonePollsOptions["clock"];
  readonly #timers: Timers;
  readonly #holds: Holds<Call>;
  /** When all were told last, and for how long documents were written since; monotonic clock, ms. */
  #told = { atMs: Number.NEGATIVE_INFINITY, writtenMs: 0 };
  /** While changes wait to be told. */
  #cancelTelling: Cancel | null = null;

  constructor({ edge, metrics, clock, timers, nextTurn }: ZonePollsOptions) {
    this.#edge = edge;
    this.#clock = clock;
    this.#timers = timers;
    this.#holds = new Holds<Call>({
      holdMs: ZONES_HOLD_MS,
      caps: () => holdCaps(edge.nodes.size),
      find: (call) => this.#find(call),
      presence: {
        started: (call) => onAgent(call, (node) => edge.nodes.pollStarted(node, call.principal.operator)),
        ended: (call) => onAgent(call, (node) => edge.nodes.pollEnded(node)),
      },
      metrics,
      timers,
      nextTurn,
    });
    edge.feed.watch({ changed: () => this.#tellSoon(), reloaded: () => this.#tellAll() });
  }

  poll(call: Call): Answer {
    return this.#holds.poll(call);
  }

  /** Answers all that are parked, and parks no more. */
  async stop(): Promise<void> {
    this.#cancelTelling?.();
    await this.#holds.stop();
  }

  /** Named by the node; "" is whoever does not say which. */
  #find({ principal, node }: Call): Found | Refusal {
    if (node === null) {
      const scope = principal.role === "agent" ? ANY_NODE : "all";
      return { kind: "document", key: "", document: this.#documentFor(scope) };
    }
    if (principal.operator === "") return { kind: "node_needs_token" };
    if (!this.#edge.nodes.has(node)) return { kind: "unknown_edge_node" };
    return { kind: "document", key: node, document: this.#documentFor(this.#edge.nodes.scopeOf(node)) };
  }

  #documentFor(scope: readonly string[] | "all"): ZoneDocument {
    const begunMs = this.#clock.monotonicMs();
    const document = this.#edge.feed.documentFor(scope);
    this.#told.writtenMs += this.#clock.monotonicMs() - begunMs;
    return document;
  }

  /** At once, unless that was done only now and took long. A fresh poll sees changes at once in any case. */
  #tellSoon(): void {
    if (this.#cancelTelling !== null) return;
    const { atMs, writtenMs } = this.#told;
    const restMs = atMs + Math.min(REST * writtenMs, REST_MS_MAX) - this.#clock.monotonicMs();
    if (restMs <= 0) this.#tellAll();
    else this.#cancelTelling = this.#timers.after(restMs, () => this.#tellAll());
  }

  #tellAll(): void {
    this.#cancelTelling?.();
    this.#cancelTelling = null;
    this.#told = { atMs: this.#clock.monotonicMs(), writtenMs: 0 };
    this.#holds.judgeAll();
  }
}

/** An operator who asks what a node is told is not that node. */
function onAgent({ principal, node }: Call, then: (node: string) => void): void {
  if (principal.role === "agent" && node !== null) then(node);
}
