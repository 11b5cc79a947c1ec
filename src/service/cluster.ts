/**
 * The other brains of a cluster as the running service sees them: the link, the orders that go over it, and what is wrong
 * with either. There is none of it without the section `cluster`.
 */
import type { ClusterConfig } from "../cluster/cluster-config.ts";
import { ClusterFaultTurns, clusterFaults } from "../cluster/cluster-faults.ts";
import {
  type BrainView,
  type ClusterFault,
  type ClusterReport,
  type ClusterView,
  LACKS,
  type OrderKept,
} from "../cluster/cluster-view.ts";
import type { EtcdConfig } from "../cluster/etcd-config.ts";
import type { Lease } from "../cluster/lease.ts";
import { ClusterLink, type LinkObserver } from "../cluster/link/cluster-link.ts";
import type { SharedTable } from "../cluster/order-exchange.ts";
import { SHARED_TABLES } from "../cluster/order-exchange.ts";
import { OrderRegister } from "../cluster/order-register.ts";
import { PeerExchange } from "../cluster/peer-exchange.ts";
import { clockOf, type PeerState } from "../cluster/peers.ts";
import type { RegisterObserver } from "../cluster/register-options.ts";
import { stampedName } from "../cluster/stamped-order.ts";
import type { Config } from "../config/config.ts";
import { sectionHashes } from "../config/section-hashes.ts";
import type { Edge } from "../edge/edge.ts";
import type { ClearanceKeys } from "../edge/zones/clearance-keys.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { StateStore } from "../storage/state-store.ts";
import type { Clock } from "../system/clock.ts";
import { within } from "../system/deadline.ts";
import type { Environment } from "../system/environment.ts";
import type { Cancel, Timers } from "../system/timers.ts";
import { type ChallengeSharing, shareChallenges } from "./cluster-challenges.ts";
import { shareEdgeReports } from "./cluster-edge-reports.ts";
import { ClusterEtcd } from "./cluster-etcd.ts";
import { ClusterJoins } from "./cluster-joins.ts";
import { clusterTables } from "./cluster-tables.ts";
import type { Floodwall } from "./floodwall.ts";
import { OrderClock } from "./order-clock.ts";

/** How long an answer waits for the other brains, ms. */
const SHARED_WAIT_MS = 1000;
const TICK_MS = 1000;
/** Waiting orders that are shown. */
const WAITING_SHOWN = 20;
/** Attempts to connect are spread over so much of their pause. */
const SPREAD = 0.5;

interface ClusterParts {
  readonly state: StateStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly limiter: Pick<Limiter, "pass">;
  readonly metrics: Metrics;
  readonly environment: Environment;
  readonly random: () => number;
  readonly version: string;
}

/** The part of the edge channel that brains share. */
interface ClusteredEdge extends Pick<Edge, "levers" | "nodes" | "acme" | "reports"> {
  readonly onPublished: ChallengeSharing["onPublished"];
  readonly clearance: () => ClearanceKeys | null;
}

type ClusterFaultListener = (turn: "begun" | "over", fault: ClusterFault) => void;

export class Cluster {
  readonly peers: ClusterLink;
  readonly register: OrderRegister;
  readonly joins: ClusterJoins;
  /** null: the brains have only each other. */
  readonly etcd: ClusterEtcd | null;
  readonly #parts: ClusterParts;
  readonly #exchange: PeerExchange;
  readonly #orderClock: OrderClock;
  readonly #turns = new ClusterFaultTurns();
  readonly #listeners: ClusterFaultListener[] = [];
  /** By brain: monotonic, ms, since when its configuration differs. */
  readonly #differs = new Map<string, number>();
  /** By brain: monotonic, ms, since when it is in reach or is not; absent: since the start. */
  readonly #changedMs = new Map<string, number>();
  readonly #startedMs: number;
  #sections: Record<string, string>;
  #cancel: Cancel = () => {};

  private constructor(section: ClusterConfig, config: Config, parts: ClusterParts) {
    const { state, clock, timers, version, random } = parts;
    this.#parts = parts;
    this.#startedMs = clock.monotonicMs();
    this.#orderClock = new OrderClock(clock);
    const wallMs = () => this.#orderClock.wallMs();
    this.#sections = sectionHashes(config);
    this.register = new OrderRegister({
      own: section.name,
      wallMs,
      store: state.table("cluster_orders"),
      clockOf: (brain) => clockOf(brain, this.peers.states()),
      observer: registerObserver(parts),
    });
    state.shareBy((table) => {
      const shared = SHARED_TABLES.find((one) => one === table);
      return shared === undefined ? null : this.register.sharing(shared);
    });
    this.register.load(state.stored.cluster_orders);
    this.peers = new ClusterLink({
      config: section,
      now: () => ({ wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() }),
      timers,
      spread: () => 1 - SPREAD / 2 + SPREAD * random(),
      introduction: () => ({ version, sections: this.#sections, has_etcd: this.etcd?.answers === true }),
      observer: linkObserver(parts),
    });
    const changed = (brain: string) => void this.#changedMs.set(brain, clock.monotonicMs());
    this.peers.onUp(changed);
    this.peers.onDown(changed);
    this.#exchange = new PeerExchange({
      peers: this.peers,
      wallMs,
      monotonicMs: () => clock.monotonicMs(),
      records: () => this.register.records(),
      digest: () => this.register.digest(),
      shifted: (record, byMs) => this.register.shifted(record, byMs),
      stampOf: (table, key) => this.register.stampOf(table, key),
      garbled: (peer, what) => this.#garbled(peer, what),
    });
    this.register.join(this.#exchange, { decides: section.etcd === null });
    this.etcd = section.etcd === null ? null : this.#openEtcd(section.name, section.etcd);
    const leaseOver = (pair: Lease) => this.etcd?.lease(pair) ?? pair;
    this.joins = new ClusterJoins({ ...parts, clock: this.#orderClock, peers: this.peers, leaseOver });
  }

  /** Call this before the tables of the state database are given to their owners. null: no cluster is configured. */
  static open(config: Config, parts: ClusterParts): Cluster | null {
    if (config.cluster !== null) return new Cluster(config.cluster, config, parts);
    // State left by a cluster of before would be out of date if there is one again.
    const { state } = parts;
    const { cluster_orders: orders, audit_unconfirmed: rows } = state.stored;
    for (const order of orders) state.table("cluster_orders").queue(stampedName(order), null);
    for (const { id } of rows) state.table("audit_unconfirmed").queue(id, null);
    return null;
  }

  onFault(listener: ClusterFaultListener): void {
    this.#listeners.push(listener);
  }

  /** Once the service has restored its orders. */
  start(floodwall: Floodwall, edge: ClusteredEdge): void {
    const { state, timers, metrics, clock } = this.#parts;
    const { levers, nodes, clearance } = edge;
    const { bans, sourceBlocks, filterRules, protections, maintenance, now } = floodwall;
    this.register.bind(clusterTables({ bans, sourceBlocks, filterRules, protections, maintenance, levers, now }));
    this.register.restore(state.stored.cluster_orders);
    this.joins.follow(floodwall, nodes);
    const onUnread = (kind: string, from: string) => this.#garbled(from, kind);
    shareChallenges({ ...edge, clock, onUnread, peers: this.peers });
    shareEdgeReports({ nodes, clock, onUnread, peers: this.peers, reports: edge.reports });
    floodwall.onReloaded((next) => {
      this.#sections = sectionHashes(next);
    });
    metrics.beforeScrape(() => metrics.cluster.set(this.#readings(), this.register.counts));
    this.#orderClock.follow({ orders: now, stepped: (byMs) => this.register.clockStepped(byMs) });
    this.#cancel = timers.every(TICK_MS, () => this.#tick());
    void this.peers.start();
    metrics.beforeScrape(() => this.etcd?.fillMetrics());
    this.etcd?.start(clearance);
  }

  #openEtcd(own: string, config: EtcdConfig): ClusterEtcd {
    const etcd = new ClusterEtcd({
      ...this.#parts,
      ...{ config, own },
      records: () => this.register.records(),
      lifeMs: (table) => this.register.lifeMs(table),
      peers: () => this.peers.states(),
    });
    this.register.join(etcd.exchange, { decides: true });
    return etcd;
  }

  /** Before the owners of the tables stop: orders that arrive from now on are confirmed after the next start. */
  stopOrders(): void {
    this.#cancel();
    this.register.stop();
  }

  /** After all parts that say something to other brains as they stop. */
  async stop(): Promise<void> {
    this.joins.stop();
    this.peers.stop();
    await this.etcd?.stop();
  }

  /** The lease of the brain that does work which must happen once. */
  get lease(): Lease {
    return this.joins.lease;
  }

  /** The state of the newest order of the key at the other brains; waits for them a second at most. */
  async kept(table: SharedTable, key: string): Promise<OrderKept> {
    const shared = this.register.isShared(table, key);
    const isShared = await within(shared, SHARED_WAIT_MS, this.#parts.timers, () => false);
    return { isShared, unconfirmedBy: this.register.unconfirmedBy(table, key) };
  }

  view(): ClusterView {
    const waiting = this.register.waiting().slice(0, WAITING_SHOWN);
    return {
      ...{ name: this.peers.own, isLeading: this.lease.holds() },
      brains: this.peers.states().map((state) => this.#brain(state)),
      orders: this.register.counts,
      waiting: waiting.map(({ table, key, stamp, atMs }) => ({ table, key, brain: stamp.brain, sinceMs: atMs })),
      lacks: this.etcd === null ? LACKS : [],
      ...(this.etcd !== null && { etcd: this.etcd.problem }),
      ...{ certificateUntilMs: this.peers.certificateUntilMs, fault: this.peers.fault },
    };
  }

  report(): ClusterReport {
    const { clock } = this.#parts;
    const [view, nowMs] = [this.view(), clock.monotonicMs()];
    const differsMs = (brain: string) => nowMs - (this.#differs.get(brain) ?? nowMs);
    return { ...view, faults: clusterFaults(view, differsMs, clock.wallMs()) };
  }

  #brain({ name, isUp, sinceMs, receivedMs, skewMs, version, sections, problem }: PeerState): BrainView {
    const nowMs = this.#parts.clock.monotonicMs();
    const lag = this.#exchange.lagOf(name);
    return {
      ...{ name, isUp, sinceMs, skewMs, version, problem },
      inStateMs: nowMs - (this.#changedMs.get(name) ?? this.#startedMs),
      silentMs: receivedMs === null ? null : nowMs - receivedMs,
      unconfirmed: { orders: lag.orders, oldestMs: lag.sinceMs === null ? 0 : nowMs - lag.sinceMs },
      differs: sections === null ? null : differing(this.#sections, sections),
    };
  }

  #tick(): void {
    const { clock, log } = this.#parts;
    this.register.tick();
    this.#exchange.tick();
    const { brains, faults } = this.report();
    for (const { name, differs } of brains) {
      if (differs === null || differs.length === 0) this.#differs.delete(name);
      else if (!this.#differs.has(name)) this.#differs.set(name, clock.monotonicMs());
    }
    const { begun, over } = this.#turns.take(faults);
    for (const fault of begun) {
      log.warn({ brain: fault.brain, fault: fault.kind, remedy: fault.remedy }, fault.found);
      for (const listener of this.#listeners) listener("begun", fault);
    }
    for (const fault of over) {
      log.info({ brain: fault.brain, fault: fault.kind }, "a fault of the cluster is over");
      for (const listener of this.#listeners) listener("over", fault);
    }
  }

  #garbled(peer: string, what: string): void {
    const { limiter, log, metrics } = this.#parts;
    metrics.cluster.messageDropped("garbled");
    limiter.pass(`cluster garbled ${peer}`, (suppressed) =>
      log.error({ brain: peer, what, suppressed }, "a brain sent what cannot be read"),
    );
  }

  #readings() {
    return this.view().brains.map(({ name, isUp, skewMs, unconfirmed, differs }) => ({
      ...{ name, isUp, skewSeconds: skewMs === null ? null : skewMs / 1000, unconfirmed: unconfirmed.orders },
      ...{ oldestSeconds: unconfirmed.oldestMs / 1000, differing: differs?.length ?? 0 },
    }));
  }
}

/** A section that only one of them knows is of another build, which is no difference. */
function differing(own: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): string[] {
  return Object.keys(own).filter((name) => name in other && own[name] !== other[name]);
}

function registerObserver({ limiter, log, metrics }: ClusterParts): RegisterObserver {
  return {
    refused: (cause, detail) => {
      metrics.cluster.recordRefused(cause);
      limiter.pass(`cluster refused ${cause}`, (suppressed) =>
        log.error({ cause, detail, suppressed }, "an order of another brain is refused"),
      );
    },
    waits: ({ table, key, stamp }, why) =>
      limiter.pass(`cluster waits ${table}`, (suppressed) =>
        log.warn(
          { table, key, brain: stamp.brain, why, suppressed },
          "an order of another brain is kept, and not in force here",
        ),
      ),
    endsDropped: (table, count) => {
      metrics.cluster.endsDropped(table, count);
      limiter.pass(`cluster ends ${table}`, (suppressed) =>
        log.warn({ table, count, suppressed }, "ends of orders are forgotten before their time: there are too many"),
      );
    },
  };
}

function linkObserver({ limiter, log, metrics }: ClusterParts): LinkObserver {
  return {
    up: (brain) => log.info({ brain }, "another brain is reached"),
    failed: (brain, cause) => {
      metrics.cluster.linkFailed(brain);
      limiter.pass(`cluster link ${brain}`, (suppressed) =>
        log.warn({ brain, cause, suppressed }, "another brain is not reached: tried again"),
      );
    },
    refused: (cause, address) => {
      metrics.cluster.connectionRefused();
      limiter.pass("cluster connections", (suppressed) =>
        log.warn({ cause, address, suppressed }, "a connection of no other brain is refused"),
      );
    },
    fault: (cause) =>
      limiter.pass("cluster listen", (suppressed) =>
        log.error({ cause, suppressed }, "other brains cannot reach this one: tried again each minute"),
      ),
    dropped: (why, kind, brain) => {
      metrics.cluster.messageDropped(why);
      limiter.pass(`cluster ${why} ${kind}`, (suppressed) =>
        log.warn({ why, kind, brain, suppressed }, "a message between brains is dropped"),
      );
    },
    listenerFailed: (cause) =>
      limiter.pass("cluster listener", (suppressed) =>
        log.error({ cause, suppressed }, "a message of another brain could not be used"),
      ),
  };
}
