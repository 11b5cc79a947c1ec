/** The view of flow telemetry. */
import type { ExporterView } from "./exporters.ts";
import type { ListenerReading } from "./listener-reading.ts";

export interface TelemetryView {
  /** The clocks now, so that monotonic times of the exporters can be shown as times of day. */
  readonly now: { readonly wallMs: number; readonly monotonicMs: number };
  /** When it was read last, monotonic, ms; null: not yet. */
  readonly readAtMs: number | null;
  readonly listeners: readonly ListenerReading[];
  readonly exporters: readonly ExporterView[];
}
