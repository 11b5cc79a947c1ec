/**
 * Notifies people and programs of attacks, bans, BGP sessions, caps, exporters, scrub nodes, faulty files and lost state,
 * with a queue for each target. Its callers never wait: events are only put into the queues.
 */
import type { Tenancy } from "../access/tenancy.ts";
import type { Attack } from "../detection/attack/attack.ts";
import { STOP_STEP_MS } from "../limits.ts";
import { type Ban, type BanChange, banChangeKind } from "../mitigation/ban.ts";
import { prefixUnderAttack } from "../mitigation/ban-subject.ts";
import type { Subject } from "../mitigation/maintenance/window.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import { type NodeFaults, nodeFaultsText } from "../scrub/node-faults.ts";
import type { Clock } from "../system/clock.ts";
import type { Environment } from "../system/environment.ts";
import type { FileFault } from "../system/file-fault.ts";
import type { Timers } from "../system/timers.ts";
import { AttackNotices, type AttackTurn } from "./attack-notices.ts";
import { CapNotices } from "./cap-notices.ts";
import type { ChannelContext } from "./channel.ts";
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
  Damage,
  ExporterEvent,
  FaultyCluster,
  FaultyExporter,
  FileEvent,
  Neighbor,
  NotifyEvent,
  ScrubNodeEvent,
  SessionEvent,
  StateEvent,
  TestEvent,
} from "./event.ts";
import type { NotifyConfig, TargetKind } from "./notify-config.ts";
import { Routing } from "./routing.ts";
import { SessionNotices } from "./session-notices.ts";
import { channelOf } from "./target.ts";
import { TELEGRAM_API } from "./telegram.ts";

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
  | Pick<TestEvent, "kind" | "orderedBy">;

/** By the address that an event is about. */
type Owner = Pick<NotifyEvent, "tenant" | "group">;
const NO_OWNER: Owner = { tenant: null, group: null };

export class Notifier {
  readonly #options: NotifierOptions;
  readonly #context: Omit<ChannelContext, "pageUrl">;
  readonly #routing: Routing;
  readonly #attackNotices = new AttackNotices();
  /** Active attacks that began in a quiet window, and are not notified. */
  readonly #begunQuietly = new Set<string>();
  readonly #capNotices = new CapNotices();
  readonly #sessionNotices: SessionNotices;
  readonly #queues = new Map<string, DeliveryQueue>();
  #config: NotifyConfig;
  #isRunning = false;

  constructor(options: NotifierOptions) {
    const { config, instance, clock, timers, environment, telegramApi, authority } = options;
    this.#options = options;
    this.#config = config;
    this.#routing = new Routing(config);
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
  }

  /** Before start(), no notification is sent. */
  start(): void {
    this.#isRunning = true;
    this.#openQueues(this.#config);
    this.#options.sharing?.start((event, target) => this.#queues.get(target)?.add(event, event.tenant));
  }

  /** Targets that stay keep their waiting events; those of removed targets are discarded. */
  reconfigure(config: NotifyConfig): void {
    this.#config = config;
    this.#routing.reconfigure(config);
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
    if (turn !== "lasts" || kinds.length > 0) return;
    const lasts = this.#eventOf({ kind: "attack_lasts", attack, ban, isNewKind: false }, owner);
    this.#add(lasts, this.#routing.dueFor(lasts));
  }

  /**
   * Called after any change. Changes of the mitigation of an attack may be frequent, and are part of the attack's
   * notifications.
   */
  banChanged(change: BanChange): void {
    const kind = banChangeKind(change);
    if (kind === null || kind === "changed") return;
    const { ban } = change;
    const tenancy = this.#options.tenancy();
    const owner = { tenant: tenancy.tenantOf(ban.target), group: tenancy.groupOf(ban.target) };
    const event = { kind: `ban_${ban.state}`, ban } as const;
    const isQuiet = this.#options.isQuiet?.({ prefix: ban.prefix, group: owner.group ?? "" }) === true;
    if (isQuiet && !(ban.state === "withdrawn" && this.#routing.hasNotified(`ban ${ban.id}`))) return;
    this.#enqueue(event, owner);
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

  /** @param cluster the fault, which ends by itself. */
  clusterChanged(kind: ClusterEvent["kind"], { brain, fault, found, remedy }: FaultyCluster): void {
    const isOver = kind === "cluster_fault_over";
    this.#enqueue({ kind, cluster: { brain, fault, found: isOver ? "" : found, remedy: isOver ? "" : remedy } });
  }

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
    return this.#config.targets.flatMap(({ name, settings: { kind } }) => {
      const state = this.#queues.get(name)?.state;
      return state === undefined ? [] : [{ ...state, kind }];
    });
  }

  /** Delivers what it can within STOP_STEP_MS. */
  async stop(): Promise<void> {
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
    if (sharing !== null) {
      sharing.add(event, targets);
      return;
    }
    for (const target of targets) this.#queues.get(target)?.add(event, event.tenant);
  }

  #openQueues({ targets, pageUrl }: NotifyConfig): void {
    const context = { ...this.#context, pageUrl };
    const kept = new Set(targets.map(({ name }) => name));
    for (const [name, queue] of this.#queues) {
      if (kept.has(name)) continue;
      queue.close();
      this.#queues.delete(name);
    }
    for (const { name, settings } of targets) {
      const channel = channelOf(settings, context);
      const queue = this.#queues.get(name);
      if (queue !== undefined) queue.replaceChannel(channel);
      else
        this.#queues.set(
          name,
          new DeliveryQueue({ ...this.#options, name, channel, times: this.#times(), once: this.#once(name) }),
        );
    }
    this.#options.metrics.setChannels(new Map([...this.#queues].map(([name, { length }]) => [name, length])));
  }

  #once(target: string): SentOnce | null {
    return this.#options.sharing?.once(target) ?? null;
  }

  #times(): DeliveryTimes {
    return this.#options.times ?? DEFAULT_TIMES;
  }
}
