/** The scrub nodes: how many are alive, what is diverted to them, and what they cannot be told. */
import { Counter, Gauge, type Registry } from "prom-client";

export const LIVENESSES = ["alive", "not_seen", "lost"] as const;

export interface ScrubReading {
  readonly liveness: (typeof LIVENESSES)[number];
  readonly activeBans: number;
  readonly splitRules: number;
  readonly leftOutRules: number;
}

export class ScrubMetrics {
  readonly #nodes: Gauge<"state">;
  readonly #bans: Gauge;
  readonly #rules: Gauge<"form">;
  readonly #reports: Counter;
  readonly #moves: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#nodes = new Gauge({
      name: "svc_scrub_nodes",
      help: "Configured scrub nodes: alive, not heard of since the start, or lost.",
      labelNames: ["state"],
      registers,
    });
    this.#bans = new Gauge({
      name: "svc_scrub_bans",
      help: "Bans diverted to a scrub node, of all of them.",
      registers,
    });
    this.#rules = new Gauge({
      name: "svc_scrub_rules_changed",
      help: "Rules that nodes get in several simpler ones or not at all, since their agents would not understand them; of all nodes.",
      labelNames: ["form"],
      registers,
    });
    this.#moves = new Counter({
      name: "svc_scrub_moves_total",
      help: "Diverted bans that went on to another scrub node, since theirs was lost or takes them no more.",
      registers,
    });
    this.#reports = new Counter({ name: "svc_scrub_reports_total", help: "Reports of scrub nodes.", registers });
  }

  set(nodes: Iterable<ScrubReading>): void {
    const count = { alive: 0, not_seen: 0, lost: 0 };
    let [bans, split, leftOut] = [0, 0, 0];
    for (const { liveness, activeBans, splitRules, leftOutRules } of nodes) {
      count[liveness]++;
      bans += activeBans;
      split += splitRules;
      leftOut += leftOutRules;
    }
    for (const state of LIVENESSES) this.#nodes.set({ state }, count[state]);
    this.#bans.set(bans);
    this.#rules.set({ form: "split" }, split);
    this.#rules.set({ form: "left_out" }, leftOut);
  }

  moved(): void {
    this.#moves.inc();
  }

  reported(): void {
    this.#reports.inc();
  }
}
