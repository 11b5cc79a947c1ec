/** The history store: queues, writes, queries, and losses. */
import { Gauge, type Registry } from "prom-client";
import { MetricGroup } from "./metric-group.ts";

const STORE_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export class StorageMetrics extends MetricGroup {
  /** By kind. Updated thousands of times a second, so read only at a scrape. */
  readonly #queued = new Map<string, number>();

  readonly #up = this.gauge("svc_storage_up", "1 while the history store is open.");
  readonly openFailed = this.counting(
    "svc_storage_open_failures_total",
    "Times that the history store could not be opened.",
  );
  readonly #written = this.counter("svc_storage_written_records_total", "Records written.", "kind");
  readonly #writeSeconds = this.histogram(
    "svc_storage_write_seconds",
    "Time of writing one batch of records, in seconds.",
    STORE_SECONDS,
    "kind",
  );
  readonly writeFailed = this.counting(
    "svc_storage_write_failures_total",
    "Writes that failed; they are tried again.",
    "kind",
  );
  readonly dropped = this.adding(
    "svc_storage_dropped_records_total",
    "Records lost: the queue was full, the store refused them, or the service stopped.",
    "kind",
  );
  readonly auditLate = this.counting(
    "svc_storage_audit_late_total",
    "Commands that were answered before their audit row was written.",
  );
  readonly #querySeconds = this.histogram(
    "svc_storage_query_seconds",
    "Time of a query of the history store, including failed ones, in seconds.",
    STORE_SECONDS,
    "query",
  );
  readonly askFailed = this.counting(
    "svc_storage_query_failures_total",
    "Queries of the history store that failed or took too long.",
    "query",
  );
  readonly maintenanceFailed = this.counting(
    "svc_storage_maintenance_failures_total",
    "Times that old history could not be moved or removed.",
  );
  readonly givenUp = this.adding(
    "svc_storage_given_up_records_total",
    "Stored records that were removed for later ones, since their cause had used its bytes: the oldest of the tenant with the most; and rows of the oldest days of tables in ClickHouse.",
    "cause",
  );
  readonly #paused = this.gauge(
    "svc_storage_paused",
    "1 while writes of a kind of history fail: the disk is full or nearly so, or the store does not answer.",
    "kind",
  );
  readonly hostsCut = this.adding(
    "svc_storage_hosts_cut_total",
    "Rows left out of traffic snapshots because there were too many; the busiest hosts are kept.",
  );

  constructor(registry: Registry) {
    super(registry);
    const queued = this.#queued;
    new Gauge({
      name: "svc_storage_queued_records",
      help: "Records that wait to be written; for traffic, snapshots of all hosts.",
      labelNames: ["kind"],
      registers: [registry],
      collect() {
        for (const [kind, records] of queued) this.set({ kind }, records);
      },
    });
  }

  setUp(isUp: boolean): void {
    this.#up.set(isUp ? 1 : 0);
  }

  setQueued(kind: string, records: number): void {
    this.#queued.set(kind, records);
  }

  written(kind: string, records: number, seconds: number): void {
    this.#written.inc({ kind }, records);
    this.#writeSeconds.observe({ kind }, seconds);
  }

  queried(query: string, seconds: number): void {
    this.#querySeconds.observe({ query }, seconds);
  }

  setPaused(kind: string, isPaused: boolean): void {
    this.#paused.set({ kind }, isPaused ? 1 : 0);
  }
}
