/** Flow telemetry: what arrives at each port, and what each exporter sends, loses and does not say. */
import { EXPORTER_FAULTS } from "../telemetry/exporter-faults.ts";
import { countStates, EXPORTER_STATES, type ExporterView } from "../telemetry/exporters.ts";
import type { ListenerReading } from "../telemetry/listener-reading.ts";
import { MetricGroup } from "./metric-group.ts";

/** Exporters with metrics of their own; those of all others together have one name. */
const MEASURED_EXPORTERS_MAX = 256;

/** Not the name of an exporter, which has no parentheses. */
const OTHERS = "(others)";

export class TelemetryMetrics extends MetricGroup {
  readonly #datagrams = this.counter("svc_telemetry_datagrams_total", "Datagrams received at a port.", "listen");
  readonly #bytes = this.counter("svc_telemetry_bytes_total", "Bytes of the datagrams received at a port.", "listen");
  readonly #dropped = this.counter(
    "svc_telemetry_dropped_datagrams_total",
    "Datagrams that were not decoded: the receive buffer was full, the sender is no exporter, or the table was full.",
    "listen",
    "reason",
  );
  readonly #bufferUsed = this.gauge(
    "svc_telemetry_receive_buffer_used_ratio",
    "Share of the receive buffer of a port that waits to be read.",
    "listen",
  );
  readonly #exporters = this.gauge("svc_telemetry_exporters", "Exporters by state.", "state");
  readonly #state = this.gauge("svc_telemetry_exporter_state", "Exporters of a name by state.", "exporter", "state");
  readonly faultBegan = this.countingOf(
    "svc_telemetry_faults_total",
    "Faults of exporters that began.",
    "fault",
    EXPORTER_FAULTS,
  );
  readonly #exporterDatagrams = this.counter(
    "svc_telemetry_exporter_datagrams_total",
    "Datagrams of an exporter.",
    "exporter",
  );
  readonly #records = this.counter(
    "svc_telemetry_records_total",
    "Records and samples of an exporter, by whether they counted, or why not.",
    "exporter",
    "outcome",
  );
  readonly #undecoded = this.counter(
    "svc_telemetry_undecoded_total",
    "What an exporter sent and was not understood, by kind; data without a template are among it.",
    "exporter",
    "kind",
  );
  readonly #notForUs = this.counter(
    "svc_telemetry_not_traffic_total",
    "What an exporter sent and is no traffic of IP, by kind.",
    "exporter",
    "kind",
  );
  readonly #impossibleRates = this.counter(
    "svc_telemetry_impossible_rates_total",
    "Sampling rates of an exporter that cannot be, and were not taken.",
    "exporter",
  );
  readonly #untrackedFlows = this.counter(
    "svc_telemetry_untracked_flows_total",
    "Flows of an exporter of totals that found no place in the table of flows.",
    "exporter",
  );
  readonly #lostRecords = this.counter(
    "svc_telemetry_lost_records_total",
    "Records that are missing by the sequence numbers of an exporter.",
    "exporter",
  );
  readonly #lostDatagrams = this.counter(
    "svc_telemetry_lost_datagrams_total",
    "Datagrams that are missing by the sequence numbers of an exporter.",
    "exporter",
  );
  readonly #silence = this.gauge(
    "svc_telemetry_silent_seconds",
    "Time since the last datagram of an exporter.",
    "exporter",
  );
  readonly #skew = this.gauge(
    "svc_telemetry_clock_skew_seconds",
    "The clock of an exporter less the clock of this machine.",
    "exporter",
  );
  readonly #sampling = this.gauge(
    "svc_telemetry_sampling_rate",
    "The highest sampling rate of an exporter, as one packet in this number; 0: not known.",
    "exporter",
  );

  readonly #adjusted = this.counter(
    "svc_telemetry_adjusted_records_total",
    "Records that were cut to what can be, or counted at once for want of room to spread them over their time.",
    "listen",
    "how",
  );

  setListeners(listeners: readonly ListenerReading[]): void {
    for (const metric of [this.#datagrams, this.#bytes, this.#dropped, this.#bufferUsed, this.#adjusted])
      metric.reset();
    for (const { listen, datagrams, bytes, overruns, refused, withoutRoom, ...buffer } of listeners) {
      this.#datagrams.inc({ listen }, datagrams);
      this.#bytes.inc({ listen }, bytes);
      this.#dropped.inc({ listen, reason: "buffer_full" }, overruns);
      this.#dropped.inc({ listen, reason: "no_exporter" }, refused);
      this.#dropped.inc({ listen, reason: "table_full" }, withoutRoom);
      const { receiveBuffer, receiveBufferUsed, clampedRecords, unspreadRecords } = buffer;
      this.#adjusted.inc({ listen, how: "clamped" }, clampedRecords);
      this.#adjusted.inc({ listen, how: "unspread" }, unspreadRecords);
      this.#bufferUsed.set({ listen }, receiveBuffer === 0 ? 0 : receiveBufferUsed / receiveBuffer);
    }
  }

  setExporters(views: readonly ExporterView[]): void {
    const counts = countStates(views);
    for (const state of EXPORTER_STATES) this.#exporters.set({ state }, counts[state]);
    for (const metric of [
      ...[this.#state, this.#exporterDatagrams, this.#records, this.#undecoded, this.#lostRecords],
      ...[this.#lostDatagrams, this.#silence, this.#skew, this.#sampling],
      ...[this.#notForUs, this.#impossibleRates, this.#untrackedFlows],
    ]) {
      metric.reset();
    }
    let named = 0;
    for (const [name, own] of Map.groupBy(views, (view) => view.name)) {
      const hasOwn = name !== null && named < MEASURED_EXPORTERS_MAX;
      if (hasOwn) named++;
      this.#setExporter(hasOwn ? name : OTHERS, own, hasOwn);
    }
  }

  /** Sums for all of them; what has no sum for those that have a name alone, as the worst of them. */
  #setExporter(exporter: string, views: readonly ExporterView[], isNamed: boolean): void {
    for (const { state, received } of views) {
      this.#state.inc({ exporter, state });
      if (received === null) continue;
      const { datagrams, counted, leftOut, undecodedByKind, lostRecords, lostDatagrams } = received.reading;
      this.#exporterDatagrams.inc({ exporter }, datagrams);
      this.#records.inc({ exporter, outcome: "counted" }, counted);
      for (const [reason, count] of Object.entries(leftOut)) this.#records.inc({ exporter, outcome: reason }, count);
      for (const [kind, count] of Object.entries(undecodedByKind)) this.#undecoded.inc({ exporter, kind }, count);
      for (const [kind, count] of Object.entries(received.reading.notForUs))
        this.#notForUs.inc({ exporter, kind }, count);
      this.#impossibleRates.inc({ exporter }, received.reading.impossibleRates);
      this.#untrackedFlows.inc({ exporter }, received.reading.untrackedFlows);
      this.#lostRecords.inc({ exporter }, lostRecords);
      this.#lostDatagrams.inc({ exporter }, lostDatagrams);
    }
    const readings = views.flatMap(({ received }) => received?.reading ?? []);
    if (!isNamed || readings.length === 0) return;
    const rates = readings.flatMap(({ samplings }) => samplings.map(({ rate }) => rate));
    const skews = readings.flatMap(({ clockSkewMs }) => clockSkewMs ?? []);
    this.#silence.set({ exporter }, Math.max(...readings.map(({ silentMs }) => silentMs)) / 1000);
    if (skews.length > 0) this.#skew.set({ exporter }, skews.reduce(farther) / 1000);
    if (rates.length > 0) this.#sampling.set({ exporter }, rates.includes(0) ? 0 : Math.max(...rates));
  }
}

function farther(a: number, b: number): number {
  return Math.abs(a) >= Math.abs(b) ? a : b;
}
