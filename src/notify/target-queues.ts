/**
 * The queues of all targets, those of the configuration and those that tenants set. A tenant's target gets of an event
 * what the API shows its tenant. Does not decide which target gets which event.
 */

import type { Tenant } from "../access/fair-queue.ts";
import { STOP_STEP_MS } from "../limits.ts";
import type { Clock } from "../system/clock.ts";
import type { Environment } from "../system/environment.ts";
import type { TargetKind } from "../targets/target-words.ts";
import type { TenantTarget } from "../targets/tenant-target.ts";
import type { Channel, ChannelContext } from "./channel.ts";
import {
  type DeliveryMetrics,
  DeliveryQueue,
  type DeliveryQueueOptions,
  type DeliveryTimes,
  type QueueState,
  type SentOnce,
} from "./delivery-queue.ts";
import type { NotifyEvent } from "./event.ts";
import type { KeptNotifications } from "./kept-notification.ts";
import type { NotifyConfig } from "./notify-config.ts";
import { isForAlerts } from "./problem.ts";
import type { Reach } from "./reach.ts";
import { KEEP_ALERTS } from "./routing.ts";
import { channelOf } from "./target.ts";
import { TELEGRAM_API } from "./telegram.ts";
import { eventOfTenant } from "./tenant-event.ts";
import { readSecretOf, settingsOf } from "./tenant-settings.ts";

export interface TargetQueuesOptions
  extends Pick<DeliveryQueueOptions, "timers" | "log" | "limiter" | "metrics" | "newId" | "random"> {
  /** The machine's name, as shown in messages. */
  readonly instance: string;
  readonly clock: Clock;
  readonly environment: Environment;
  /** That tenants set, in force, and which addresses these reach. Absent: there are none. */
  readonly own?: { readonly inForce: () => readonly TenantTarget[]; readonly reachOf: (tenant: string) => Reach };
  /** Absent: what waits is in memory alone. */
  readonly kept?: KeptNotifications;
  readonly times?: DeliveryTimes;
  /** How long messages for people wait for further events, ms; null: as `times` says. Absent: null for all. */
  readonly groupMsOf?: (event: NotifyEvent, target: string) => number | null;
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
   * brain, which may have another id by then. @param keepsAlerts whether the target keeps an alert open until its end
   */
  start(send: (event: NotifyEvent, target: string) => void, keepsAlerts: (target: string) => boolean): void;
  add(event: NotifyEvent, targets: readonly string[]): void;
  /** The names of all brains, the same at each, for an event that all of them have. null: this brain alone has it. */
  brainsOf(event: NotifyEvent): string | null;
  /** For one target. */
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
const ALERT_BURST = 100;

interface Target {
  readonly kind: TargetKind;
  readonly queue: DeliveryQueue;
  /** As its tenant set it; null: it is of the configuration. */
  readonly own: TenantTarget | null;
}

export class TargetQueues {
  readonly #options: TargetQueuesOptions;
  readonly #context: Omit<ChannelContext, "pageUrl" | "template" | "reach">;
  readonly #targets = new Map<string, Target>();
  #config: Pick<NotifyConfig, "targets" | "pageUrl"> = { targets: [], pageUrl: null };

  constructor(options: TargetQueuesOptions) {
    const { instance, clock, environment, telegramApi = TELEGRAM_API, authority = null, sharing = null } = options;
    this.#options = options;
    const sourceOf = (event: NotifyEvent) => sharing?.brainsOf(event) ?? instance;
    this.#context = { environment, wallMs: () => clock.wallMs(), instance, sourceOf, telegramApi, authority };
  }

  get size(): number {
    return this.#targets.size;
  }

  /** Those of targets that stay go on, with what waits in them; the others are closed. */
  open(config: NotifyConfig): void {
    this.#config = config;
    const own = new Map((this.#options.own?.inForce() ?? []).map((target) => [target.id, target]));
    const configured = new Set(config.targets.map(({ name }) => name));
    for (const name of [...this.#targets.keys()]) if (!configured.has(name) && !own.has(name)) this.#close(name);
    for (const { name, settings, template } of config.targets) {
      const context = { ...this.#context, pageUrl: config.pageUrl, template, reach: null };
      this.#open(name, { kind: settings.kind, own: null, channel: channelOf(settings, context) });
    }
    for (const target of own.values()) this.#openOwn(target);
    this.#options.kept?.forgetOthers();
    this.#reportChannels();
  }

  /** @param target null: it is not in force any more. */
  ownChanged(id: string, target: TenantTarget | null): void {
    if (target === null) this.#close(id);
    else this.#openOwn(target);
    this.#reportChannels();
  }

  add(event: NotifyEvent, names: readonly string[]): void {
    const { sharing = null } = this.#options;
    const targets = isForAlerts(event) ? names : names.filter((name) => !this.keepsAlerts(name));
    // All brains have the targets of the configuration, and this one those that tenants set here.
    const shared = sharing === null ? [] : targets.filter((name) => this.#targets.get(name)?.own === null);
    if (shared.length > 0) sharing?.add(event, shared);
    for (const name of targets) if (!shared.includes(name)) this.send(event, name);
  }

  keepsAlerts = (name: string): boolean => {
    const kind = this.#targets.get(name)?.kind;
    return kind !== undefined && KEEP_ALERTS.has(kind);
  };

  /** Into the queue of one target, if there is one. */
  send(event: NotifyEvent, name: string): void {
    const { queue, own = null } = this.#targets.get(name) ?? {};
    // Whatever the routing says: a tenant's target gets what is of the tenant.
    if (own !== null && own.tenant !== event.tenant) return;
    const groupMs = own === null ? (this.#options.groupMsOf?.(event, name) ?? null) : null;
    queue?.add(own === null ? event : eventOfTenant(event, own.tenant), event.tenant, groupMs);
  }

  /** The tenant of the target; undefined: there is none of this name. */
  tenantOf(name: string): Tenant | undefined {
    const target = this.#targets.get(name);
    return target === undefined ? undefined : (target.own?.tenant ?? null);
  }

  /** In the order of the configuration, and those of tenants after them. */
  list(): readonly TargetState[] {
    const own = [...this.#targets].flatMap(([name, target]) => (target.own === null ? [] : [name]));
    return [...this.#config.targets.map(({ name }) => name), ...own].flatMap((name) => {
      const target = this.#targets.get(name);
      if (target === undefined) return [];
      return [{ ...target.queue.state, kind: target.kind, tenant: target.own?.tenant ?? null }];
    });
  }

  /** Delivers what it can within STOP_STEP_MS. */
  async stop(): Promise<void> {
    await Promise.all([...this.#targets.values()].map(({ queue }) => queue.stop(STOP_STEP_MS)));
    this.#targets.clear();
  }

  #openOwn(target: TenantTarget): void {
    const { pageUrl } = this.#config;
    const reach = this.#options.own?.reachOf(target.tenant) ?? null;
    const context = { ...this.#context, environment: readSecretOf(target), pageUrl, template: null, reach };
    this.#open(target.id, { kind: target.kind, own: target, channel: channelOf(settingsOf(target), context) });
  }

  /** A queue that is open goes on with the channel, unless it would reach another receiver. */
  #open(name: string, { kind, own, channel }: Omit<Target, "queue"> & { readonly channel: Channel }): void {
    const present = this.#targets.get(name);
    if (present !== undefined && !isSameReceiver(present, { kind, own })) this.#close(name);
    else if (present !== undefined) {
      present.queue.replaceChannel(channel);
      this.#targets.set(name, { kind, own, queue: present.queue });
      return;
    }
    const { times = DEFAULT_TIMES, kept = null, sharing = null } = this.#options;
    const metrics = own === null ? this.#options.metrics : metricsOfTenants(this.#options.metrics);
    // A tenant set its target at this brain alone.
    const once = own === null ? (sharing?.once(name) ?? null) : null;
    const burst = KEEP_ALERTS.has(kind) ? ALERT_BURST : null;
    const keep = kept?.queueOf(name) ?? null;
    const tenant = own?.tenant ?? null;
    const queue = new DeliveryQueue({ ...this.#options, name, channel, metrics, times, burst, keep, once, tenant });
    this.#targets.set(name, { kind, own, queue });
  }

  #close(name: string): void {
    this.#targets.get(name)?.queue.close();
    this.#targets.delete(name);
  }

  #reportChannels(): void {
    const { targets } = this.#config;
    const lengths = targets.map(({ name }) => [name, this.#targets.get(name)?.queue.length ?? 0] as const);
    const own = this.#targets.size > targets.length ? [[OF_TENANTS, 0] as const] : [];
    this.#options.metrics.setChannels(new Map([...lengths, ...own]));
  }
}

/** Notifications that wait for one receiver are not for another, and each kind has its own way with many events. */
function isSameReceiver(one: Omit<Target, "queue">, other: Omit<Target, "queue">): boolean {
  const hostOf = (url = "") => URL.parse(url)?.host;
  return one.kind === other.kind && hostOf(one.own?.url) === hostOf(other.own?.url);
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
