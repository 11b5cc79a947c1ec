/**
 * The long polls of edge nodes (docs/interface.md#edge-zones-poll): the document for each caller, and waking polls when
 * documents change.
 */
import type { EdgeNodes } from "../../edge/edge-nodes.ts";
import { scopeOf } from "../../edge/zones/placement.ts";
import type { ZoneFeed } from "../../edge/zones/zone-feed.ts";
import type { Clock } from "../../system/clock.ts";
import type { Cancel, Timers } from "../../system/timers.ts";
import type { Refusal } from "../refusal.ts";
import type { Answer, Call } from "../route.ts";
import { agentPresence, type Found, type HoldMetrics, Holds, holdCaps } from "./holds.ts";

/** How long a poll for the edge nodes' zones stays parked, ms. */
export const ZONES_HOLD_MS = 25_000;

interface ZonePollsOptions {
  readonly edge: { readonly nodes: EdgeNodes; readonly feed: Pick<ZoneFeed, "watch" | "documentFor"> };
  readonly metrics: HoldMetrics;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Timers;
  readonly nextTurn: () => Promise<void>;
}

/**
 * If a round of answers takes long, rounds take at most a share of 1 / (1 + REST) of the time; no poll waits longer
 * than a second.
 */
const REST = 2;
const REST_MS_MAX = 1000;
/** The scope of an agent that names no node: the zones that every node gets. */
const ANY_NODE = scopeOf({ hostgroups: null });

export class ZonePolls {
  readonly #edge: ZonePollsOptions["edge"];
  readonly #clock: ZonePollsOptions["clock"];
  readonly #timers: Timers;
  readonly #holds: Holds<Call>;
  /** Rounds in progress that wake all polls, and whether something has changed since they began. */
  #rounds = 0;
  #hasChanged = false;
  /** Monotonic clock, ms. */
  #restsUntilMs = Number.NEGATIVE_INFINITY;
  #isStopped = false;
  /** Cancels the pending wake-up. */
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

  /** Answers all parked polls and parks no more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelWake?.();
    await this.#holds.stop();
  }

  /** The key is the node's name; "" for a caller that names no node. */
  #find({ principal, node }: Call): Found | Refusal {
    const { nodes, feed } = this.#edge;
    if (node === null) {
      if (!nodes.areZonesKnown) return { kind: "zones_unknown" };
      const scope = principal.role === "agent" ? ANY_NODE : "all";
      return { kind: "document", key: "", document: feed.documentFor(scope) };
    }
    if (principal.operator === "") return { kind: "node_needs_token" };
    if (!nodes.has(node)) return { kind: "unknown_edge_node" };
    if (!nodes.areZonesKnown) return { kind: "zones_unknown" };
    return { kind: "document", key: node, document: feed.documentFor(nodes.scopeOf(node)) };
  }

  /** At once, unless the last round has just ended and took long. A new poll gets changes at once in any case. */
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
    else this.#holds.recheckAll();
    await this.#holds.drained();
    this.#rounds--;
    const nowMs = this.#clock.monotonicMs();
    this.#restsUntilMs = nowMs + Math.min(REST * (nowMs - begunMs), REST_MS_MAX);
    if (this.#rounds > 0 || !this.#hasChanged) return;
    this.#hasChanged = false;
    this.#wakeSoon();
  }
}
