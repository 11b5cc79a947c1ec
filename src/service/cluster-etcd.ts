/**
 * The etcd of a cluster as the service runs it: orders, the lease of notifications, slots of certificates and masters of
 * clearance keys, with their log lines and metrics.
 */

import { randomUUID } from "node:crypto";
import { DataGeneration } from "../cluster/etcd/data-generation.ts";
import { EtcdCalls } from "../cluster/etcd/etcd-calls.ts";
import { EtcdExchange, type ExchangeObserver } from "../cluster/etcd/etcd-exchange.ts";
import { ETCD_REMEDIES, EtcdFault } from "../cluster/etcd/etcd-fault.ts";
import { EtcdLease } from "../cluster/etcd/etcd-lease.ts";
import { EtcdMasters } from "../cluster/etcd/etcd-masters.ts";
import { EtcdSecrets } from "../cluster/etcd/etcd-secrets.ts";
import { EtcdSlots } from "../cluster/etcd/etcd-slots.ts";
import { GatewayClient } from "../cluster/etcd/gateway-client.ts";
import type { EtcdConfig } from "../cluster/etcd-config.ts";
import { FALLBACK_MS, holdsWithFallback } from "../cluster/joins/etcd-fallback.ts";
import type { Lease } from "../cluster/lease.ts";
import type { SharedRecord, SharedTable } from "../cluster/order-exchange.ts";
import type { PeerState } from "../cluster/peers.ts";
import type { ClearanceKeys } from "../edge/zones/clearance-keys.ts";
import type { EtcdMetrics } from "../observability/etcd-metrics.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { Clock } from "../system/clock.ts";
import type { Environment } from "../system/environment.ts";
import { DAY_MS } from "../system/now.ts";
import type { Cancel, Timers } from "../system/timers.ts";

/** A fault that lasts: elections take about two seconds. */
const PROBLEM_MS = 10_000;
/** How often masters of coming days are agreed on; after a failure sooner. */
const MASTERS_MS = 3_600_000;
const MASTERS_AGAIN_MS = 30_000;

interface ClusterEtcdOptions {
  readonly config: EtcdConfig;
  /** The name of this brain. */
  readonly own: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly environment: Environment;
  readonly log: Log;
  readonly limiter: Pick<Limiter, "pass">;
  readonly metrics: { readonly etcd: EtcdMetrics };
  /** All that this brain has, ends too. */
  readonly records: () => Iterable<SharedRecord>;
  readonly lifeMs: (table: SharedTable) => number;
  readonly peers: () => readonly PeerState[];
}

export class ClusterEtcd {
  readonly exchange: EtcdExchange;
  readonly slots: EtcdSlots;
  readonly #options: ClusterEtcdOptions;
  readonly #client: GatewayClient;
  readonly #lease: EtcdLease;
  readonly #masters: EtcdMasters;
  readonly #startedMs: number;
  #cancelMasters: Cancel = () => {};
  #isClosed = false;

  constructor(options: ClusterEtcdOptions) {
    const { config, own, clock, timers } = options;
    const { prefix } = config;
    this.#options = options;
    this.#startedMs = clock.monotonicMs();
    this.#client = clientOf(options);
    const calls = new EtcdCalls(this.#client);
    const generation = new DataGeneration({ calls, prefix, newId: randomUUID });
    this.exchange = new EtcdExchange({ ...options, calls, generation, prefix, observer: exchangeObserver(options) });
    this.slots = new EtcdSlots(calls, prefix);
    this.#masters = new EtcdMasters(calls, prefix);
    const key = `${prefix}leases/notifications`;
    const onChange = (isHeld: boolean) =>
      options.log.info(
        { brain: own },
        `this brain ${isHeld ? "sends the notifications of the cluster from now on" : "does not send notifications any more"}`,
      );
    this.#lease = new EtcdLease({ calls, generation, key, own, clock, timers, onChange });
  }

  /** @param fallback the rule of brains that have only each other, for as long as etcd does not answer. */
  lease(fallback: Lease): Lease {
    const etcd = this.#lease;
    const peers = () => this.#options.peers();
    return { holds: () => holdsWithFallback({ etcd, silenceMs: this.#silenceMs, pair: fallback, peers: peers() }) };
  }

  /** The brain that sends notifications, as etcd had it last; null: none, or not known. */
  get holder(): string | null {
    return this.isSilent() ? null : this.#lease.holder;
  }

  /** It has not answered for FALLBACK_MS: what is due is done without it. */
  isSilent(): boolean {
    return this.#silenceMs >= FALLBACK_MS;
  }

  /** It has answered within FALLBACK_MS. */
  get answers(): boolean {
    return this.#lease.silenceMs !== null && !this.isSilent();
  }

  get #silenceMs(): number {
    return this.#lease.silenceMs ?? this.#options.clock.monotonicMs() - this.#startedMs;
  }

  /** Why it cannot be used, and what to do; null: it can. A member that is replaced by another is no reason. */
  get problem(): { readonly found: string; readonly remedy: string } | null {
    const { clock } = this.#options;
    const fault = this.exchange.fault;
    if (fault === null || clock.monotonicMs() - fault.sinceMs < PROBLEM_MS) return null;
    return { found: fault.fault.message, remedy: ETCD_REMEDIES[fault.fault.kind] };
  }

  /** @param clearance null: no edge is configured. */
  start(clearance: () => ClearanceKeys | null): void {
    this.exchange.start();
    this.#lease.start();
    void this.#agreeOnMasters(clearance);
  }

  async stop(): Promise<void> {
    this.#isClosed = true;
    this.#cancelMasters();
    await Promise.all([this.exchange.close(), this.#lease.close()]);
    this.#client.close();
  }

  /** Called before each scrape. */
  fillMetrics(): void {
    const { waiting, isFollowing } = this.exchange;
    this.#options.metrics.etcd.set({ waiting, isFollowing, holdsLease: this.#lease.holds() });
  }

  async #agreeOnMasters(clearance: () => ClearanceKeys | null): Promise<void> {
    const { clock, timers, log, limiter } = this.#options;
    const keys = clearance();
    let nextMs = MASTERS_MS;
    try {
      const nowMs = clock.wallMs();
      if (keys !== null) keys.adopt(await this.#masters.agree(keys.masters(nowMs), Math.floor(nowMs / DAY_MS)), nowMs);
    } catch (cause) {
      if (!(cause instanceof EtcdFault)) throw cause;
      nextMs = MASTERS_AGAIN_MS;
      limiter.pass("etcd masters", (suppressed) =>
        log.warn({ cause, suppressed }, "brains cannot agree on the masters of clearance keys: each uses its own"),
      );
    }
    if (!this.#isClosed) this.#cancelMasters = timers.after(nextMs, () => void this.#agreeOnMasters(clearance));
  }
}

function clientOf({ config, clock, timers, environment, metrics, log, limiter }: ClusterEtcdOptions): GatewayClient {
  return new GatewayClient({
    endpoints: config.endpoints.map((endpoint) => new URL(endpoint)),
    secrets: new EtcdSecrets(config, environment, clock),
    timers,
    observer: {
      called: (fault) => metrics.etcd.called(fault),
      movedTo(endpoint, cause) {
        metrics.etcd.moved();
        limiter.pass("etcd moved", (suppressed) =>
          log.warn({ endpoint: endpoint.host, cause, suppressed }, "a member of etcd fails: another one is used"),
        );
      },
    },
  });
}

function exchangeObserver({ log, limiter, metrics }: ClusterEtcdOptions): ExchangeObserver {
  const failed = (fault: EtcdFault, message: string) =>
    limiter.pass(`etcd ${fault.kind}`, (suppressed) =>
      log.error({ cause: fault, remedy: ETCD_REMEDIES[fault.kind], suppressed }, message),
    );
  return {
    written: () => metrics.etcd.order("written"),
    superseded: () => metrics.etcd.order("superseded"),
    failed(fault) {
      metrics.etcd.order("failed");
      failed(fault, "an order is not in etcd yet: it is tried again");
    },
    leftOut({ table, key }) {
      metrics.etcd.order("left_out");
      limiter.pass("etcd left out", (suppressed) =>
        log.warn({ table, key, suppressed }, "an order is shared later: too many wait for etcd, or it is too large"),
      );
    },
    compared(counts) {
      metrics.etcd.compared(counts);
      log.info(counts, "orders were compared with those in etcd");
    },
    following(fault) {
      if (fault === null) log.info({}, "orders of other brains arrive from etcd");
      else failed(fault, "orders of other brains do not arrive from etcd");
    },
  };
}
