/** Requests to the HTTP interface, by the name of their route. */
import { MetricGroup } from "./metric-group.ts";

interface RequestReading {
  /** A route's name, or `unknown`. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly seconds: number;
}

/** Routes on which a tenant may request a zone of another tenant. */
const ZONE_ROUTES = ["edge_history", "edge_lever"] as const;

const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const REQUEST_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 35];

type Labels = Pick<RequestReading, "route" | "method" | "status">;

export class ApiMetrics extends MetricGroup {
  /** Since the last fill(): adding to a counter with labels takes as long as some requests. */
  readonly #answered = new Map<string, { readonly labels: Labels; count: number }>();
  readonly #requests = this.counter("svc_api_requests_total", "Requests answered.", "route", "method", "status");
  readonly #seconds = this.histogram(
    "svc_api_request_duration_seconds",
    "Time from a request's head until its answer was ready to be sent, in seconds.",
    REQUEST_SECONDS,
    "route",
  );
  readonly failed = this.counting(
    "svc_api_faults_total",
    "Requests that ended in an unexpected error; the log has the details.",
    "route",
  );
  readonly bindingRefused = this.counting(
    "svc_api_node_binding_refused_total",
    "Requests with a node-bound token that named another node, or none.",
    "route",
  );
  readonly zoneRefused = this.countingOf(
    "svc_api_zone_refused_total",
    "Requests with a tenant's token for a zone of another tenant.",
    "route",
    ZONE_ROUTES,
  );
  readonly #connections = this.gauge("svc_api_connections", "Open connections to the API.");
  readonly #connectionsReset = this.counterOf(
    "svc_api_connections_reset_total",
    "Connections to the API that were reset because their address, or all together, had too many.",
    "bound",
    ["address", "total"],
  );

  answered({ route, method, status, seconds }: RequestReading): void {
    // The client chooses the method: only methods of HTTP become label values.
    const named = METHODS.has(method) ? method : "other";
    const key = `${route} ${named} ${status}`;
    const known = this.#answered.get(key);
    if (known === undefined) this.#answered.set(key, { labels: { route, method: named, status }, count: 1 });
    else known.count++;
    this.#seconds.observe({ route }, seconds);
  }

  /** Call this before each scrape. */
  fill(): void {
    for (const { labels, count } of this.#answered.values()) this.#requests.inc(labels, count);
    this.#answered.clear();
  }

  connections(count: {
    readonly open: number;
    readonly closedOfAddress: number;
    readonly closedOfTotal: number;
  }): void {
    this.#connections.set(count.open);
    this.#connectionsReset.inc({ bound: "address" }, count.closedOfAddress);
    this.#connectionsReset.inc({ bound: "total" }, count.closedOfTotal);
  }
}
