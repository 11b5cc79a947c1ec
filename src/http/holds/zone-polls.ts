/**
 * The long polls of edge nodes (docs/interface.md#edge-zones-poll): who gets which zone document, and who is told when
 * it is another.
 */
import type { EdgeNodes } from "../../edge/edge-nodes.ts";
import { scopeOf } from "../../edge/placement.ts";
import type { ZoneFeed } from "../../edge/zone-feed.ts";
import { ZONES_HOLD_MS } from "../../limits.ts";
import type { Clock } from "../../system/clock.ts";
import type { Cancel, Timers } from "../../system/timers.ts";
import type { Refusal } from "../refusal.ts";
import type { Answer, Call } from "../route.ts";
import { agentPresence, type Found, type HoldMetrics, Holds, holdCaps } from "./holds.ts";

export interface ZonePollsOptions {
  readonly edge: { readonly nodes: EdgeNodes; readonly feed: Pick<ZoneFeed, "watch" | "documentFor"> };
  readonly metrics: HoldMetrics;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Timers;
  readonly nextTurn: () => Promise<void>;
}

/** Where it takes long to tell a change, that takes no more than a share of one to this; yet nobody waits longer than a second. */
const REST = 2;
const REST_MS_MAX = 1000;
/** Of an agent that does not say which node it is: what every node gets. */
const ANY_NODE = scopeOf({ hostgroups: null });

export class ZonePolls {
  readonly #edge: ZonePollsOptions["edge"];
  readonly #clock: ZonePollsOptions["clock"];
  readonly #timers: Timers;
  readonly #holds: Holds<Call>;
  /** Rounds in which all are told, and whether something has changed since they began. */
  #rounds = 0;
  #hasChanged = false;
  /** Monotonic clock, ms. */
  #restsUntilMs = Number.NEGATIVE_INFINITY;
  #isStopped = false;
  /** While changes wait to be told. */
  #cancelWake: Cancel | null = null;

  constructor({ edge, metrics, clock, timers, nextTurn }: ZonePollsOptions) {
    this.#edge = edge;
    this.#clock = clock;
    this.#timers = timers;
    this.#holds = new Holds<Call>({
      holdMs: ZONES_HOLD_MS,
      caps: () => holdCaps(edge.nodes.size),
      find: (call) => this.#find(call),
      presence: agentPresence(edge.nodes),
      metrics,
      clock,
      timers,
      nextTurn,
    });
    edge.feed.watch({ changed: () => this.#wakeSoon(), reloaded: () => void this.#wakeAll("reloaded") });
  }

  poll(call: Call): Answer {
    return this.#holds.poll(call);
  }

  /** Answers all that are parked, and parks no more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelWake?.();
    await this.#holds.stop();
  }

  /** Named by the node; "" is whoever does not say which. */
  #find({ principal, node }: Call): Found | Refusal {
    if (node === null) {
      const scope = principal.role === "agent" ? ANY_NODE : "all";
      return { kind: "document", key: "", document: this.#edge.feed.documentFor(scope) };
    }
    if (principal.operator === "") return { kind: "node_needs_token" };
    if (!this.#edge.nodes.has(node)) return { kind: "unknown_edge_node" };
    return { kind: "document", key: node, document: this.#edge.feed.documentFor(this.#edge.nodes.scopeOf(node)) };
  }

  /** At once, unless that was done only now and took long. A fresh poll sees changes at once in any case. */
  #wakeSoon(): void {
    if (this.#isStopped || this.#cancelWake !== null) return;
    if (this.#rounds > 0) {
      this.#hasChanged = true;
      return;
    }
    const restMs = this.#restsUntilMs - this.#clock.monotonicMs();
    if (restMs <= 0) void this.#wakeAll("changed");
    else this.#cancelWake = this.#timers.after(restMs, () => void this.#wakeAll("changed"));
  }

  async #wakeAll(what: "changed" | "reloaded"): Promise<void> {
    this.#cancelWake?.();
    this.#cancelWake = null;
    const begunMs = this.#clock.monotonicMs();
    this.#rounds++;
    if (what === "changed") this.#holds.changedAll();
    else this.#holds.judgeAll();
    await this.#holds.drained();
    this.#rounds--;
    const nowMs = this.#clock.monotonicMs();
    this.#restsUntilMs = nowMs + Math.min(REST * (nowMs - begunMs), REST_MS_MAX);
    if (this.#rounds > 0 || !this.#hasChanged) return;
    this.#hasChanged = false;
    this.#wakeSoon();
  }
}
