/** Requests to the HTTP interface, by the name of their route. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

export interface RequestReading {
  /** A route's name, or `unknown`. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly seconds: number;
}

/** Routes on which a tenant may request a zone of another tenant. */
const ZONE_ROUTES = ["edge_history", "edge_lever"] as const;
export type ZoneRoute = (typeof ZONE_ROUTES)[number];

const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const REQUEST_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 35];

export class ApiMetrics {
  readonly #requests: Counter<"route" | "method" | "status">;
  readonly #seconds: Histogram<"route">;
  readonly #faults: Counter<"route">;
  readonly #bindingsRefused: Counter<"route">;
  readonly #zonesRefused: Counter<"route">;
  readonly #connections: Gauge;
  readonly #connectionsReset: Counter<"bound">;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#requests = new Counter({
      name: "svc_api_requests_total",
      help: "Requests answered.",
      labelNames: ["route", "method", "status"],
      registers,
    });
    this.#seconds = new Histogram({
      name: "svc_api_request_duration_seconds",
      help: "Time from a request's head until its answer was ready to be sent, in seconds.",
      labelNames: ["route"],
      buckets: REQUEST_SECONDS,
      registers,
    });
    this.#faults = new Counter({
      name: "svc_api_faults_total",
      help: "Requests that ended in an unexpected error; the log has the details.",
      labelNames: ["route"],
      registers,
    });
    this.#bindingsRefused = new Counter({
      name: "svc_api_node_binding_refused_total",
      help: "Requests with a node-bound token that named another node, or none.",
      labelNames: ["route"],
      registers,
    });
    this.#zonesRefused = new Counter({
      name: "svc_api_zone_refused_total",
      help: "Requests with a tenant's token for a zone of another tenant.",
      labelNames: ["route"],
      registers,
    });
    this.#connections = new Gauge({
      name: "svc_api_connections",
      help: "Open connections to the API.",
      registers,
    });
    this.#connectionsReset = new Counter({
      name: "svc_api_connections_reset_total",
      help: "Connections to the API that were reset because their address, or all together, had too many.",
      labelNames: ["bound"],
      registers,
    });
    for (const bound of ["address", "total"]) this.#connectionsReset.inc({ bound }, 0);
    for (const route of ZONE_ROUTES) this.#zonesRefused.inc({ route }, 0);
  }

  answered({ route, method, status, seconds }: RequestReading): void {
    // The client chooses the method: only methods of HTTP become label values.
    this.#requests.inc({ route, method: METHODS.has(method) ? method : "other", status });
    this.#seconds.observe({ route }, seconds);
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

  bindingRefused(route: string): void {
    this.#bindingsRefused.inc({ route });
  }

  zoneRefused(route: ZoneRoute): void {
    this.#zonesRefused.inc({ route });
  }

  failed(route: string): void {
    this.#faults.inc({ route });
  }
}
