/**
 * Notifies people and programs of attacks, bans, orders, BGP sessions, caps, exporters, nodes, faults and lost state, with a queue for each target. Its callers never wait: events are only put into the queues.
 */
import type { Tenant } from "../access/fair-queue.ts";
import type { Tenancy } from "../access/tenancy.ts";
import type { Attack } from "../detection/attack/attack.ts";
import { STOP_STEP_MS } from "../limits.ts";
import { type Ban, type BanChange, banChangeKind } from "../mitigation/ban.ts";
import { prefixUnderAttack } from "../mitigation/ban-subject.ts";
import type { Subject } from "../mitigation/maintenance/window.ts";
import { foundNone, NO_RULES_FOUND } from "../mitigation/measure.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import { type NodeFaults, nodeFaultsText } from "../scrub/node-faults.ts";
import type { Clock } from "../system/clock.ts";
import type { Environment } from "../system/environment.ts";
import type { FileFault } from "../system/file-fault.ts";
import type { Timers } from "../system/timers.ts";
import type { TenantTarget } from "../targets/tenant-target.ts";
import { AttackNotices, type AttackTurn } from "./attack-notices.ts";
import { CapNotices } from "./cap-notices.ts";
import type { Channel, ChannelContext } from "./channel.ts";
import { CONDITION_ENDS } from "./condition.ts";
import { type ConditionReading, ConditionWatch } from "./condition-watch.ts";
import {
  type DeliveryMetrics,
  DeliveryQueue,
  type DeliveryTimes,
  type QueueState,
  type SentOnce,
} from "./delivery-queue.ts";
import type {
  AttackEvent,
  BanEvent,
  CapEvent,
  CapReached,
  ClusterEvent,
  ConditionEvent,
  Damage,
  ExporterEvent,
  FaultyExporter,
  FileEvent,
  Neighbor,
  NotifyEvent,
  OrderEvent,
  ScrubNodeEvent,
  SessionEvent,
  StateEvent,
  TestEvent,
} from "./event.ts";
import type { KeptNotifications } from "./kept-notification.ts";
import type { NotifyConfig, TargetKind } from "./notify-config.ts";
import { type OrderChange, OrderNotices } from "./order-notices.ts";
import type { Reach } from "./reach.ts";
import { KEEP_ALERTS, Routing } from "./routing.ts";
import { SessionNotices } from "./session-notices.ts";
import { channelOf } from "./target.ts";
import { TELEGRAM_API } from "./telegram.ts";
import { readSecretOf, settingsOf } from "./tenant-settings.ts";

export interface NotifierOptions {
  readonly config: NotifyConfig;
  /** Of the configuration in force. */
  readonly tenancy: () => Pick<Tenancy, "ownerOf" | "tenantOf" | "groupOf">;
  /** Whether the service is in dry run. */
  readonly dryRun: () => boolean;
  /** The machine's name, as shown in messages. */
  readonly instance: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly environment: Environment;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly metrics: DeliveryMetrics;
  readonly newId: () => string;
  readonly random: () => number;
  /** Whether a maintenance window is open in which nothing is notified of such a target. Absent: none ever is. */
  readonly isQuiet?: (subject: Subject) => boolean;
  /** How long more than the threshold has been getting through what this machine drops, ms. Absent: it is not known. */
  readonly overThresholdMs?: (attack: Attack) => number;
  /** That tenants set, in force, and which addresses these reach. Absent: there are none. */
  readonly own?: { readonly inForce: () => readonly TenantTarget[]; readonly reach: Reach };
  /** Absent: what waits is in memory alone. */
  readonly kept?: KeptNotifications;
  readonly times?: DeliveryTimes;
  /** null or absent: there is one brain. */
  readonly sharing?: EventSharing | null;
  /** For tests: receivers on this machine. */
  readonly telegramApi?: string;
  readonly authority?: string;
}

/** Events that several brains have, each of which one of them sends. */
export interface EventSharing {
  /**
   * Called once, before any other method. @param send puts an event into the queue of a target; called for events of this
   * brain, which may have another id by then.
   */
  start(send: (event: NotifyEvent, target: string) => void): void;
  add(event: NotifyEvent, targets: readonly string[]): void;
  /** Of one target. */
  once(target: string): SentOnce;
  /** No event is added any more: what still waits goes to the queues. */
  flush(): void;
}

export interface TargetState extends QueueState {
  readonly kind: TargetKind;
  /** That set it; null: it is of the configuration. */
  readonly tenant: Tenant;
}

export const DEFAULT_TIMES: DeliveryTimes = {
  gatherMs: 500,
  betweenMs: 10_000,
  retryMinMs: 1_000,
  retryMaxMs: 60_000,
  retryAfterMaxMs: 600_000,
  attemptsMax: 8,
  ageMaxMs: 900_000,
};

/** The label of the targets of tenants in metrics; no name of the configuration has a space. */
const OF_TENANTS = "of tenants";

/** Problems of a tenant that may begin at once as alerts of their own. */
export const ALERT_BURST = 100;

/** An event without the common fields. */
type NewEvent =
  | Pick<AttackEvent, "kind" | "attack" | "ban" | "isNewKind">
  | Pick<BanEvent, "kind" | "ban">
  | Pick<SessionEvent, "kind" | "neighbor">
  | Pick<StateEvent, "kind" | "damage">
  | Pick<CapEvent, "kind" | "cap">
  | Pick<ExporterEvent, "kind" | "exporter">
  | Pick<ScrubNodeEvent, "kind" | "scrubNode">
  | Pick<FileEvent, "kind" | "file">
  | Pick<ClusterEvent, "kind" | "cluster">
  | Pick<ConditionEvent, "kind" | "condition">
  | Pick<OrderEvent, "kind" | "orders">
  | Pick<TestEvent, "kind" | "orderedBy">;

/** By the address that an event is about. */
type Owner = Pick<NotifyEvent, "tenant" | "group">;
const NO_OWNER: Owner = { tenant: null, group: null };

export class Notifier {
  readonly #options: NotifierOptions;
  readonly #context: Omit<ChannelContext, "pageUrl" | "template" | "reach">;
  readonly #routing: Routing;
  readonly #attackNotices = new AttackNotices();
  /** Active attacks that began in a quiet window, and are not notified. */
  readonly #begunQuietly = new Set<string>();
  readonly #capNotices = new CapNotices();
  readonly #conditions = new ConditionWatch();
  readonly #orderNotices: OrderNotices;
  readonly #sessionNotices: SessionNotices;
  readonly #queues = new Map<string, DeliveryQueue>();
  #config: NotifyConfig;
  #isRunning = false;

  constructor(options: NotifierOptions) {
    const { config, instance, clock, timers, environment, telegramApi, authority } = options;
    this.#options = options;
    this.#config = config;
    this.#routing = new Routing(config);
    this.#routing.reconfigure(config, options.own?.inForce());
    this.#context = {
      environment,
      wallMs: () => clock.wallMs(),
      instance,
      telegramApi: telegramApi ?? TELEGRAM_API,
      authority: authority ?? null,
    };
    this.#sessionNotices = new SessionNotices({
      timers,
      notify: (kind, neighbor) => this.#enqueue({ kind, neighbor }),
    });
    this.#orderNotices = new OrderNotices({
      timers,
      notify: (turn, orders, owner) => this.#enqueue({ kind: `order_${turn}`, orders }, owner),
    });
  }

  /** Before start(), no notification is sent. */
  start(): void {
    this.#isRunning = true;
    this.#openQueues(this.#config);
    this.#options.sharing?.start((event, target) => this.#queues.get(target)?.add(event, event.tenant));
  }

  /** Tenants changed theirs. */
  ownChanged(): void {
    this.reconfigure(this.#config);
  }

  /** Targets that stay keep their waiting events; those of removed targets are discarded. */
  reconfigure(config: NotifyConfig): void {
    this.#config = config;
    this.#routing.reconfigure(config, this.#options.own?.inForce());
    if (this.#isRunning) this.#openQueues(config);
  }

  /** Also called for each tick that an attack lasts. `ban`: the attack's current or last ban. */
  attackChanged(turn: AttackTurn, attack: Attack, ban: Ban | null): void {
    if (!this.#isRunning) return;
    const isQuiet = this.#options.isQuiet?.({ prefix: prefixUnderAttack(attack), group: attack.group }) === true;
    const isBegin = turn === "started" || this.#begunQuietly.has(attack.id);
    if (isBegin && (isQuiet || turn === "ended")) {
      if (turn === "ended") this.#begunQuietly.delete(attack.id);
      else this.#begunQuietly.add(attack.id);
      return;
    }
    // An attack that outlasts a quiet window is notified when the window closes.
    const kinds = this.#attackNotices.take(
      this.#begunQuietly.delete(attack.id) ? "started" : turn,
      attack,
      this.#options.clock.monotonicMs(),
    );
    // Begins that waited for the kind, and ends, are of what was notified before the window.
    if (isQuiet && turn !== "ended" && !kinds.includes("attack_started")) return;
    const owner = { tenant: this.#options.tenancy().ownerOf(attack), group: attack.group };
    for (const kind of kinds) this.#enqueue({ kind, attack, ban, isNewKind: turn === "classified" }, owner);
    if (turn !== "lasts") return;
    const overMs = ban?.state === "active" && !ban.dryRun ? (this.#options.overThresholdMs?.(attack) ?? 0) : 0;
    if (this.#attackNotices.isNotHeld(attack, overMs, this.#options.clock.monotonicMs()))
      this.#enqueue({ kind: "attack_not_held", attack, ban, isNewKind: false }, owner);
    if (kinds.length > 0) return;
    const lasts = this.#eventOf({ kind: "attack_lasts", attack, ban, isNewKind: false }, owner);
    this.#add(lasts, this.#routing.dueFor(lasts));
  }

  /**
   * Called after any change. Changes of the mitigation of an attack may be frequent, and are part of the attack's
   * notifications.
   */
  banChanged(change: BanChange): void {
    const kind = banChangeKind(change);
    const { ban } = change;
    const hasLostRules = isWithoutRules(ban) && (change.previous === null || !isWithoutRules(change.previous));
    if ((kind === null || kind === "changed") && !hasLostRules) return;
    const tenancy = this.#options.tenancy();
    const owner = { tenant: tenancy.tenantOf(ban.target), group: tenancy.groupOf(ban.target) };
    const event = { kind: `ban_${ban.state}`, ban } as const;
    const isQuiet = this.#options.isQuiet?.({ prefix: ban.prefix, group: owner.group ?? "" }) === true;
    if (isQuiet && !(ban.state === "withdrawn" && this.#routing.hasNotified(`ban ${ban.id}`))) return;
    if (kind !== null && kind !== "changed") this.#enqueue(event, owner);
    if (hasLostRules) this.#enqueue({ kind: "rules_not_found", ban }, owner);
  }

  /** Of standing orders and of bans by hand. */
  ordersChanged(changes: readonly OrderChange[]): void {
    if (this.#isRunning && this.#queues.size > 0) this.#orderNotices.take(changes);
  }

  /** The state of all parts that are watched. Call this once a second. */
  conditionsRead(readings: Iterable<ConditionReading>): void {
    if (!this.#isRunning) return;
    for (const { kind, name, found, isOver } of this.#conditions.take(readings, this.#options.clock.monotonicMs()))
      this.#enqueue({ kind: isOver ? CONDITION_ENDS[kind] : kind, condition: { name, found } });
  }

  /** All configured neighbors, after any change of a session. */
  bgpSessions(neighbors: readonly Neighbor[]): void {
    if (this.#isRunning) this.#sessionNotices.take(neighbors);
  }

  /** All caps, with what was refused and replaced since the start of the service. Call this once a second. */
  capsRead(readings: readonly CapReached[]): void {
    if (!this.#isRunning) return;
    const reached = this.#capNotices.take(readings, this.#options.clock.monotonicMs());
    for (const cap of reached) this.#enqueue({ kind: "cap_reached", cap });
  }

  exporterChanged(kind: ExporterEvent["kind"], exporter: FaultyExporter): void {
    this.#enqueue({ kind, exporter });
  }

  /** @param faults null: they are over. */
  scrubNodeChanged(name: string, faults: NodeFaults | null): void {
    const found = faults === null ? "" : nodeFaultsText(faults);
    this.#enqueue({ kind: faults === null ? "scrub_node_fault_over" : "scrub_node_fault", scrubNode: { name, found } });
  }

  /** @param fault of a file. */
  fileChanged(kind: FileEvent["kind"], { key, error, effect }: FileFault): void {
    const isOver = kind === "file_fault_over";
    this.#enqueue({ kind, file: { key, error: isOver ? "" : error, effect: isOver ? "" : effect } });
  }

  clusterChanged = (event: Pick<ClusterEvent, "kind" | "cluster">): void => this.#enqueue(event);

  /** Call this after start(). */
  stateDamaged(damage: Damage): void {
    this.#enqueue({ kind: "state_damaged", damage });
  }

  /** To one target, past the routes. Returns whether there is such a target. */
  test(target: string, orderedBy: string): boolean {
    if (!this.#queues.has(target)) return false;
    this.#add(this.#eventOf({ kind: "test", orderedBy }, NO_OWNER), [target]);
    return true;
  }

  /** In the order of the configuration. */
  list(): readonly TargetState[] {
    const configured = this.#config.targets.map(({ name, settings: { kind } }) => ({ name, kind, tenant: null }));
    const own = (this.#options.own?.inForce() ?? []).map(({ id, kind, tenant }) => ({ name: id, kind, tenant }));
    return [...configured, ...own].flatMap(({ name, kind, tenant }) => {
      const state = this.#queues.get(name)?.state;
      return state === undefined ? [] : [{ ...state, kind, tenant }];
    });
  }

  /** Delivers what it can within STOP_STEP_MS. */
  async stop(): Promise<void> {
    this.#orderNotices.stop();
    this.#isRunning = false;
    this.#sessionNotices.stop();
    this.#options.sharing?.flush();
    await Promise.all([...this.#queues.values()].map((queue) => queue.stop(STOP_STEP_MS)));
    this.#queues.clear();
  }

  #enqueue(event: NewEvent, owner = NO_OWNER): void {
    if (!this.#isRunning || this.#queues.size === 0) return;
    const full = this.#eventOf(event, owner);
    this.#add(full, this.#routing.targetsOf(full));
  }

  #eventOf(event: NewEvent, owner: Owner): NotifyEvent {
    const { newId, clock, dryRun } = this.#options;
    return { id: newId(), atMs: clock.wallMs(), dryRun: dryRun(), ...owner, ...event };
  }

  #add(event: NotifyEvent, targets: readonly string[]): void {
    const { sharing = null } = this.#options;
    // All brains have the targets of the configuration, and this one those that tenants set here.
    const isOfAll = (target: string) => sharing !== null && this.#config.targets.some(({ name }) => name === target);
    if (targets.some(isOfAll)) sharing?.add(event, targets.filter(isOfAll));
    for (const target of targets) if (!isOfAll(target)) this.#queues.get(target)?.add(event, event.tenant);
  }

  #openQueues({ targets, pageUrl }: NotifyConfig): void {
    const own = this.#options.own?.inForce() ?? [];
    const kept = new Set([...targets.map(({ name }) => name), ...own.map(({ id }) => id)]);
    for (const [name, queue] of this.#queues) {
      if (kept.has(name)) continue;
      queue.close();
      this.#queues.delete(name);
    }
    for (const { name, settings, template } of targets) {
      this.#openQueue(name, settings.kind, channelOf(settings, { ...this.#context, pageUrl, template, reach: null }));
    }
    for (const target of own) this.#openOwn(target, pageUrl);
    this.#options.kept?.forgetOthers();
    const lengths = targets.map(({ name }) => [name, this.#queues.get(name)?.length ?? 0] as const);
    this.#options.metrics.setChannels(new Map([...lengths, ...(own.length > 0 ? [[OF_TENANTS, 0] as const] : [])]));
  }

  #openOwn(target: TenantTarget, pageUrl: string | null): void {
    const { own, metrics } = this.#options;
    const environment = readSecretOf(target);
    const context = { ...this.#context, environment, pageUrl, template: null, reach: own?.reach ?? null };
    this.#openQueue(target.id, target.kind, channelOf(settingsOf(target), context), metricsOfTenants(metrics));
  }

  /** A queue that is open goes on with the channel. */
  #openQueue(name: string, kind: TargetKind, channel: Channel, metrics = this.#options.metrics): void {
    const queue = this.#queues.get(name);
    if (queue !== undefined) {
      queue.replaceChannel(channel);
      return;
    }
    const { times = DEFAULT_TIMES, kept = null, sharing = null } = this.#options;
    // A tenant set its target at this brain alone.
    const once = metrics === this.#options.metrics ? (sharing?.once(name) ?? null) : null;
    const burst = KEEP_ALERTS.has(kind) ? ALERT_BURST : null;
    const keep = kept?.queueOf(name) ?? null;
    this.#queues.set(name, new DeliveryQueue({ ...this.#options, name, channel, metrics, times, burst, keep, once }));
  }
}

/** Tenants choose the names of theirs: they are counted together. */
function metricsOfTenants(metrics: DeliveryMetrics): DeliveryMetrics {
  return {
    sent: (_, events) => metrics.sent(OF_TENANTS, events),
    failed: () => metrics.failed(OF_TENANTS),
    dropped: (_, events) => metrics.dropped(OF_TENANTS, events),
    setQueueLength: () => {},
    setChannels: () => {},
  };
}

/** An active ban for which rules were searched and none was found, whether something is done in their place or not. */
function isWithoutRules({ state, measure, fallback }: Ban): boolean {
  const hasNone = measure.kind === "flowspec" && foundNone(measure);
  return state === "active" && (hasNone || fallback === NO_RULES_FOUND);
}
