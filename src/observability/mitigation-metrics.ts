/** Bans, their announcement to neighbors, and the state database. */

import type { Registry } from "prom-client";
import { SESSION_STATES } from "../bgp/speaker/speaker-client.ts";
import { CAPS, type Cap } from "../mitigation/admission.ts";
import { DIVERSION_PHASES, type DiversionPhase } from "../mitigation/diversion.ts";
import { MetricGroup } from "./metric-group.ts";

interface BanReading {
  readonly state: "active" | "withdrawn" | "rejected";
  readonly method: string;
  /** How many of them there are. */
  readonly bans: number;
}

interface BgpReading {
  readonly connected: boolean;
  /** By session state, of a closed set. */
  readonly neighbors: Iterable<{ readonly state: string }>;
  readonly routesWanted: number;
  readonly routesAnnounced: number;
}

/** Changes by table. */
type UnsavedReading = Readonly<Record<string, number>>;

const FOUND_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const ANNOUNCE_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

export class MitigationMetrics extends MetricGroup {
  readonly #bans = this.gauge("svc_bans", "Bans in the table, active and ended.", "state", "method");
  readonly #atCap = this.counter(
    "svc_bans_at_cap_total",
    "Bans that were replaced by that of a worse attack, or refused, because a cap on bans was reached.",
    "cap",
    "outcome",
  );
  readonly #rungs = this.counter(
    "svc_ban_rungs_total",
    "Bans that went on to a harder step of their ladder (up), or back to a milder one (back).",
    "direction",
  );
  readonly #rulesWaiting = this.gauge("svc_rules_waiting", "Attacks that wait for the search for rules.");
  readonly #rulesFound = this.histogram(
    "svc_rules_found_seconds",
    "From the moment the rules of an attack are needed, for the first time or for newer packets, until they are found.",
    FOUND_SECONDS,
  );
  readonly ruleThreadFailed = this.counting(
    "svc_rule_thread_faults_total",
    "Times that a thread that finds rules failed: until the next one runs, the others find them, or the event loop.",
  );
  readonly #announcement = this.histogram(
    "svc_detection_to_announcement_seconds",
    "From the detection of an attack until its ban's route is in a neighbor's out-table.",
    ANNOUNCE_SECONDS,
  );
  readonly #announce = this.histogram(
    "svc_bgp_announce_seconds",
    "From the moment a route is wanted until it is in a neighbor's out-table.",
    ANNOUNCE_SECONDS,
  );
  readonly #speakerUp = this.gauge("svc_bgp_connected", "1 while the BGP speaker answers.");
  readonly #neighbors = this.gauge(
    "svc_bgp_neighbors",
    "Configured BGP neighbors by the state of their session.",
    "state",
  );
  readonly #diversions = this.gauge("svc_diversions", "Prefixes by what the scrubbing hook does for them.", "phase");
  readonly #wanted = this.gauge("svc_bgp_routes_wanted", "Routes in the wanted set.");
  readonly #announced = this.gauge("svc_bgp_routes_announced", "Routes in at least one neighbor's out-table.");
  /** The BGP adapter reports through these two. */
  readonly fault = this.counting("svc_bgp_faults_total", "Calls to the BGP speaker that failed.", "operation");
  readonly stateWriteFailed = this.counting(
    "svc_state_write_failures_total",
    "Writes that the state database refused.",
  );
  readonly #unsaved = this.gauge(
    "svc_state_unsaved",
    "Changes in force that are not in the state database yet, by table.",
    "table",
  );
  readonly #damaged = this.gauge(
    "svc_state_damaged",
    "1 if the state database was damaged at the start, so that bans may be lost.",
  );

  constructor(registry: Registry) {
    super(registry);
    for (const direction of ["up", "back"]) this.#rungs.inc({ direction }, 0);
    for (const cap of CAPS) {
      for (const outcome of ["replaced", "refused"]) this.#atCap.inc({ cap: nameOf(cap), outcome }, 0);
    }
  }

  /** Sets a value for each state and method, also 0. The owner of the bans counts them. */
  setBans(counts: Iterable<BanReading>): void {
    this.#bans.reset();
    for (const { state, method, bans } of counts) this.#bans.set({ state, method }, bans);
  }

  capReached(cap: Cap, outcome: "replaced" | "refused"): void {
    this.#atCap.inc({ cap: nameOf(cap), outcome });
  }

  rungChanged(direction: "up" | "back"): void {
    this.#rungs.inc({ direction });
  }

  setRulesWaiting(attacks: number): void {
    this.#rulesWaiting.set(attacks);
  }

  rulesFound(seconds: number): void {
    this.#rulesFound.observe(seconds);
  }

  setUnsaved(counts: UnsavedReading): void {
    for (const [table, changes] of Object.entries(counts)) this.#unsaved.set({ table }, changes);
  }

  stateWasDamaged(): void {
    this.#damaged.set(1);
  }

  /** For the first ban of an attack. */
  announcedAfterDetection(seconds: number): void {
    this.#announcement.observe(seconds);
  }

  /** @param phases of all diversions */
  setDiversions(phases: readonly DiversionPhase[]): void {
    for (const phase of DIVERSION_PHASES) {
      this.#diversions.set({ phase }, phases.filter((each) => each === phase).length);
    }
  }

  setBgp({ connected, neighbors, routesWanted, routesAnnounced }: BgpReading): void {
    this.#speakerUp.set(connected ? 1 : 0);
    this.#neighbors.reset();
    for (const state of [...SESSION_STATES, "admin_down"]) this.#neighbors.set({ state }, 0);
    for (const { state } of neighbors) this.#neighbors.inc({ state });
    this.#wanted.set(routesWanted);
    this.#announced.set(routesAnnounced);
  }

  announced(latencyMs: number): void {
    this.#announce.observe(latencyMs / 1000);
  }
}

/** The key in the configuration. */
function nameOf(cap: Cap): string {
  return cap.split(" ")[0] as string;
}
