/**
 * Passes the events of the running service on to the event feed, the notification channels, the history and the audit
 * trail, and starts and stops these. The service itself does not know them.
 */
import { hostname } from "node:os";
import { randomUUIDv7 } from "bun";
import type { Tenancy } from "../access/tenancy.ts";
import { automaticBanEvent } from "../audit/automatic-audit.ts";
import { type OrderEnd, orderEndEvents } from "../audit/order-end.ts";
import type { Config } from "../config/config.ts";
import { type AttackEvent, calmOf } from "../detection/attack/attack.ts";
import { AttackHistory } from "../detection/attack/attack-history.ts";
import type { EventFeed } from "../http/events/event-feed.ts";
import type { NotifyTargets } from "../http/notify-targets.ts";
import { exporterToWire } from "../http/wire/telemetry.ts";
import type { IncidentView } from "../incident/incident-view.ts";
import type { RouteState } from "../mitigation/announcer.ts";
import type { Ban, BanChange } from "../mitigation/ban.ts";
import type { NotifyEvent } from "../notify/event.ts";
import { KeptNotifications } from "../notify/kept-notification.ts";
import { NotifiedProblems } from "../notify/notified-problems.ts";
import { Notifier } from "../notify/notifier.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { UpdateCheck } from "../release/update-check.ts";
import { attackOfRecord } from "../storage/attack-record.ts";
import { banOfRecord, recordOfBan } from "../storage/ban-record.ts";
import type { StateDamage } from "../storage/damaged-state.ts";
import type { HistoryStore } from "../storage/history-store.ts";
import type { Clock } from "../system/clock.ts";
import { diskSpace } from "../system/disk-space.ts";
import type { Environment } from "../system/environment.ts";
import type { Cancel, Timers } from "../system/timers.ts";
import { TenantTargets } from "../targets/tenant-targets.ts";
import type { ExporterChange } from "../telemetry/exporters.ts";
import type { HistoryRecorder } from "../traffic/history-recorder.ts";
import { shownBan } from "./attack-ids.ts";
import type { ServiceTrail } from "./audit-trail.ts";
import { CapReadings } from "./cap-readings.ts";
import type { Cluster } from "./cluster.ts";
import { ConditionReadings } from "./condition-readings.ts";
import type { EdgeChannel } from "./edge.ts";
import { faultingTable } from "./faults.ts";
import type { FileFaults } from "./file-faults.ts";
import type { Floodwall } from "./floodwall.ts";
import { banOrderChange, type OrderedChange, ownedBy } from "./order-changes.ts";
import { isNotifiedHere } from "./order-notifier.ts";
import { RouteChanges } from "./route-changes.ts";
import { tenantReach } from "./tenant-reach.ts";

interface ReportingOptions {
  readonly floodwall: Floodwall;
  readonly edge: EdgeChannel;
  /** By the configuration in force. */
  readonly tenancy: () => Tenancy;
  readonly feed: EventFeed;
  /** null: storage is off. */
  readonly history: HistoryStore | null;
  /** null: storage is off. */
  readonly trail: ServiceTrail | null;
  /** null: no traffic is recorded. */
  readonly recorder: HistoryRecorder | null;
  readonly updates: UpdateCheck;
  /** The fault of the state database at the start; null: none. */
  readonly stateDamage: StateDamage | null;
  readonly faults: Pick<FileFaults, "onChange">;
  /** null or absent: this brain is alone. */
  readonly cluster?: Pick<Cluster, "onFault" | "register" | "joins" | "peers" | "lease"> | null;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly environment: Environment;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly metrics: Metrics;
}

/** Time between two readings of caps and conditions: a notification has what happened in that time, ms. */
const READ_EVERY_MS = 1000;

export class Reporting {
  readonly #options: ReportingOptions;
  readonly notifier: Notifier;
  readonly #tenantTargets: TenantTargets;
  readonly #caps = new CapReadings();
  readonly #conditions: ConditionReadings;
  readonly #routeChanges: RouteChanges;
  #cancelReadings: Cancel = () => {};
  readonly #attackHistory: AttackHistory | null;
  /** Ids: times say nothing, since a ban that begins after the clock was set back has older ones. */
  readonly #restoredBans: ReadonlySet<string>;

  constructor(options: ReportingOptions) {
    const { floodwall, history, edge } = options;
    const { config, attackLog } = floodwall;
    this.#options = options;
    this.#restoredBans = new Set(floodwall.state.stored.bans.map(({ id }) => id));
    this.#conditions = new ConditionReadings({ floodwall, edge, diskSpace });
    this.#tenantTargets = new TenantTargets({
      store: faultingTable(floodwall.state.table("notify_targets")),
      stored: floodwall.state.stored.notify_targets,
      rules: () => floodwall.config.notify.tenantTargets,
      onChange: (id, target) => this.notifier.ownChanged(id, target),
    });
    this.notifier = new Notifier({
      ...options,
      sharing: options.cluster?.joins.notifications ?? null,
      config: config.notify,
      dryRun: () => floodwall.config.dryRun,
      isQuiet: (subject) => floodwall.maintenance.isQuiet(subject),
      overThresholdMs: ({ id }) => floodwall.detector.meters.overThresholdMs(id, options.clock.wallMs()),
      kept: new KeptNotifications({
        table: floodwall.state.table("notifications"),
        stored: floodwall.state.stored.notifications,
        records: { attackOf: attackOfRecord, banOf: banOfRecord, ofBan: recordOfBan },
      }),
      notified: new NotifiedProblems({
        table: floodwall.state.table("notified"),
        stored: floodwall.state.stored.notified,
      }),
      isUnseen: (event) => this.#isUnseen(event),
      gathered: {
        table: floodwall.state.table("order_notices"),
        stored: floodwall.state.stored.order_notices,
      },
      restoredAttacks: floodwall.state.stored.attacks.map(({ id }) => id),
      own: { inForce: () => this.#tenantTargets.inForce(), reachOf: tenantReach(floodwall, options.timers) },
      instance: hostname(),
      metrics: options.metrics.notify,
      newId: randomUUIDv7,
      random: Math.random,
    });
    this.#attackHistory =
      history === null
        ? null
        : new AttackHistory(
            {
              saveAttack: (attack, tenant) => history.saveAttack(attack, tenant),
              endedAttacks: (limit) => history.ask("endedAttacks", { limit }),
            },
            attackLog,
          );
    this.#routeChanges = new RouteChanges({
      bans: floodwall.bans,
      timers: options.timers,
      onChange: (ban) => this.#publishBan(ban),
    });
    floodwall.onAttackEvent((event) => this.#attackHappened(event));
    floodwall.onBanChange((change) => this.#banChanged(change));
    floodwall.incidents.onChange((view) => this.#incidentChanged(view));
    floodwall.onOrderEnds((ends) => this.#ordersEnded(ends));
    floodwall.onOrders((changes) => this.#ordersChanged(changes));
    edge.onOrders((changes) => this.#ordersChanged(changes));
    floodwall.onReloaded((next) => this.#reloaded(next));
    floodwall.announcer?.onChange(() => this.#routesChanged());
    floodwall.telemetry?.onChange((change) => this.#exporterChanged(change));
    floodwall.scrub.onFaults((node, faults) => this.notifier.scrubNodeChanged(node, faults));
  }

  get targets(): NotifyTargets {
    const { notifier } = this;
    return {
      list: () => notifier.list(),
      test: (target, by) => notifier.test(target, by),
      route: (question) => notifier.route(question),
      own: this.#tenantTargets,
    };
  }

  /** The history opens in the background: neither an answer nor a ban waits for it. */
  start(): void {
    const { history, updates, stateDamage, faults, cluster } = this.#options;
    this.notifier.start();
    this.#readSessions();
    this.#cancelReadings = this.#options.timers.every(READ_EVERY_MS, () => this.#read());
    if (stateDamage !== null) this.#stateDamaged(stateDamage);
    faults.onChange((turn, fault) =>
      this.notifier.fileChanged(turn === "begun" ? "file_fault" : "file_fault_over", fault),
    );
    cluster?.onFault((turn, { kind: fault, brain, found, remedy }) => {
      const [begun, over] = [
        { found, remedy },
        { found: "", remedy: "" },
      ];
      const isBegun = turn === "begun";
      const kind = isBegun ? "cluster_fault" : "cluster_fault_over";
      this.notifier.clusterChanged({ kind, cluster: { brain, fault, ...(isBegun ? begun : over) } });
    });
    this.#options.recorder?.start();
    updates.start();
    history?.onUp(() => void this.#attackHistory?.restore());
    void history?.start();
  }

  #stateDamaged(damage: StateDamage): void {
    const { log, metrics } = this.#options;
    metrics.mitigation.stateWasDamaged();
    log.error(
      { ...damage },
      "the state database was damaged and is replaced: lost bans end, and their routes are withdrawn",
    );
    this.notifier.stateDamaged(damage);
  }

  /** After the last changes of the service, which are events, and before the state is closed. */
  async stopNotifying(): Promise<void> {
    this.#cancelReadings();
    await this.notifier.stop();
  }

  /** After the listener, whose last calls still write rows, and after the service. */
  async stop(): Promise<void> {
    const { history, updates } = this.#options;
    updates.stop();
    this.#routeChanges.stop();
    await history?.stop();
  }

  /** Before the packet counter is closed. */
  async stopReading(): Promise<void> {
    await this.#options.recorder?.stop();
  }

  #read(): void {
    const { floodwall, clock } = this.#options;
    const { config, packetPath } = floodwall;
    this.notifier.conditionsRead(this.#conditions.read(clock.monotonicMs()));
    this.notifier.capsRead(this.#caps.read(config.ban, packetPath?.detection ?? null));
  }

  #attackHappened({ kind, attack }: AttackEvent): void {
    const { floodwall, tenancy, feed, clock } = this.#options;
    const ban = floodwall.bans.banOf(attack);
    if (kind !== "sampled") this.notifier.attackChanged(kind, attack, ban);
    // The feed polls attacks in progress itself, and the history records only begin and end.
    if (kind === "lasts") return;
    const endsAfterSeconds = floodwall.detector.endsAfterSeconds(attack);
    const calm = calmOf(attack, endsAfterSeconds, clock.monotonicMs());
    const { attackIds } = floodwall;
    attackIds.whenAgreed(() => {
      const shown = attackIds.shown(attack);
      feed.publish({ kind: "attack", view: { attack: shown, ban: shownBan(ban, attackIds), calm, endsAfterSeconds } });
      this.#attackHistory?.save(shown, tenancy().ownerOf(shown));
    });
  }

  #banChanged(change: BanChange): void {
    const { ban } = change;
    const { floodwall, trail, clock } = this.#options;
    this.#routeChanges.placed(ban, this.#publishBan(ban));
    this.notifier.banChanged(change);
    this.#caps.banChanged(change);
    const ordered = banOrderChange(change);
    if (ordered !== null) this.#ordersChanged([ordered]);
    const event = automaticBanEvent(change, clock.wallMs());
    const subject = () => `${ban.prefix.text} ${shownBan(ban, floodwall.attackIds).attackId ?? ban.id}`;
    if (event !== null) trail?.recordAutomatic({ event, subject, isRestored: this.#restoredBans.has(ban.id) });
  }

  #incidentChanged(view: IncidentView): void {
    this.#options.feed.publish({ kind: "incident", view });
  }

  #ordersChanged(changes: readonly OrderedChange[]): void {
    const { cluster } = this.#options;
    const here = cluster == null ? changes : changes.filter((change) => isNotifiedHere(change, cluster));
    const tenancy = this.#options.tenancy();
    this.notifier.ordersChanged(here.map((change) => ownedBy(tenancy, change)));
  }

  #ordersEnded(ends: readonly OrderEnd[]): void {
    const { history, clock } = this.#options;
    for (const event of orderEndEvents(ends, clock.wallMs())) void history?.recordAudit(event);
  }

  #publishBan(ban: Ban): RouteState | null {
    const { floodwall, feed } = this.#options;
    const routeState = floodwall.bans.routeState(ban);
    const view = {
      ...{ ban, routeState, dropped: floodwall.dataPlane?.droppedBy(ban.id) ?? null },
      leftOutRules: floodwall.scrub.leftOutRulesOf(ban),
      refusing: floodwall.scrub.refusing(ban),
    };
    const { attackIds } = floodwall;
    attackIds.whenAgreed(() => feed.publish({ kind: "ban", view: { ...view, ban: shownBan(ban, attackIds) } }));
    return routeState;
  }

  #exporterChanged({ kind, change, text, view }: ExporterChange): void {
    const { feed, clock } = this.#options;
    const now = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
    feed.publish({ kind: "exporter", row: exporterToWire({ ...view, received: null }, now, false) });
    const isBegun = change === "begun";
    this.notifier.exporterChanged(isBegun ? "exporter_fault" : "exporter_fault_over", {
      name: view.name ?? view.address,
      ...{ address: view.address, fault: kind, found: isBegun ? text : "" },
      remedy: view.faults.find((fault) => fault.kind === kind)?.remedy ?? "",
    });
  }

  #routesChanged(): void {
    this.#routeChanges.look();
    this.#readSessions();
  }

  /** Losses that an earlier process notified end with their neighbors, so these must be known. */
  #readSessions(): void {
    const { announcer } = this.#options.floodwall;
    if (announcer?.knowsNeighbors !== false) this.notifier.bgpSessions(announcer?.status().neighbors ?? []);
  }

  /** Whether it is of a brain that is not up, of which no other fault can be found. */
  #isUnseen(event: NotifyEvent): boolean {
    const { floodwall, cluster = null } = this.#options;
    if ("exporter" in event) return floodwall.telemetry?.isUnseen(event.exporter) ?? false;
    if (!("cluster" in event) || event.cluster.fault === "split") return false;
    return cluster?.peers.states().some(({ name, isUp }) => name === event.cluster.brain && !isUp) ?? false;
  }

  #reloaded({ notify, updateCheck }: Config): void {
    const { feed, updates } = this.#options;
    this.notifier.reconfigure(notify);
    updates.reconfigure(updateCheck);
    feed.reloaded();
  }
}
