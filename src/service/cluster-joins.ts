/**
 * State that the brains of a cluster share beside orders: ids of attacks, incidents, times, rungs and rules of bans,
 * the nodes that poll them, and notifications. All of it is joined as messages come; nothing waits for another brain
 * but reports, for a quarter of a second.
 */
import type { Lease } from "../cluster/lease.ts";
import type { Peers } from "../cluster/peers.ts";
import type { EdgeNodes } from "../edge/edge-nodes.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { HistoryStore } from "../storage/history-store.ts";
import type { StateStore } from "../storage/state-store.ts";
import type { Clock } from "../system/clock.ts";
import type { Timers } from "../system/timers.ts";
import type { ServiceTrail } from "./audit-trail.ts";
import { ClusterAttacks } from "./cluster-attacks.ts";
import { ClusterAudit } from "./cluster-audit.ts";
import { ClusterBans } from "./cluster-bans.ts";
import { shareIncidents } from "./cluster-incidents.ts";
import { PairLease } from "./cluster-lease.ts";
import { shareLimits } from "./cluster-limits.ts";
import { ClusterNotifications } from "./cluster-notifications.ts";
import { sharePresence } from "./cluster-presence.ts";
import { shareQuarantine } from "./cluster-quarantine.ts";
import type { Floodwall } from "./floodwall.ts";
import type { FloodwallOptions } from "./floodwall-options.ts";

interface ClusterJoinsOptions {
  readonly peers: Peers;
  /** The lease where there is more than the connections to decide it; given that of the pair. Absent: that one. */
  readonly leaseOver?: (pair: Lease) => Lease;
  readonly state: Pick<StateStore, "table" | "stored">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly limiter: Pick<Limiter, "pass">;
  readonly metrics: Metrics;
}

/** A brain has said all that it did while it was out of reach. */
const SYNCED = "synced";

/** Make it before the engines, which are given what it knows of other brains. */
export class ClusterJoins {
  readonly lease: Lease;
  readonly notifications: ClusterNotifications;
  readonly #options: ClusterJoinsOptions;
  readonly #attacks: ClusterAttacks;
  readonly #bans: ClusterBans;
  readonly #audit: ClusterAudit;

  constructor(options: ClusterJoinsOptions) {
    this.#options = options;
    const { peers, clock, timers, leaseOver = (pair: Lease) => pair } = options;
    const reach = new PairLease(peers, clock);
    this.lease = leaseOver(reach);
    const shared = { peers, clock, timers, onUnread: (kind: string, from: string) => this.#unread(kind, from) };
    this.#attacks = new ClusterAttacks({
      ...shared,
      onRenamed: (ids) => {
        this.notifications.renamed(ids);
        this.#audit.renamed(ids);
      },
    });
    this.#bans = new ClusterBans({ ...shared, lease: this.lease });
    const once = { ...shared, lease: this.lease, reach, startedAt: clock.wallMs() };
    this.notifications = new ClusterNotifications({
      ...{ ...once, ids: this.#attacks },
      onDropped: (events) => this.#dropped(events),
    });
    this.#audit = new ClusterAudit({
      ...{ ...once, state: options.state },
      whenAgreed: (report) => this.#attacks.whenAgreed(report),
      onDropped: (rows) => this.#rowsDropped(rows),
    });
    // After what each of them says when a connection begins.
    peers.on(SYNCED, (from) => reach.synced(from));
    peers.onUp((name) => peers.send(name, SYNCED, {}));
  }

  /** The part of it that the engines use. */
  get engines(): Required<Pick<FloodwallOptions, "attackIds" | "foreignBans">> {
    return { attackIds: this.#attacks, foreignBans: this.#bans };
  }

  /** Call this once. */
  trailOf(history: HistoryStore): ServiceTrail {
    return this.#audit.trailOf(history);
  }

  stop(): void {
    this.#audit.stop();
  }

  /** Once the engines have restored what was before. */
  follow(floodwall: Floodwall, edge: EdgeNodes): void {
    // Attacks in progress come with their next tick.
    floodwall.onAttackEvent((event) => this.#attacks.attackHappened(event));
    for (const ban of floodwall.bans.active.values()) this.#bans.banChanged({ ban, previous: null });
    floodwall.onBanChange((change) => this.#bans.banChanged(change));
    const shared = { ...this.#options, onUnread: (kind: string, from: string) => this.#unread(kind, from) };
    sharePresence({ ...shared, channels: { scrub: floodwall.scrub, edge } });
    const { announcer, incidents } = floodwall;
    shareIncidents({ ...shared, incidents, attackIds: this.#attacks });
    if (announcer === null) return;
    shareQuarantine({ ...shared, quarantine: announcer.quarantine });
    shareLimits({ ...shared, limits: announcer.learned });
  }

  #unread(kind: string, from: string): void {
    const { limiter, log, metrics } = this.#options;
    metrics.cluster.messageDropped("garbled");
    limiter.pass(`cluster garbled ${kind}`, (suppressed) =>
      log.error(
        { brain: from, kind, suppressed },
        "a message of another brain is in a form that this build does not read",
      ),
    );
  }

  #rowsDropped(rows: number): void {
    const { limiter, log } = this.#options;
    limiter.pass("cluster audit", (suppressed) =>
      log.error({ rows, suppressed }, "audit rows that another brain was to write are given up: see its log"),
    );
  }

  #dropped(events: number): void {
    const { limiter, log, metrics } = this.#options;
    metrics.notify.dropped("cluster", events);
    limiter.pass("cluster notifications", (suppressed) =>
      log.error({ events, suppressed }, "notifications that another brain was to send are given up: see its log"),
    );
  }
}
