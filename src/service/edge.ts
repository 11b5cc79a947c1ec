/** The edge channel as the service runs it: its parts, what they keep on disk, its log lines and its metrics. */
import type { Config } from "../config/config.ts";
import type { Edge } from "../edge/edge.ts";
import type { EdgeConfig } from "../edge/edge-config.ts";
import { EdgeNodes } from "../edge/edge-nodes.ts";
import type { EdgeReports } from "../edge/reports/edge-reports.ts";
import type { EdgeHistoryStore } from "../edge/reports/history-writer.ts";
import {
  AcmeIssuance,
  type AcmeObserver,
  type ChallengeOrder,
  type PublishedChallenge,
} from "../edge/zones/acme-issuance.ts";
import { AgreedIssuance } from "../edge/zones/agreed-issuance.ts";
import { ClearanceKeys, type ClearanceStore } from "../edge/zones/clearance-keys.ts";
import { type Lever, type LeverObserver, Levers } from "../edge/zones/levers.ts";
import type { SlotAgreement } from "../edge/zones/slot-agreement.ts";
import { type FeedKeys, ZoneFeed } from "../edge/zones/zone-feed.ts";
import type { EdgeMetrics } from "../observability/edge-metrics.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { StateStore } from "../storage/state-store.ts";
import type { Clock } from "../system/clock.ts";
import type { Timers } from "../system/timers.ts";
import { EdgeReporting } from "./edge-reports.ts";
import { faultingTable } from "./faults.ts";
import { leverSubject, noticed, type OnOrders } from "./order-changes.ts";

export interface EdgeChannelOptions {
  readonly config: Pick<Config, "edge">;
  readonly state: StateStore;
  readonly masters: ClearanceStore;
  /** The agreement of the brains of a cluster; null or absent: this service gives slots by itself. */
  readonly agreement?: SlotAgreement | null;
  /** Absent: storage is off. */
  readonly history?: EdgeHistoryStore | null;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly nextTurn: () => Promise<void>;
  readonly log: Log;
  /** Repeated failures are logged once a minute. */
  readonly limiter: Pick<Limiter, "pass">;
  readonly metrics: EdgeMetrics;
}

/** Characters of an ACME token that are logged: enough to find it, too few to answer with it. */
const TOKEN_PREFIX = 8;
/** Characters that are logged of a name chosen by a node. */
const NAME_PREFIX = 253;

export class EdgeChannel implements Edge {
  readonly nodes: EdgeNodes;
  readonly levers: Levers;
  readonly acme: AcmeIssuance;
  readonly issuance: AgreedIssuance;
  readonly feed: ZoneFeed;
  readonly #options: EdgeChannelOptions;
  readonly #reporting: EdgeReporting;
  readonly #publishedListeners: ((challenge: PublishedChallenge) => void)[] = [];
  #onOrders: OnOrders = () => {};
  /** null: no edge has been configured yet. */
  #keys: ClearanceKeys | null;

  private constructor(options: EdgeChannelOptions, keys: ClearanceKeys | null) {
    const { config, state, clock, timers, nextTurn, metrics } = options;
    this.#options = options;
    this.#keys = keys;
    state.onFault(() => {
      if (this.levers.unsaved > 0) metrics.saveFailed("levers");
    });
    const now = () => ({ wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() });
    this.nodes = new EdgeNodes({ config: config.edge, now });
    const onChange = () => this.feed.changed();
    const store = faultingTable(state.table("levers"));
    const isConfigured = (zone: string) => this.nodes.zone(zone) !== null;
    const ownerOf = (zone: string) => this.nodes.zone(zone);
    const observer = noticed(
      leverObserver(options),
      (lever) =>
        leverSubject(lever, {
          tenant: ownerOf(lever.zone)?.tenant ?? null,
          group: ownerOf(lever.zone)?.hostgroup ?? null,
        }),
      (changes) => this.#onOrders(changes),
    );
    this.levers = new Levers({ store, isConfigured, onChange, observer }, state.stored.levers);
    const serves = (node: string, zone: string) => this.nodes.serves(node, zone);
    const acmeCalls = acmeObserver(options);
    const published = (challenge: PublishedChallenge) => {
      acmeCalls.published(challenge);
      for (const listener of this.#publishedListeners) listener(challenge);
    };
    this.acme = new AcmeIssuance({ serves, onChange, observer: { ...acmeCalls, published } });
    this.issuance = new AgreedIssuance(this.acme, options.agreement ?? null, () => clock.wallMs());
    this.feed = new ZoneFeed({
      nodes: this.nodes,
      levers: this.levers,
      acme: this.acme,
      keys: this.#feedKeys(),
      nowMs: () => clock.wallMs(),
      after: (ms, fn) => timers.after(ms, fn),
      nextTurn,
    });
    const { history = null } = options;
    this.#reporting = new EdgeReporting({ ...options, nodes: this.nodes, levers: this.levers, history });
  }

  /** A node publishes a challenge here. */
  readonly onPublished = (listener: (challenge: PublishedChallenge) => void): void => {
    this.#publishedListeners.push(listener);
  };

  /** Rejects with ClearanceFileError. */
  static async open(options: EdgeChannelOptions): Promise<EdgeChannel> {
    return new EdgeChannel(options, options.config.edge === null ? null : await openKeys(options));
  }

  get reports(): EdgeReports {
    return this.#reporting.reports;
  }

  /** null: no edge has been configured yet. */
  readonly clearance = (): ClearanceKeys | null => this.#keys;
  /** Sets the listener for changes of levers. */
  onOrders(listener: OnOrders): void {
    this.#onOrders = listener;
  }

  /** From the last report of a node; null: none yet. */
  reportedDryRun(node: string): boolean | null {
    return this.reports.isDryRun(node);
  }

  start(): void {
    this.feed.start();
    this.#reporting.start();
  }

  /** Before the history is closed. */
  stop(): void {
    this.feed.stop();
    this.#reporting.stop();
  }

  /** Does the part of a reconfiguration that can fail or takes long. Rejects with ClearanceFileError. */
  async prepare({ edge }: Pick<Config, "edge">): Promise<void> {
    if (edge === null) return;
    this.#keys ??= await openKeys(this.#options);
    await this.feed.prepare(edge.zones);
  }

  /** Call prepare() first to avoid delays. */
  reconfigure(config: EdgeConfig | null): void {
    this.nodes.reconfigure(config);
    this.acme.reconfigure();
    this.#reporting.reconfigured();
    this.feed.reloaded();
  }

  /** Called before each scrape. */
  fillMetrics(): void {
    const { nodes, levers, acme, feed } = this;
    const { documents, bytesKept } = feed.reading();
    this.#options.metrics.set({
      nodes: nodes.nodes().map(({ name }) => nodes.livenessOf(name)),
      zones: nodes.zones().length,
      levers: levers.all.size,
      grants: acme.grants.length,
      challenges: acme.challenges.length,
      documents,
      documentBytes: bytesKept,
    });
  }

  /** Without zones there is nothing to sign. */
  #feedKeys(): FeedKeys {
    const none = () => [];
    return {
      at: (nowMs) => this.#keys?.at(nowMs) ?? none,
      ahead: (nowMs) => this.#keys?.ahead(nowMs) ?? none,
    };
  }
}

/** Resolves when the masters are on disk. Rejects with ClearanceFileError. */
async function openKeys({ masters, clock, log, limiter, metrics }: EdgeChannelOptions): Promise<ClearanceKeys> {
  const onUnsaved = (cause: unknown) => {
    metrics.saveFailed("clearance_masters");
    limiter.pass("clearance masters", (suppressed) =>
      log.error(
        { cause, suppressed },
        "a clearance master cannot be saved: it is in use, and after a restart visitors would be challenged once more",
      ),
    );
  };
  const randomBytes = (count: number) => crypto.getRandomValues(new Uint8Array(count));
  const keys = new ClearanceKeys({ store: masters, randomBytes, onUnsaved }, clock.wallMs());
  await keys.saved;
  return keys;
}

function leverObserver({ log, metrics }: EdgeChannelOptions): LeverObserver {
  const fieldsOf = ({ zone, mode, untilMs, reason }: Lever) => ({ zone, mode, until: new Date(untilMs), reason });
  return {
    began(lever) {
      metrics.lever("set");
      log.info(fieldsOf(lever), "a zone's challenge lever is set");
    },
    ended(end, levers) {
      for (const lever of levers) {
        metrics.lever(end);
        log.info(fieldsOf(lever), `a zone's challenge lever ${end === "cleared" ? "is cleared" : "has expired"}`);
      }
    },
    refused: () => metrics.lever("refused"),
  };
}

/**
 * Every call is logged (docs/interface.md#acme-command). A node calls for one zone and one challenge at a time, so
 * there are few calls.
 */
function acmeObserver({ log, metrics }: EdgeChannelOptions): AcmeObserver {
  const orderOf = ({ zone, token }: ChallengeOrder) => ({
    zone: zone.slice(0, NAME_PREFIX),
    token_prefix: token.slice(0, TOKEN_PREFIX),
  });
  return {
    slotGranted(node, zone) {
      metrics.acme("slot_granted");
      log.info({ node, zone }, "a node has the slot of a zone");
    },
    slotHeld(node, zone, holder) {
      metrics.acme("slot_held");
      log.info({ node, zone, holder }, "a node waits for the slot of a zone");
    },
    slotReleased(node, zone) {
      metrics.acme("slot_released");
      log.info(zone === null ? { node } : { node, zone: zone.slice(0, NAME_PREFIX) }, "a node returns slots");
    },
    published(challenge) {
      metrics.acme("published");
      log.info({ node: challenge.node, ...orderOf(challenge) }, "a node has published a challenge");
    },
    refused(node, order, refusal) {
      metrics.acme("refused");
      log.warn({ node, ...orderOf(order), refusal }, "a challenge of a node is refused");
    },
    unknownZone(node, zone, order) {
      metrics.acme("unknown_zone");
      log.warn(
        { node, ...(order === null ? { zone: zone.slice(0, NAME_PREFIX) } : orderOf(order)) },
        "a node requested a zone that it does not serve",
      );
    },
  };
}
