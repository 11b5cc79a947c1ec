/** Reads what the packet counter says of exporters of flow telemetry, and logs, counts and passes on what changes. */
import type { Config } from "../config/config.ts";
import type { FlowReadings } from "../dataplane/flow-receivers.ts";

import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { TelemetryMetrics } from "../observability/telemetry-metrics.ts";
import type { Clock } from "../system/clock.ts";
import type { Cancel, Timers } from "../system/timers.ts";
import { ingressOfReadings } from "../telemetry/exporter-ingress.ts";
import { type ExporterChange, Exporters, faultKey } from "../telemetry/exporters.ts";
import type { ListenerReading } from "../telemetry/listener-reading.ts";
import type { TelemetryConfig } from "../telemetry/telemetry-config.ts";
import type { TelemetryView } from "../telemetry/telemetry-view.ts";
import type { Ingress, IngressKey, IngressOf } from "../traffic/ingress.ts";
import { Listeners } from "./listeners.ts";

/** How often exporters are read, ms; longer if reading takes long. */
const EXPORTERS_READ_MS = 2000;

interface TelemetryWatchOptions {
  readonly config: TelemetryConfig;
  readonly read: () => FlowReadings;
  readonly log: Pick<Log, "info" | "warn" | "error">;
  readonly limiter: Limiter;
  readonly metrics: TelemetryMetrics;
  readonly clock: Clock;
  readonly timers: Pick<Timers, "after">;
}

/** Faults that are logged one by one if they begin at one reading: a broken link silences all exporters at once. */
const LOGGED_MAX = 20;
/** Reading takes at most 1 / READ_SHARE of the time. */
const READ_SHARE = 200;

export class TelemetryWatch {
  readonly #options: TelemetryWatchOptions;
  readonly #exporters: Exporters;
  readonly #changes: Listeners<ExporterChange>;
  #listeners: readonly ListenerReading[] = [];
  #readAtMs: number | null = null;
  /** Faults whose begin was logged, and which have not ended. */
  #logged: ReadonlySet<string> = new Set();
  #ingress: IngressOf = () => null;
  #cancel: Cancel = () => {};

  constructor(options: TelemetryWatchOptions) {
    const { config, clock, limiter, log } = options;
    this.#options = options;
    this.#exporters = new Exporters(config.exporters, clock.monotonicMs());
    this.#changes = new Listeners((cause) =>
      limiter.pass("telemetry listener", (suppressed) =>
        log.error({ cause, suppressed }, "a listener for changes of exporters failed; the others were called"),
      ),
    );
  }

  /** Called with the first faults that begin at one reading, and with the end of each of these. */
  onChange(listener: (change: ExporterChange) => void): void {
    this.#changes.add(listener);
  }

  start(): void {
    this.#readLater(EXPORTERS_READ_MS);
  }

  stop(): void {
    this.#cancel();
  }

  reconfigure({ telemetry }: Config): void {
    if (telemetry !== null) this.#exporters.reconfigure(telemetry.exporters, this.#options.clock.monotonicMs());
  }

  view(): TelemetryView {
    const { clock } = this.#options;
    const now = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
    const exporters = this.#exporters.views(now.monotonicMs);
    return { now, readAtMs: this.#readAtMs, listeners: this.#listeners, exporters };
  }

  /** The state at the last reading: an exporter that is new since then is not known yet. */
  ingressOf(key: IngressKey): Ingress | null {
    return this.#ingress(key);
  }

  /** See Exporters.isUnseen(). */
  isUnseen(exporter: { readonly name: string; readonly address: string }): boolean {
    return this.#exporters.isUnseen(exporter, this.#options.clock.monotonicMs());
  }

  fillMetrics(): void {
    const { metrics } = this.#options;
    const { listeners, exporters } = this.view();
    metrics.setListeners(listeners);
    metrics.setExporters(exporters);
  }

  #readLater(afterMs: number): void {
    this.#cancel = this.#options.timers.after(afterMs, () => {
      const { clock, limiter, log } = this.#options;
      const beganMs = clock.monotonicMs();
      try {
        this.#read(beganMs);
      } catch (cause) {
        limiter.pass("telemetry", (suppressed) =>
          log.error(
            { cause, suppressed },
            "the exporters of flow telemetry cannot be read: their state is out of date",
          ),
        );
      }
      this.#readLater(Math.max(EXPORTERS_READ_MS, READ_SHARE * (clock.monotonicMs() - beganMs)));
    });
  }

  #read(nowMs: number): void {
    const { read } = this.#options;
    const { listeners, exporters } = read();
    this.#logDrops(listeners);
    this.#listeners = listeners;
    this.#readAtMs = nowMs;
    this.#ingress = ingressOfReadings(exporters);
    const changes = this.#exporters.take(exporters, nowMs);
    this.#reportChanges(changes);
  }

  #reportChanges(changes: readonly ExporterChange[]): void {
    const { log, metrics } = this.#options;
    const { begun = [], ended = [] } = Object.groupBy(changes, ({ change }) => change);
    for (const { kind } of begun) metrics.faultBegan(kind);
    const reported = [...ended.filter((change) => this.#logged.has(faultKey(change))), ...begun.slice(0, LOGGED_MAX)];
    // Faults of exporters that are gone have no end.
    const lasting = this.#exporters.lastingFaults();
    this.#logged = new Set([...this.#logged, ...reported.map(faultKey)].filter((key) => lasting.has(key)));
    for (const change of reported) {
      logChange(log, change);
      this.#changes.emit(change);
    }
    const more = begun.length - LOGGED_MAX;
    if (more > 0) log.warn({ more }, "faults of more exporters began: GET /api/v1/telemetry has them");
  }

  /** Datagrams that a port received and could not take. */
  #logDrops(listeners: readonly ListenerReading[]): void {
    const { log, limiter } = this.#options;
    const before = new Map(this.#listeners.map((one) => [one.listen, one]));
    for (const { listen, overruns, refused, refusedAddresses, withoutRoom } of listeners) {
      const was = before.get(listen);
      const lost = overruns - (was?.overruns ?? 0);
      if (lost > 0) {
        limiter.pass(`telemetry buffer ${listen}`, (suppressed) =>
          log.warn(
            { listen, lost, suppressed },
            "flow datagrams were lost, since the receive buffer was full: raise telemetry.listen.receive_buffer_mb, or threads",
          ),
        );
      }
      if (refused > (was?.refused ?? 0)) {
        limiter.pass(`telemetry refused ${listen}`, (suppressed) =>
          log.info(
            { listen, addresses: refusedAddresses.slice(0, 5), suppressed },
            "flow datagrams of addresses that are no exporter are dropped: add those that are yours to telemetry.exporters",
          ),
        );
      }
      if (withoutRoom > (was?.withoutRoom ?? 0)) {
        limiter.pass(`telemetry room ${listen}`, (suppressed) =>
          log.error({ listen, suppressed }, "flow datagrams are dropped, since there are too many exporters"),
        );
      }
    }
  }
}

function logChange(log: Pick<Log, "info" | "warn">, { kind, change, text, view }: ExporterChange): void {
  const fields = { exporter: view.name, address: view.address, fault: kind, found: text };
  if (change === "ended") log.info(fields, "a fault of an exporter of flow telemetry is over");
  else {
    const remedy = view.faults.find((fault) => fault.kind === kind)?.remedy;
    log.warn({ ...fields, remedy }, "an exporter of flow telemetry has a fault");
  }
}
