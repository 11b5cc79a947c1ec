/** The scrub nodes: their liveness, the bans diverted to them, and the rules that they cannot get. */
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
      help: "Configured scrub nodes: alive, not seen since the start, or lost.",
      labelNames: ["state"],
      registers,
    });
    this.#bans = new Gauge({
      name: "svc_scrub_bans",
      help: "Bans diverted to scrub nodes, sum over all nodes.",
      registers,
    });
    this.#rules = new Gauge({
      name: "svc_scrub_rules_changed",
      help: "Rules that are split into simpler ones or left out because agents do not understand them, sum over all nodes.",
      labelNames: ["form"],
      registers,
    });
    this.#moves = new Counter({
      name: "svc_scrub_moves_total",
      help: "Diverted bans moved to another scrub node because theirs was lost or does not accept them any more.",
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
