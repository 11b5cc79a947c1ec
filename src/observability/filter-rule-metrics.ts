/** The operator's rules for the data plane: how many there are, what each matched and dropped, and orders that were refused. */
import type { Registry } from "prom-client";
import { MetricGroup } from "./metric-group.ts";

/** Bytes are those of frames. */
export interface FilterRuleReading {
  readonly name: string;
  readonly packets: number;
  readonly bytes: number;
  readonly droppedPackets: number;
  readonly droppedBytes: number;
}

export class FilterRuleMetrics extends MetricGroup {
  readonly #rules = this.gauge(
    "svc_filter_rules",
    "Rules of the operator in force, by whether they are of the configuration or ordered.",
    "origin",
  );
  readonly #counts = new FilterRuleCounts(this.registry, "svc_filter_rule");
  readonly #refused = this.counter(
    "svc_filter_rule_orders_refused_total",
    "Orders of filter rules that were refused.",
    "reason",
  );

  /** Creates the labels with a value of 0. */
  declare(refusals: readonly string[]): void {
    for (const reason of refusals) this.#refused.inc({ reason }, 0);
  }

  setRules(counts: Readonly<Record<"configuration" | "order", number>>): void {
    for (const [origin, rules] of Object.entries(counts)) this.#rules.set({ origin }, rules);
  }

  setCounts(readings: Iterable<FilterRuleReading>): void {
    this.#counts.set(readings);
  }

  refused(reason: string): void {
    this.#refused.inc({ reason });
  }
}

/** Counts of each rule, on the machine of the service or on a scrub node. Labels are names of rules: at most 125. */
export class FilterRuleCounts extends MetricGroup {
  readonly #packets;
  readonly #bytes;
  readonly #droppedPackets;
  readonly #droppedBytes;

  /** @param prefix of the names: of the service, or of a scrub node. */
  constructor(registry: Registry, prefix: "svc_filter_rule" | "svc_scrub_agent_filter_rule") {
    super(registry);
    this.#packets = this.counter(`${prefix}_packets_total`, "Packets that a rule of the operator matched.", "rule");
    this.#bytes = this.counter(`${prefix}_bytes_total`, "Bytes of the frames that it matched.", "rule");
    this.#droppedPackets = this.counter(
      `${prefix}_dropped_packets_total`,
      "Packets that a rule of the operator dropped, or would drop if it counts only.",
      "rule",
    );
    this.#droppedBytes = this.counter(`${prefix}_dropped_bytes_total`, "Bytes of the frames that it dropped.", "rule");
  }

  /** Sets the readings of all rules in the kernel; others are not shown any more. */
  set(readings: Iterable<FilterRuleReading>): void {
    for (const metric of [this.#packets, this.#bytes, this.#droppedPackets, this.#droppedBytes]) metric.reset();
    for (const { name: rule, packets, bytes, droppedPackets, droppedBytes } of readings) {
      this.#packets.inc({ rule }, packets);
      this.#bytes.inc({ rule }, bytes);
      this.#droppedPackets.inc({ rule }, droppedPackets);
      this.#droppedBytes.inc({ rule }, droppedBytes);
    }
  }
}
