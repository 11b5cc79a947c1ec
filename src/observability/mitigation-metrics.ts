/** Bans, their announcement to neighbors, and the state database. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { SESSION_STATES } from "../bgp/speaker/speaker-client.ts";

export interface BanReading {
  readonly state: "active" | "withdrawn" | "rejected";
  readonly method: string;
  /** How many of them there are. */
  readonly bans: number;
}

export interface BgpReading {
  readonly connected: boolean;
  /** By session state, of a closed set. */
  readonly neighbors: Iterable<{ readonly state: string }>;
  readonly routesWanted: number;
  readonly routesAnnounced: number;
}

const ANNOUNCE_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

export class MitigationMetrics {
  readonly #bans: Gauge<"state" | "method">;
  readonly #announcement: Histogram;
  readonly #announce: Histogram;
  readonly #speakerUp: Gauge;
  readonly #neighbors: Gauge<"state">;
  readonly #wanted: Gauge;
  readonly #announced: Gauge;
  readonly #speakerFaults: Counter<"operation">;
  readonly #writeFailures: Counter;
  readonly #unsaved: Gauge;
  readonly #damaged: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
    const histogram = (name: string, help: string) =>
      new Histogram({ name, help, buckets: ANNOUNCE_SECONDS, registers });
    this.#bans = new Gauge({
      name: "svc_bans",
      help: "Bans in the table, active and ended.",
      labelNames: ["state", "method"],
      registers,
    });
    this.#announcement = histogram(
      "svc_detection_to_announcement_seconds",
      "From the detection of an attack until its ban's route is in a neighbor's out-table.",
    );
    this.#announce = histogram(
      "svc_bgp_announce_seconds",
      "From the moment a route is wanted until it is in a neighbor's out-table.",
    );
    this.#speakerUp = gauge("svc_bgp_connected", "1 while the BGP speaker answers.");
    this.#neighbors = new Gauge({
      name: "svc_bgp_neighbors",
      help: "Configured BGP neighbors by the state of their session.",
      labelNames: ["state"],
      registers,
    });
    this.#wanted = gauge("svc_bgp_routes_wanted", "Routes in the wanted set.");
    this.#announced = gauge("svc_bgp_routes_announced", "Routes in at least one neighbor's out-table.");
    this.#speakerFaults = new Counter({
      name: "svc_bgp_faults_total",
      help: "Calls to the BGP speaker that failed.",
      labelNames: ["operation"],
      registers,
    });
    this.#writeFailures = new Counter({
      name: "svc_state_write_failures_total",
      help: "Writes that the state database refused.",
      registers,
    });
    this.#damaged = gauge(
      "svc_state_damaged",
      "1 if the state database was damaged at the start, so that bans may be lost.",
    );
    this.#unsaved = gauge(
      "svc_state_unsaved_bans",
      "Bans in force whose last change is not in the state database yet.",
    );
  }

  /** Sets a value for each state and method, also 0. The owner of the bans counts them. */
  setBans(counts: Iterable<BanReading>): void {
    this.#bans.reset();
    for (const { state, method, bans } of counts) this.#bans.set({ state, method }, bans);
  }

  setUnsaved(bans: number): void {
    this.#unsaved.set(bans);
  }

  stateWasDamaged(): void {
    this.#damaged.set(1);
  }

  stateWriteFailed(): void {
    this.#writeFailures.inc();
  }

  /** For the first ban of an attack. */
  announcedAfterDetection(seconds: number): void {
    this.#announcement.observe(seconds);
  }

  setBgp({ connected, neighbors, routesWanted, routesAnnounced }: BgpReading): void {
    this.#speakerUp.set(connected ? 1 : 0);
    this.#neighbors.reset();
    for (const state of [...SESSION_STATES, "admin_down"]) this.#neighbors.set({ state }, 0);
    for (const { state } of neighbors) this.#neighbors.inc({ state });
    this.#wanted.set(routesWanted);
    this.#announced.set(routesAnnounced);
  }

  /** The BGP adapter reports through these two. */
  fault(operation: string): void {
    this.#speakerFaults.inc({ operation });
  }

  announced(latencyMs: number): void {
    this.#announce.observe(latencyMs / 1000);
  }
}
