/** The counters of packet sources and of the host table, read at each scrape. */

import type { SourceView } from "../dataplane/capture.ts";
import type { EngineStats, QueueStats } from "../dataplane/native.d.ts";
import { MetricGroup, setCounter } from "./metric-group.ts";

const SOURCE_STATES = ["running", "failed", "ended"] as const satisfies readonly SourceView["state"][];
const QUEUE = ["interface", "queue"] as const;
const QUEUE_REASON = [...QUEUE, "reason"] as const;

export class CaptureMetrics extends MetricGroup {
  readonly #receivedPackets = this.counter(
    "svc_capture_received_packets_total",
    "Packets received by capture.",
    ...QUEUE,
  );
  readonly #receivedBytes = this.counter(
    "svc_capture_received_bytes_total",
    "Bytes of the packets received by capture.",
    ...QUEUE,
  );
  readonly #countedPackets = this.counter(
    "svc_capture_counted_packets_total",
    "Packets counted to a host or its network.",
    ...QUEUE,
  );
  readonly #untrackedPackets = this.counter(
    "svc_capture_untracked_packets_total",
    "Packets counted only for their network, since their host has no row in the host table.",
    ...QUEUE,
  );
  readonly #foreignPackets = this.counter(
    "svc_capture_foreign_packets_total",
    "Packets of no configured network.",
    ...QUEUE,
  );
  readonly #parseErrors = this.counter(
    "svc_capture_parse_errors_total",
    "Frames that were not counted, by reason.",
    ...QUEUE_REASON,
  );
  readonly #encapsulatedPackets = this.counter(
    "svc_capture_encapsulated_packets_total",
    "Packets that carry others which were not looked at, by what they are.",
    ...QUEUE,
    "encapsulation",
  );
  readonly #notIpFrames = this.counter(
    "svc_capture_not_ip_frames_total",
    "Frames that were not IP, by what they are; inline sources do not distinguish them.",
    ...QUEUE,
    "kind",
  );
  readonly #refusedPackets = this.counter(
    "svc_capture_refused_packets_total",
    "Packets of mirror tunnels from senders that are not configured.",
    ...QUEUE,
  );
  readonly #droppedPackets = this.counter(
    "svc_capture_dropped_packets_total",
    "Packets lost before capture could read them.",
    ...QUEUE_REASON,
  );
  readonly #lostSamples = this.counter(
    "svc_capture_lost_samples_total",
    "Sampled headers dropped for lack of space; their packets were counted.",
    ...QUEUE,
  );
  readonly #sourceState = this.gauge(
    "svc_capture_source_state",
    "1 for the current state of a packet source, else 0.",
    "interface",
    "kind",
    "state",
  );
  readonly #trackedHosts = this.gauge("svc_tracked_hosts", "Hosts in the host table.");
  readonly #refusedHosts = this.counter(
    "svc_refused_hosts_total",
    "Times a host got no row because the host table was full or crowded.",
  );
  readonly #replacedHosts = this.counter(
    "svc_hosts_replaced_total",
    "Hosts that heavier ones replaced because the host table was full.",
  );
  readonly #evictedRows = this.counter(
    "svc_rows_evicted_total",
    "Rows that a full packet queue took from light hosts for heavier ones.",
  );
  readonly #deferredRows = this.counter(
    "svc_deferred_rows_total",
    "Times that counts of a host left the sliding window one bucket late, because its journal was full.",
  );
  readonly #hostTableBytes = this.gauge("svc_host_table_bytes", "Memory of the packet counter.");

  setSources(sources: readonly Omit<SourceView, "mode" | "error" | "warning">[]): void {
    for (const metric of [
      this.#receivedPackets,
      this.#receivedBytes,
      this.#countedPackets,
      this.#untrackedPackets,
      this.#foreignPackets,
      this.#parseErrors,
      this.#encapsulatedPackets,
      this.#notIpFrames,
      this.#refusedPackets,
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
    setCounter(this.#replacedHosts, table.replacedHosts);
    setCounter(this.#evictedRows, table.evictedRows);
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
    for (const [encapsulation, count] of Object.entries(reading.encapsulated)) {
      this.#encapsulatedPackets.inc({ ...labels, encapsulation }, count);
    }
    for (const [kind, count] of Object.entries(reading.notIp)) this.#notIpFrames.inc({ ...labels, kind }, count);
    this.#refusedPackets.inc(labels, reading.refused);
    this.#droppedPackets.inc({ ...labels, reason: "ring_full" }, reading.droppedRingFull);
    this.#droppedPackets.inc({ ...labels, reason: "fill_empty" }, reading.droppedFillEmpty);
    this.#droppedPackets.inc({ ...labels, reason: "kernel" }, reading.droppedKernel);
  }
}
