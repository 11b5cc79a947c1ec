/** The etcd of a cluster: calls, orders and leases. */
import { ETCD_FAULTS, type EtcdFaultKind } from "../cluster/etcd/etcd-fault.ts";
import { MetricGroup } from "./metric-group.ts";

const ORDER_ENDS = ["written", "superseded", "failed", "left_out"] as const;

export class EtcdMetrics extends MetricGroup {
  readonly #calls = this.counterOf("svc_cluster_etcd_calls_total", "Calls of etcd, by result.", "end", [
    "done",
    ...ETCD_FAULTS,
  ]);
  readonly moved = this.counting(
    "svc_cluster_etcd_moves_total",
    "Times that calls went on at another member of etcd, as one failed.",
  );
  readonly order = this.countingOf(
    "svc_cluster_etcd_orders_total",
    "Orders for etcd: written, superseded by a newer one there, failed (tried again), or left out until the next comparison.",
    "end",
    ORDER_ENDS,
  );
  readonly #waiting = this.gauge("svc_cluster_etcd_orders_waiting", "Orders that etcd has not taken yet.");
  readonly #isFollowing = this.gauge(
    "svc_cluster_etcd_following",
    "1 while changes of other brains arrive from etcd, otherwise 0.",
  );
  readonly #comparisons = this.counter(
    "svc_cluster_etcd_comparisons_total",
    "Times that all orders were compared with those in etcd.",
  );
  readonly #given = this.counter(
    "svc_cluster_etcd_orders_given_total",
    "Orders that etcd lacked, or had older, when all were compared: many after it lost its data.",
  );
  readonly #unusable = this.gauge(
    "svc_cluster_etcd_orders_unusable",
    "Keys of orders in etcd at the last comparison that hold no order: damaged, or of another build.",
  );
  readonly #lease = this.gauge(
    "svc_cluster_etcd_lease_held",
    "1 while this brain holds the lease by which one brain sends notifications, otherwise 0.",
  );

  called(fault: EtcdFaultKind | null): void {
    this.#calls.inc({ end: fault ?? "done" });
  }

  compared({ given, unusable }: { readonly given: number; readonly unusable: number }): void {
    this.#comparisons.inc();
    this.#given.inc(given);
    this.#unusable.set(unusable);
  }

  /** Called before each scrape. */
  set(reading: { readonly waiting: number; readonly isFollowing: boolean; readonly holdsLease: boolean }): void {
    this.#waiting.set(reading.waiting);
    this.#isFollowing.set(Number(reading.isFollowing));
    this.#lease.set(Number(reading.holdsLease));
  }
}
