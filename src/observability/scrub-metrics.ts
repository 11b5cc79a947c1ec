/** The scrub nodes: their liveness, the bans diverted to them, and the rules that they cannot get. */
import { MetricGroup } from "./metric-group.ts";

export const LIVENESSES = ["alive", "not_seen", "unknown", "lost"] as const;

interface ScrubReading {
  readonly liveness: (typeof LIVENESSES)[number];
  readonly activeBans: number;
  readonly splitRules: number;
  readonly leftOutRules: number;
  readonly faults: { readonly refusedBans: number; readonly notAppliedSince: number | null };
}

export class ScrubMetrics extends MetricGroup {
  readonly #nodes = this.gauge(
    "svc_scrub_nodes",
    "Configured scrub nodes: alive, not seen since the start, unknown (a brain out of reach saw it last), or lost.",
    "state",
  );
  readonly #bans = this.gauge("svc_scrub_bans", "Bans diverted to scrub nodes, sum over all nodes.");
  readonly #rules = this.gauge(
    "svc_scrub_rules_changed",
    "Rules that are split into simpler ones or left out because agents do not understand them, sum over all nodes.",
    "form",
  );
  readonly #notEnforcing = this.gauge(
    "svc_scrub_nodes_not_enforcing",
    "Scrub nodes that refuse rules of bans, or did not put in time in force what they got.",
    "cause",
  );
  readonly moved = this.counting(
    "svc_scrub_moves_total",
    "Diverted bans moved to another scrub node because theirs was lost, does not enforce their rules, or does not accept them any more.",
  );
  readonly reported = this.counting("svc_scrub_reports_total", "Reports of scrub nodes.");

  set(nodes: Iterable<ScrubReading>): void {
    const count = { alive: 0, not_seen: 0, unknown: 0, lost: 0 };
    let [bans, split, leftOut, refusing, late] = [0, 0, 0, 0, 0];
    for (const { liveness, activeBans, splitRules, leftOutRules, faults } of nodes) {
      count[liveness]++;
      bans += activeBans;
      split += splitRules;
      leftOut += leftOutRules;
      if (faults.refusedBans > 0) refusing++;
      if (faults.notAppliedSince !== null) late++;
    }
    for (const state of LIVENESSES) this.#nodes.set({ state }, count[state]);
    this.#bans.set(bans);
    this.#rules.set({ form: "split" }, split);
    this.#rules.set({ form: "left_out" }, leftOut);
    this.#notEnforcing.set({ cause: "refused" }, refusing);
    this.#notEnforcing.set({ cause: "not_applied" }, late);
  }
}
