/**
 * The events that wait for one channel: a bounded queue in which tenants take turns, so that the events of one drown no
 * other's, with one delivery at a time, repeated after a growing pause if
 * it fails, and given up after too many attempts or when it is too old. A slow channel does not delay the others.
 */
import { FairQueue, type Tenant } from "../access/fair-queue.ts";
import { NOTIFY_QUEUE_MAX } from "../limits.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import { Backoff, type RetryTimes } from "../system/backoff.ts";
import type { Clock } from "../system/clock.ts";
import { within } from "../system/deadline.ts";
import type { Cancel, Timers } from "../system/timers.ts";
import type { Channel } from "./channel.ts";
import { DeliveryFault, deliveryFault } from "./delivery-fault.ts";
import type { JoinedEvent, NotifyEvent } from "./event.ts";
import type { QueueKeep } from "./kept-notification.ts";
import { joinedWith, StormGate } from "./storm-gate.ts";

/** Counts of the queues: events, except for `failed`, which counts attempts. */
export interface DeliveryMetrics {
  sent(channel: string, events: number): void;
  failed(channel: string): void;
  dropped(channel: string, events: number): void;
  setQueueLength(channel: string, events: number): void;
  /** Sets the configured targets, with the lengths of their queues. */
  setChannels(lengths: ReadonlyMap<string, number>): void;
}

export interface DeliveryTimes extends RetryTimes {
  /** Events for people are collected for this time, so that an attack and its ban are one message. */
  readonly gatherMs: number;
  /** The shortest time between two messages for people: hundreds of attacks result in a few messages. */
  readonly betweenMs: number;
  /** The longest pause that a receiver may ask for. */
  readonly retryAfterMaxMs: number;
  readonly attemptsMax: number;
  readonly ageMaxMs: number;
}

/** Which events this brain sends, where several brains have them. */
export interface SentOnce {
  /** Asked before each attempt: another brain may have sent it, or may be about to. */
  maySend(event: NotifyEvent): boolean;
  sent(events: readonly NotifyEvent[]): void;
  gaveUp(events: readonly NotifyEvent[]): void;
}

export interface DeliveryQueueOptions {
  /** Name of the target. */
  readonly name: string;
  readonly channel: Channel;
  readonly clock: Pick<Clock, "monotonicMs" | "wallMs">;
  readonly timers: Timers;
  readonly times: DeliveryTimes;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly metrics: DeliveryMetrics;
  /** 0 to 1, for random pauses, so that not all queues call a recovered receiver at once. */
  readonly random: () => number;
  readonly newId: () => string;
  /** Events of a tenant that may begin problems one by one before the rest is joined; null: each is sent. */
  readonly burst: number | null;
  /** null: what waits is in memory alone. */
  readonly keep: QueueKeep | null;
  /** The tenant whose share takes an event of several: the one that set the target; absent: none. */
  readonly tenant?: Tenant;
  /** null or absent: this brain sends all of them. */
  readonly once?: SentOnce | null;
}

/** Times by the wall clock, ms. */
export interface QueueState {
  readonly name: string;
  readonly waiting: number;
  /** The last attempt that failed; null: none did, or one succeeded since. */
  readonly lastFault: { readonly atMs: number; readonly cause: string } | null;
  /** null: nothing was delivered since the start. */
  readonly deliveredAt: number | null;
}

/** From the first event that is joined to the event that counts them, ms. */
export const JOINED_AFTER_MS = 30_000;

interface Waiting {
  readonly event: NotifyEvent;
  readonly sinceMs: number;
  /** When the message with it is due, monotonic, ms. */
  readonly dueMs: number;
}

export class DeliveryQueue {
  readonly #options: DeliveryQueueOptions;
  #channel: Channel;
  readonly #waiting = new FairQueue<Waiting>();
  /** The events in delivery or waiting for the next attempt; the same events at each attempt. */
  #batch: readonly Waiting[] = [];
  #attempts = 0;
  /** Kept across batches: more events do not cause more calls to an unreachable receiver. */
  readonly #backoff: Backoff;
  /** When the last delivery succeeded. */
  #deliveredMs = Number.NEGATIVE_INFINITY;
  #cancelPause: Cancel | null = null;
  /** When the pause ends, if it is to gather events and not after a failure; monotonic, ms. */
  #gathersUntilMs: number | null = null;
  #delivery: AbortController | null = null;
  #isStopping = false;
  /** null: there was none. */
  #lastFault: QueueState["lastFault"] = null;
  readonly #storm: StormGate;
  #joined: JoinedEvent | null = null;
  /** Those that the joined event counts, by it: another brain sends them if this one does not send it. */
  readonly #countedIn = new Map<string, NotifyEvent[]>();
  #cancelJoined: Cancel | null = null;
  #deliveredWallMs: number | null = null;
  readonly #emptied = Promise.withResolvers<void>();

  constructor(options: DeliveryQueueOptions) {
    this.#options = options;
    this.#channel = options.channel;
    this.#backoff = new Backoff(options.times, () => 0.5 + options.random() / 2);
    this.#storm = new StormGate(options.burst);
    this.#takeKept();
  }

  get length(): number {
    return this.#waiting.size + this.#batch.length + (this.#joined === null ? 0 : 1);
  }

  get state(): QueueState {
    const { name } = this.#options;
    return { name, waiting: this.length, lastFault: this.#lastFault, deliveredAt: this.#deliveredWallMs };
  }

  /**
   * One test waits at a time: another would say nothing more. In a full queue, and of too many that come at once for a
   * service that keeps alerts, the newest events of the tenant with the most are joined into one that counts them.
   * @param tenant that it is about. @param groupMs how long a message for people waits for further events; null: as `times` says.
   */
  add(event: NotifyEvent, tenant: Tenant = null, groupMs: number | null = null): void {
    if (this.#isStopping || (event.kind === "test" && this.#hasTest())) return;
    const { clock, keep } = this.#options;
    if (!this.#storm.admits(event, tenant, clock.monotonicMs())) this.#join(event);
    else {
      keep?.added(event, tenant, clock.wallMs());
      this.#push({ event, sinceMs: clock.monotonicMs(), dueMs: this.#dueMs(groupMs) }, tenant);
    }
    this.#reportLength();
  }

  #hasTest(): boolean {
    return [...this.#batch, ...this.#waiting.items()].some(({ event }) => event.kind === "test");
  }

  /** Takes the events that an earlier process had not delivered: their age goes on. */
  #takeKept(): void {
    const { clock, keep } = this.#options;
    for (const { event, tenant, sinceMs } of keep?.wasKept ?? [])
      this.#push(
        { event, sinceMs: clock.monotonicMs() - Math.max(0, clock.wallMs() - sinceMs), dueMs: this.#dueMs(null) },
        tenant,
      );
  }

  #push(waiting: Waiting, tenant: Tenant): void {
    this.#waiting.push(tenant, waiting);
    if (this.#waiting.size + this.#batch.length > NOTIFY_QUEUE_MAX) {
      const left = this.#waiting.dropOfLargest();
      if (left !== undefined) this.#join(left.event);
    }
    const isSooner = this.#gathersUntilMs !== null && waiting.dueMs < this.#gathersUntilMs;
    if (this.#delivery === null && (this.#cancelPause === null || isSooner)) this.#gatherUntil(waiting.dueMs);
  }

  #gatherUntil(dueMs: number): void {
    this.#goOnAfter(Math.max(0, dueMs - this.#options.clock.monotonicMs()));
    this.#gathersUntilMs = dueMs;
  }

  /** Into the one event that counts those that are not sent one by one. It is on disk at any time. */
  #join(event: NotifyEvent): void {
    const { clock, keep, newId, timers, once, tenant = null } = this.#options;
    this.#joined = joinedWith(this.#joined, event, { newId, wallMs: clock.wallMs(), tenant });
    keep?.added(this.#joined, tenant, clock.wallMs());
    if (event.id !== this.#joined.id) keep?.done([event]);
    if (once !== undefined && once !== null) this.#count(this.#joined, event);
    this.#cancelJoined ??= timers.after(JOINED_AFTER_MS, () => this.#sendJoined());
  }

  #count({ id }: JoinedEvent, event: NotifyEvent): void {
    if (event.id === id) return;
    const counted = this.#countedIn.get(id) ?? [];
    counted.push(...(this.#countedIn.get(event.id) ?? [event]));
    this.#countedIn.delete(event.id);
    this.#countedIn.set(id, counted);
  }

  /** With what joined events count, which is not counted any more. */
  #takeCounted(events: readonly NotifyEvent[]): NotifyEvent[] {
    return events.flatMap((event) => {
      const counted = this.#countedIn.get(event.id) ?? [];
      this.#countedIn.delete(event.id);
      return [event, ...counted];
    });
  }

  #sendJoined(): void {
    this.#cancelJoined?.();
    this.#cancelJoined = null;
    const joined = this.#joined;
    this.#joined = null;
    const sinceMs = this.#options.clock.monotonicMs();
    if (joined !== null) this.#push({ event: joined, sinceMs, dueMs: this.#dueMs(null) }, joined.tenant);
  }

  /** Used from the next attempt on. */
  replaceChannel(channel: Channel): void {
    this.#channel = channel;
  }

  /** Tries the remaining events once, without a pause; events not delivered within `ms` are given up. */
  async stop(ms: number): Promise<void> {
    this.#sendJoined();
    this.#isStopping = true;
    const cancel = this.#options.timers.after(ms, () => this.#leaveAll());
    if (this.#delivery === null) {
      this.#cancelPause?.();
      this.#goOnAfter(0);
    }
    await this.#emptied.promise;
    cancel();
  }

  /** The channel is not configured any more. */
  close(): void {
    this.#sendJoined();
    this.#isStopping = true;
    this.#giveUpAll("the channel was removed");
  }

  /** The time of the message with an event that comes now. */
  #dueMs(groupMs: number | null): number {
    const { times, clock } = this.#options;
    const now = clock.monotonicMs();
    if (this.#channel.audience !== "people") return now;
    return Math.max(now + (groupMs ?? times.gatherMs), this.#deliveredMs + times.betweenMs);
  }

  #goOnAfter(ms: number): void {
    this.#cancelPause?.();
    this.#gathersUntilMs = null;
    this.#cancelPause = this.#options.timers.after(ms, () => {
      this.#cancelPause = null;
      void this.#deliver();
    });
  }

  async #deliver(): Promise<void> {
    this.#takeBatch();
    if (this.#batch.length === 0) {
      if (this.#isStopping) this.#emptied.resolve();
      return;
    }
    const delivery = new AbortController();
    this.#delivery = delivery;
    const fault = await this.#attempt(delivery);
    // The delivery was given up in the meantime.
    if (this.#delivery !== delivery) return;
    this.#delivery = null;
    const pauseMs = fault === null ? this.#delivered() : this.#failed(fault);
    this.#reportLength();
    if (this.length === 0) {
      if (this.#isStopping) this.#emptied.resolve();
    } else if (this.#isStopping) this.#goOnAfter(0);
    else if (pauseMs !== null) this.#goOnAfter(pauseMs);
    else if (this.#waiting.size > 0) this.#gatherUntil(this.#nextDueMs());
  }

  /** Ends at its deadline, even if the channel does not. */
  async #attempt(delivery: AbortController): Promise<DeliveryFault | null> {
    const events = this.#batch.map(({ event }) => event);
    const delivered = this.#channel.deliver(events, delivery.signal).then(() => null, deliveryFault);
    return within<DeliveryFault | null>(delivered, this.#channel.deadlineMs, this.#options.timers, () => {
      delivery.abort();
      return new DeliveryFault("no answer in time");
    });
  }

  /** A batch that is tried again does not change, unless it has become too old. */
  #takeBatch(): void {
    const oldestMs = this.#options.clock.monotonicMs() - this.#options.times.ageMaxMs;
    if (this.#batch[0] !== undefined && this.#batch[0].sinceMs < oldestMs) this.#endBatch("too old");
    const tooOld = this.#waiting.takeOldestWhile(({ sinceMs }) => sinceMs < oldestMs);
    if (tooOld.length > 0) this.#drop(tooOld, "too old");
    this.#batch = this.#batch.filter((waiting) => this.#maySend(waiting));
    if (this.#batch.length > 0) return;
    this.#attempts = 0;
    const most = this.#channel.audience === "people" ? NOTIFY_QUEUE_MAX : 1;
    const batch: Waiting[] = [];
    while (batch.length < most) {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) break;
      if (this.#maySend(waiting)) batch.push(waiting);
    }
    this.#batch = batch;
    this.#reportLength();
  }

  #maySend({ event }: Waiting): boolean {
    const { once = null, keep } = this.#options;
    const maySend = once?.maySend(event) ?? true;
    if (!maySend) keep?.done([event]);
    return maySend;
  }

  /** The first of those that wait, which may have come during a delivery. */
  #nextDueMs(): number {
    const first = [...this.#waiting.items()].reduce(
      (least, { dueMs }) => Math.min(least, dueMs),
      Number.POSITIVE_INFINITY,
    );
    const isForPeople = this.#channel.audience === "people";
    return isForPeople ? Math.max(first, this.#deliveredMs + this.#options.times.betweenMs) : first;
  }

  /** Returns null: no failure delays the next delivery. */
  #delivered(): null {
    const { name, metrics, clock } = this.#options;
    metrics.sent(name, this.#batch.length);
    const events = this.#batch.map(({ event }) => event);
    this.#options.keep?.done(events);
    this.#options.once?.sent(this.#takeCounted(events));
    this.#deliveredMs = clock.monotonicMs();
    this.#deliveredWallMs = clock.wallMs();
    this.#lastFault = null;
    this.#batch = [];
    this.#attempts = 0;
    this.#backoff.reset();
    return null;
  }

  #failed(fault: DeliveryFault): number {
    const { name, log, limiter, metrics, times } = this.#options;
    this.#attempts++;
    metrics.failed(name);
    const cause = fault.message;
    this.#lastFault = { atMs: this.#options.clock.wallMs(), cause };
    limiter.pass(`notify ${name} failed`, (suppressed) =>
      log.warn({ channel: name, cause, attempt: this.#attempts, suppressed }, "a notification was not delivered"),
    );
    if (this.#isStopping) this.#leaveAll();
    else if (fault.isFinal) this.#endBatch(cause);
    else if (this.#attempts >= times.attemptsMax) this.#endBatch("too many attempts");
    return Math.max(this.#backoff.next(), Math.min(fault.retryAfterMs, times.retryAfterMaxMs));
  }

  #endBatch(cause: string): void {
    this.#drop(this.#batch, cause);
    this.#batch = [];
    this.#attempts = 0;
  }

  /** The service stops. What is on disk is delivered by the next process. */
  #leaveAll(): void {
    if (this.#options.keep === null) this.#giveUpAll("the service stops");
    else this.#giveUpAll(null);
  }

  /** @param cause null: it is kept for the next process. */
  #giveUpAll(cause: string | null): void {
    this.#cancelPause?.();
    this.#cancelPause = null;
    this.#delivery?.abort();
    this.#delivery = null;
    const all = [...this.#batch, ...this.#waiting.takeOldestWhile(() => true)];
    this.#batch = [];
    if (all.length > 0 && cause !== null) this.#drop(all, cause);
    // Another brain may send it before the next process of this one does.
    else this.#options.once?.gaveUp(this.#takeCounted(all.map(({ event }) => event)));
    this.#reportLength();
    this.#emptied.resolve();
  }

  #drop(given: readonly Waiting[], cause: string): void {
    const { name, log, limiter, metrics, keep, once } = this.#options;
    const events = given.length;
    keep?.done(given.map(({ event }) => event));
    metrics.dropped(name, events);
    once?.gaveUp(this.#takeCounted(given.map(({ event }) => event)));
    limiter.pass(`notify ${name} dropped`, (suppressed) =>
      log.error({ channel: name, events, cause, suppressed }, "notifications were given up"),
    );
  }

  #reportLength(): void {
    this.#options.metrics.setQueueLength(this.#options.name, this.length);
  }
}
