/**
 * Notifies people and programs of attacks, bans, BGP sessions, caps, exporters, scrub nodes, faulty files and lost state, with a queue for each channel. Its
 * callers never wait: events are only put into the queues.
 */
import type { Tenant } from "../access/fair-queue.ts";
import type { Tenancy } from "../access/tenancy.ts";
import type { Attack } from "../detection/attack/attack.ts";
import { STOP_STEP_MS } from "../limits.ts";
import { type Ban, type BanChange, banChangeKind } from "../mitigation/ban.ts";
import { prefixUnderAttack } from "../mitigation/ban-subject.ts";
import type { Subject } from "../mitigation/maintenance/window.ts";
import type { IpAddress } from "../net/address.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import { type NodeFaults, nodeFaultsText } from "../scrub/node-faults.ts";
import type { Clock } from "../system/clock.ts";
import type { Environment } from "../system/environment.ts";
import type { FileFault } from "../system/file-fault.ts";
import type { Timers } from "../system/timers.ts";
import { AttackNotices, type AttackTurn } from "./attack-notices.ts";
import { CapNotices } from "./cap-notices.ts";
import { CHANNELS, type Channel, type ChannelContext, type ChannelName } from "./channel.ts";
import { type DeliveryMetrics, DeliveryQueue, type DeliveryTimes } from "./delivery-queue.ts";
import { emailChannel } from "./email.ts";
import type {
  AttackEvent,
  BanEvent,
  CapEvent,
  CapReached,
  Damage,
  ExporterEvent,
  FaultyExporter,
  FileEvent,
  Neighbor,
  NotifyEvent,
  ScrubNodeEvent,
  SessionEvent,
  StateEvent,
} from "./event.ts";
import { execChannel } from "./exec.ts";
import type { NotifyConfig } from "./notify-config.ts";
import { SessionNotices } from "./session-notices.ts";
import { slackChannel } from "./slack.ts";
import { TELEGRAM_API, telegramChannel } from "./telegram.ts";
import { webhookChannel } from "./webhook.ts";

export interface NotifierOptions {
  readonly config: NotifyConfig;
  /** Of the configuration in force. */
  readonly tenancy: () => Pick<Tenancy, "ownerOf" | "tenantOf">;
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
  /** The name of an address's hostgroup. */
  readonly groupOf?: (target: IpAddress) => string;
  readonly times?: DeliveryTimes;
  /** For tests: receivers on this machine. */
  readonly telegramApi?: string;
  readonly authority?: string;
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
  | Pick<FileEvent, "kind" | "file">;

export class Notifier {
  readonly #options: NotifierOptions;
  readonly #context: ChannelContext;
  readonly #attackNotices = new AttackNotices();
  readonly #capNotices = new CapNotices();
  readonly #sessionNotices: SessionNotices;
  readonly #queues = new Map<ChannelName, DeliveryQueue>();
  #config: NotifyConfig;
  #isRunning = false;

  constructor(options: NotifierOptions) {
    const { config, instance, clock, timers, environment, telegramApi, authority } = options;
    this.#options = options;
    this.#config = config;
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
  }

  /** Unchanged channels keep their waiting events; those of removed channels are discarded. */
  reconfigure(config: NotifyConfig): void {
    this.#config = config;
    if (this.#isRunning) this.#openQueues(config);
  }

  /** Also called for each tick that an attack lasts. `ban`: the attack's current or last ban. */
  attackChanged(turn: AttackTurn, attack: Attack, ban: Ban | null): void {
    const tenant = this.#options.tenancy().ownerOf(attack);
    if (!this.#isRunning) return;
    const kinds = this.#attackNotices.take(turn, attack, this.#options.clock.monotonicMs());
    if (this.#options.isQuiet?.({ prefix: prefixUnderAttack(attack), group: attack.group }) === true) return;
    for (const kind of kinds) this.#enqueue({ kind, attack, ban, isNewKind: turn === "classified" }, tenant);
  }

  /**
   * Called after any change. Changes of the mitigation of an attack may be frequent, and are part of the attack's
   * notifications.
   */
  banChanged(change: BanChange): void {
    const kind = banChangeKind(change);
    if (kind === null || kind === "changed") return;
    const { ban } = change;
    if (this.#options.isQuiet?.({ prefix: ban.prefix, group: this.#options.groupOf?.(ban.target) ?? "" }) === true)
      return;
    this.#enqueue({ kind: `ban_${ban.state}`, ban }, this.#options.tenancy().tenantOf(ban.target));
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

  /** Call this after start(). */
  stateDamaged(damage: Damage): void {
    this.#enqueue({ kind: "state_damaged", damage });
  }

  /** Delivers what it can within STOP_STEP_MS. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#sessionNotices.stop();
    await Promise.all([...this.#queues.values()].map((queue) => queue.stop(STOP_STEP_MS)));
    this.#queues.clear();
  }

  #enqueue(event: NewEvent, tenant: Tenant = null): void {
    if (!this.#isRunning || this.#queues.size === 0) return;
    const { newId, clock, dryRun } = this.#options;
    const full: NotifyEvent = { id: newId(), atMs: clock.wallMs(), dryRun: dryRun(), ...event };
    for (const queue of this.#queues.values()) queue.add(full, tenant);
  }

  #openQueues(config: NotifyConfig): void {
    for (const name of CHANNELS) {
      const channel = this.#makeChannel(name, config);
      const queue = this.#queues.get(name);
      if (channel === null) {
        queue?.close();
        this.#queues.delete(name);
      } else if (queue === undefined) {
        this.#queues.set(name, new DeliveryQueue({ ...this.#options, name, channel, times: this.#times() }));
      } else {
        queue.replaceChannel(channel);
      }
    }
    this.#options.metrics.setChannels(new Map([...this.#queues].map(([name, { length }]) => [name, length])));
  }

  #times(): DeliveryTimes {
    return this.#options.times ?? DEFAULT_TIMES;
  }

  #makeChannel(name: ChannelName, { webhook, slack, telegram, email, exec }: NotifyConfig): Channel | null {
    switch (name) {
      case "webhook":
        return webhook && webhookChannel(webhook, this.#context);
      case "slack":
        return slack && slackChannel(slack, this.#context);
      case "telegram":
        return telegram && telegramChannel(telegram, this.#context);
      case "email":
        return email && emailChannel(email, this.#context);
      case "exec":
        return exec && execChannel(exec, this.#context);
      default:
        return name satisfies never;
    }
  }
}
