/** The counters of packet sources and of the host table, read at each scrape. */
import { Counter, Gauge, type Registry } from "prom-client";
import type { SourceView } from "../dataplane/capture.ts";
import type { EngineStats, QueueStats } from "../dataplane/native.d.ts";

const SOURCE_STATES = ["running", "failed", "ended"] as const satisfies readonly SourceView["state"][];
const QUEUE = ["interface", "queue"] as const;
const QUEUE_REASON = [...QUEUE, "reason"] as const;

type QueueCounter = Counter<(typeof QUEUE)[number]>;
type ReasonCounter = Counter<(typeof QUEUE_REASON)[number]>;

export class CaptureMetrics {
  readonly #receivedPackets: QueueCounter;
  readonly #receivedBytes: QueueCounter;
  readonly #countedPackets: QueueCounter;
  readonly #untrackedPackets: QueueCounter;
  readonly #foreignPackets: QueueCounter;
  readonly #parseErrors: ReasonCounter;
  readonly #droppedPackets: ReasonCounter;
  readonly #lostSamples: QueueCounter;
  readonly #sourceState: Gauge<"interface" | "kind" | "state">;
  readonly #trackedHosts: Gauge;
  readonly #refusedHosts: Counter;
  readonly #deferredRows: Counter;
  readonly #hostTableBytes: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    const counter = (name: string, help: string) => new Counter({ name, help, labelNames: QUEUE, registers });
    const byReason = (name: string, help: string) => new Counter({ name, help, labelNames: QUEUE_REASON, registers });
    this.#receivedPackets = counter("svc_capture_received_packets_total", "Packets received by capture.");
    this.#receivedBytes = counter("svc_capture_received_bytes_total", "Bytes of the packets received by capture.");
    this.#countedPackets = counter("svc_capture_counted_packets_total", "Packets counted to a host or its network.");
    this.#untrackedPackets = counter(
      "svc_capture_untracked_packets_total",
      "Packets counted only for their network, since their host has no row in the host table.",
    );
    this.#foreignPackets = counter("svc_capture_foreign_packets_total", "Packets of no configured network.");
    this.#parseErrors = byReason("svc_capture_parse_errors_total", "Frames that were not counted, by reason.");
    this.#droppedPackets = byReason(
      "svc_capture_dropped_packets_total",
      "Packets lost before capture could read them.",
    );
    this.#lostSamples = counter(
      "svc_capture_lost_samples_total",
      "Sampled headers dropped for lack of space; their packets were counted.",
    );
    this.#sourceState = new Gauge({
      name: "svc_capture_source_state",
      help: "1 for the current state of a packet source, else 0.",
      labelNames: ["interface", "kind", "state"],
      registers,
    });
    this.#trackedHosts = new Gauge({ name: "svc_tracked_hosts", help: "Hosts in the host table.", registers });
    this.#refusedHosts = new Counter({
      name: "svc_refused_hosts_total",
      help: "Times a host got no row because the host table was full or crowded.",
      registers,
    });
    this.#deferredRows = new Counter({
      name: "svc_deferred_rows_total",
      help: "Times that counts of a host left the sliding window one bucket late, because its journal was full.",
      registers,
    });
    this.#hostTableBytes = new Gauge({
      name: "svc_host_table_bytes",
      help: "Memory of the packet counter.",
      registers,
    });
  }

  setSources(sources: readonly Omit<SourceView, "mode" | "error">[]): void {
    for (const metric of [
      this.#receivedPackets,
      this.#receivedBytes,
      this.#countedPackets,
      this.#untrackedPackets,
      this.#foreignPackets,
      this.#parseErrors,
      this.#droppedPackets,
      this.#lostSamples,
      this.#sourceState,
    ]) {
      metric.reset();
    }
    for (const source of sources) {
      for (const state of SOURCE_STATES) {
        this.#sourceState.set({ interface: source.name, kind: source.kind, state }, source.state === state ? 1 : 0);
      }
      for (const queue of source.queues) this.#setQueue(source.name, queue);
    }
  }

  setHostTable(table: Omit<EngineStats, "untrackedPackets">): void {
    this.#trackedHosts.set(table.trackedHosts);
    this.#hostTableBytes.set(table.memoryBytes);
    setCounter(this.#refusedHosts, table.refusedHosts);
    setCounter(this.#deferredRows, table.deferredRows);
  }

  #setQueue(name: string, reading: QueueStats): void {
    const labels = { interface: name, queue: reading.queue < 0 ? "all" : String(reading.queue) };
    this.#receivedPackets.inc(labels, reading.receivedPackets);
    this.#receivedBytes.inc(labels, reading.receivedBytes);
    this.#countedPackets.inc(labels, reading.countedPackets);
    this.#untrackedPackets.inc(labels, reading.untrackedPackets);
    this.#foreignPackets.inc(labels, reading.foreignPackets);
    this.#lostSamples.inc(labels, reading.lostSamples);
    for (const [reason, count] of Object.entries(reading.parseErrors)) {
      this.#parseErrors.inc({ ...labels, reason }, count);
    }
    this.#droppedPackets.inc({ ...labels, reason: "ring_full" }, reading.droppedRingFull);
    this.#droppedPackets.inc({ ...labels, reason: "fill_empty" }, reading.droppedFillEmpty);
    this.#droppedPackets.inc({ ...labels, reason: "kernel" }, reading.droppedKernel);
  }
}

/** For a count that another component keeps. */
export function setCounter(counter: Counter, count: number): void {
  counter.reset();
  counter.inc(count);
}
