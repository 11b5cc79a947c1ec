/** The listener: all routes behind one pipeline, from the start to a stop that lets requests in progress finish. */
import { callersNow } from "../../access/shares.ts";
import type { TokenConfig } from "../../access/token-config.ts";
import type { Secrets } from "../../access/tokens.ts";
import type { AuditTrail } from "../../audit/audit-event.ts";
import { STOP_STEP_MS } from "../../limits.ts";
import type { Log } from "../../observability/log.ts";
import type { Metrics } from "../../observability/metrics.ts";
import { ScrapeText } from "../../observability/scrape-text.ts";
import type { Clock } from "../../system/clock.ts";
import { afterPromises, type Cancel, nextTurn, type Timers } from "../../system/timers.ts";
import type { Backend } from "../backend.ts";
import { EventFeed } from "../events/event-feed.ts";
import { RulePolls } from "../holds/rule-polls.ts";
import { ZonePolls } from "../holds/zone-polls.ts";
import { HostsSnapshots } from "../hosts/hosts-snapshots.ts";
import { ListPages } from "../list-pages.ts";
import { refuse } from "../refusal.ts";
import type { Route } from "../route.ts";
import type { Dashboard } from "../routes/dashboard.ts";
import { routesOf } from "../routes.ts";
import { TablePass } from "../table-pass.ts";
import { ZoneAccess } from "../zone-access.ts";
import { capConnections, type LimitConnections } from "./connection-cap.ts";
import { TokenGate } from "./gate.ts";
import { Listener } from "./listener.ts";
import { createApp, type FailureOptions, failed, register } from "./pipeline.ts";
import { RequestShares } from "./request-shares.ts";
import { RequestTurns } from "./request-turns.ts";
import { readTlsPair, type TlsFiles } from "./tls-files.ts";

interface HttpServerOptions {
  readonly host: string;
  /** 0: any free port, which `port` returns. */
  readonly port: number;
  readonly backend: Backend;
  /** Tokens of the configuration in force. None: the API is open. */
  readonly tokens: () => readonly TokenConfig[];
  /** The callers that share bounded tables; absent: the tokens. */
  readonly callers?: () => readonly Pick<TokenConfig, "tenant">[];
  readonly secrets: Secrets;
  /** null: audit events are not recorded. */
  readonly audit: AuditTrail | null;
  /** As of EventFeedOptions. */
  readonly brain?: string | null;
  /** Whether the metrics need a token, by the configuration in force; absent: never. */
  readonly metricsToken?: () => boolean;
  /** The web page; absent: it is not served. */
  readonly dashboard?: Dashboard | null;
  readonly metrics: Pick<Metrics, "api" | "events" | "holds" | "text" | "contentType">;
  readonly log: Pick<Log, "info" | "warn" | "error">;
  /** Repeated failures of a route, and refusals of a token, are logged once a minute. */
  readonly limiter: { pass(key: string, say: (suppressed: number) => void): void };
  /** Absent: plain http. */
  readonly tls?: TlsFiles | null;
  /** See ListenerOptions. */
  readonly onTls?: (error: string | null) => void;
  /** null: connections are not bounded. */
  readonly limitConnections?: LimitConnections | null;
  /** Which others take part in; absent: its own. */
  readonly turns?: RequestTurns;
  readonly clock: Clock;
  readonly timers: Timers;
}

export class HttpServer {
  /** All routes. */
  readonly routes: readonly Route[];
  /** Receives changes of attacks and bans. */
  readonly events: EventFeed;
  readonly #options: HttpServerOptions;
  readonly #rulePolls: RulePolls;
  readonly #zonePolls: ZonePolls;
  readonly #snapshots: HostsSnapshots;
  readonly #failures: FailureOptions;
  readonly #app: ReturnType<typeof createApp>;
  readonly #listener: Listener;
  #stopCap: Cancel = () => {};

  constructor(options: HttpServerOptions) {
    const { backend, metrics, timers, clock, tokens, secrets, audit, log, limiter } = options;
    this.#options = options;
    const slicing = { clock, nextTurn };
    const callers = callersNow(options.callers ?? tokens);
    const hosts = new TablePass(() => backend.hosts(), slicing);
    this.#snapshots = new HostsSnapshots(hosts, timers);
    this.#failures = { metrics: metrics.api, onFailure: (route, cause) => this.#logFailure(route, cause) };
    this.#app = createApp();
    const { host, port, tls = null } = options;
    // Reached only after an error in the library itself, outside of the pipeline.
    const error = (cause: unknown) => refuse(failed("unknown", cause, this.#failures));
    const onTls = options.onTls === undefined ? {} : { onTls: options.onTls };
    const readTls = tls === null ? null : () => readTlsPair(tls);
    this.#listener = new Listener({ app: this.#app, host, port, error, readTls, log, limiter, timers, ...onTls });
    this.events = new EventFeed({
      tenancy: () => backend.tenancy(),
      callers,
      activeAttacks: () => backend.attacks().active,
      metrics: metrics.events,
      clock,
      timers,
      nextTurn,
      onFault: (cause) => void failed("events", cause, this.#failures),
      brain: options.brain ?? null,
    });
    const polling = { clock, timers, nextTurn };
    this.#rulePolls = new RulePolls({ nodes: backend.scrub, metrics: metrics.holds.channel("rules"), ...polling });
    this.#zonePolls = new ZonePolls({ edge: backend.edge, metrics: metrics.holds.channel("zones"), ...polling });
    const text = new ScrapeText(() => metrics.text(), clock);
    this.routes = routesOf({
      backend,
      hosts,
      pages: new ListPages(callers),
      snapshots: this.#snapshots,
      slicing,
      events: this.events,
      rulePolls: this.#rulePolls,
      zonePolls: this.#zonePolls,
      zoneAccess: new ZoneAccess({ metrics: metrics.api, log, limiter }),
      tokens,
      metrics: {
        contentType: metrics.contentType,
        read: () => text.read(),
        needsToken: () => options.metricsToken?.() ?? false,
      },
      dashboard: options.dashboard ?? null,
      clock,
    });
    register(this.#app, this.routes, {
      gate: new TokenGate({
        tokens,
        secrets,
        links: backend.sharedLinks,
        signIn: backend.signIn,
        host: options.host,
        metrics: metrics.api,
        log,
        limiter,
      }),
      isReady: () => backend.isReady(),
      isDryRun: () => backend.isDryRun(),
      audit,
      clock,
      turns: options.turns ?? new RequestTurns({ ...slicing, afterPromises }),
      shares: new RequestShares(callers),
      ...this.#failures,
    });
  }

  /** Throws ListenError. */
  start(): void {
    this.#listener.start();
    const { limitConnections: limit, metrics, log, limiter, timers, clock } = this.#options;
    const shared = { log, limiter, timers, clock };
    if (limit) this.#stopCap = capConnections({ limit, port: this.port, metrics: metrics.api, ...shared });
  }

  /** False: there is no certificate that can be used. */
  get isOpen(): boolean {
    return this.#listener.isOpen;
  }

  /** Requires a started server. */
  get port(): number {
    return this.#listener.port;
  }

  /** Accepts no more requests, lets those in progress finish for STOP_STEP_MS, then aborts them. */
  async stop(): Promise<void> {
    // Not by the library's server, which is absent while a renewed certificate cannot be served.
    if (this.#listener.port === 0) return;
    this.#stopCap();
    this.events.stop();
    const cancel = this.#options.timers.after(STOP_STEP_MS, () => this.#listener.abort());
    // The listener waits for all requests in progress, which include parked polls.
    await Promise.all([this.#rulePolls.stop(), this.#zonePolls.stop()]);
    await this.#listener.stop();
    cancel();
    this.#snapshots.close();
  }

  #logFailure(route: string, cause: unknown): void {
    this.#options.limiter.pass(`request failed: ${route}`, (suppressed) =>
      this.#options.log.error({ route, cause, suppressed }, "request failed"),
    );
  }
}
