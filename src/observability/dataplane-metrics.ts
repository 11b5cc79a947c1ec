/** Drops of this machine: packets by verdict, entries in the kernel, and attached interfaces. */
import { type LeftOutByLimit, leftOutInAll, ROOM_LIMITS } from "../mitigation/rules/room-limit.ts";
import { ForwardMetrics, type ForwardReading } from "./forward-metrics.ts";
import { MetricGroup } from "./metric-group.ts";

const STATES = ["up", "failed", "dry_run", "disabled"] as const;

interface DataplaneReading {
  readonly state: (typeof STATES)[number];
  readonly rulesLeftOut: LeftOutByLimit;
  readonly filterRulesLeftOut: number;
  readonly filter: {
    readonly pairs: number;
    readonly rules: number;
    readonly maxRules: number;
    readonly interfaces: readonly { readonly name: string; readonly state: "attached" | "failed" }[];
    /** Keys are of a closed set. */
    readonly verdicts: Readonly<Record<string, { readonly packets: number; readonly bytes: number }>>;
    readonly forward: ForwardReading | null;
  } | null;
}

export class DataplaneMetrics extends MetricGroup {
  readonly #state = this.gauge("svc_dataplane_state", "1 for the current state of the data plane, else 0.", "state");
  readonly #attached = this.gauge(
    "svc_dataplane_attached",
    "1 for an interface on which packets are dropped.",
    "interface",
  );
  readonly #entries = this.gauge(
    "svc_dataplane_entries",
    "Pairs and rules in the kernel that have not expired.",
    "kind",
  );
  readonly #bound = this.gauge(
    "svc_dataplane_entries_max",
    "The most pairs and rules together that the kernel maps can hold.",
  );
  readonly #leftOut = this.gauge(
    "svc_dataplane_rules_left_out",
    "Rules of bans for which there is no room in the kernel.",
  );
  readonly #leftOutByLimit = this.gauge(
    "svc_dataplane_rules_left_out_by_limit",
    "The same rules, by the limit within which there is no room.",
    "limit",
  );
  readonly #filterRulesLeftOut = this.gauge(
    "svc_dataplane_filter_rules_left_out",
    "Destinations and attacked addresses that rules of the operator are not tried for, since there was no room.",
  );
  readonly #packets = this.counter(
    "svc_dataplane_packets_total",
    "Packets that the data plane judged, by verdict.",
    "verdict",
  );
  readonly #bytes = this.counter(
    "svc_dataplane_bytes_total",
    "Bytes of the frames that were judged, by verdict.",
    "verdict",
  );
  readonly #faults = this.counter("svc_dataplane_faults_total", "Operations that the kernel refused.", "operation");

  /** Creates the labels with a value of 0. */
  declare(operations: readonly string[]): void {
    for (const operation of operations) this.#faults.inc({ operation }, 0);
  }

  readonly #forward = new ForwardMetrics(this.registry, "svc_dataplane");

  set({ state: current, filter, rulesLeftOut, filterRulesLeftOut }: DataplaneReading): void {
    this.#forward.set(filter?.forward ?? null);
    for (const state of STATES) this.#state.set({ state }, state === current ? 1 : 0);
    this.#leftOut.set(leftOutInAll(rulesLeftOut));
    for (const limit of ROOM_LIMITS) this.#leftOutByLimit.set({ limit }, rulesLeftOut[limit] ?? 0);
    this.#filterRulesLeftOut.set(filterRulesLeftOut);
    for (const metric of [this.#attached, this.#entries, this.#packets, this.#bytes]) metric.reset();
    if (filter === null) return;
    this.#bound.set(filter.maxRules);
    this.#entries.set({ kind: "pairs" }, filter.pairs);
    this.#entries.set({ kind: "rules" }, filter.rules);
    for (const { name, state } of filter.interfaces)
      this.#attached.set({ interface: name }, state === "attached" ? 1 : 0);
    for (const [verdict, { packets, bytes }] of Object.entries(filter.verdicts)) {
      this.#packets.inc({ verdict }, packets);
      this.#bytes.inc({ verdict }, bytes);
    }
  }

  failed(operation: string): void {
    this.#faults.inc({ operation });
  }
}
