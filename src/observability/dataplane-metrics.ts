/** What is dropped on this machine: packets by verdict, entries in the kernel, and attached interfaces. */
import { Counter, Gauge, type Registry } from "prom-client";

const STATES = ["up", "failed", "dry_run", "disabled"] as const;

export interface DataplaneReading {
  readonly state: (typeof STATES)[number];
  readonly rulesLeftOut: number;
  readonly filter: {
    readonly pairs: number;
    readonly rules: number;
    readonly maxRules: number;
    readonly interfaces: readonly { readonly name: string; readonly state: "attached" | "failed" }[];
    /** Of a closed set. */
    readonly verdicts: Readonly<Record<string, { readonly packets: number; readonly bytes: number }>>;
  } | null;
}

export class DataplaneMetrics {
  readonly #state: Gauge<"state">;
  readonly #attached: Gauge<"interface">;
  readonly #entries: Gauge<"kind">;
  readonly #bound: Gauge;
  readonly #leftOut: Gauge;
  readonly #packets: Counter<"verdict">;
  readonly #bytes: Counter<"verdict">;
  readonly #faults: Counter<"operation">;

  constructor(registry: Registry) {
    const registers = [registry];
    const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Gauge<Label>({ name, help, labelNames, registers });
    const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter<Label>({ name, help, labelNames, registers });
    this.#state = gauge("svc_dataplane_state", "1 for the current state of the data plane, else 0.", "state");
    this.#attached = gauge("svc_dataplane_attached", "1 for an interface on which packets are dropped.", "interface");
    this.#entries = gauge("svc_dataplane_entries", "Pairs and rules in the kernel that have not expired.", "kind");
    this.#bound = gauge(
      "svc_dataplane_entries_max",
      "The most pairs and rules together that the kernel maps can hold.",
    );
    this.#leftOut = gauge("svc_dataplane_rules_left_out", "Rules of bans left out because the kernel maps were full.");
    this.#packets = counter(
      "svc_dataplane_packets_total",
      "Packets that the data plane judged, by verdict.",
      "verdict",
    );
    this.#bytes = counter("svc_dataplane_bytes_total", "Bytes of the frames that were judged, by verdict.", "verdict");
    this.#faults = counter("svc_dataplane_faults_total", "Operations that the kernel refused.", "operation");
  }

  /** Creates the labels with a value of 0. */
  declare(operations: readonly string[]): void {
    for (const operation of operations) this.#faults.inc({ operation }, 0);
  }

  set({ state: current, filter, rulesLeftOut }: DataplaneReading): void {
    for (const state of STATES) this.#state.set({ state }, state === current ? 1 : 0);
    this.#leftOut.set(rulesLeftOut);
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
