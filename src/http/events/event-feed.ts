/**
 * Streams attacks, incidents, bans and faults of exporters to callers as server-sent events (HTML Standard, section 9.2). Content and visibility of
 * events are as in the lists. A caller that reconnects gets the events that it missed, or an event that says that it
 * must read the lists again. Does not know where the events come from.
 */
import type { Principal } from "../../access/principal.ts";
import { type Callers, NO_TENANTS, Shares } from "../../access/shares.ts";
import type { Tenancy } from "../../access/tenancy.ts";
import type { Attack } from "../../detection/attack/attack.ts";
import type { IncidentView } from "../../incident/incident-view.ts";
import { EVENT_STREAMS_MAX, EVENT_STREAMS_PER_TOKEN } from "../../limits.ts";
import { routeStateText } from "../../mitigation/announcer.ts";
import type { Clock } from "../../system/clock.ts";
import type { Cancel, Timers } from "../../system/timers.ts";
import type { AttackView, BanView } from "../backend.ts";
import type { Refusal } from "../refusal.ts";
import type { Call } from "../route.ts";
import { eventStreamAnswer } from "../server/answer.ts";
import { attackOfTenant, attackToWire } from "../wire/attack.ts";
import { banToWire, ofTenant } from "../wire/ban.ts";
import { incidentRow } from "../wire/incident.ts";
import type { ExporterWire } from "../wire/telemetry.ts";
import { EventRing, type RingEvent } from "./event-ring.ts";
import { EventSlices } from "./event-slices.ts";
import { EventStream, type StreamEnd } from "./event-stream.ts";
import { EventThrottle } from "./event-throttle.ts";

/** Bytes of events kept for readers that reconnect. */
export const EVENT_RING_BYTES = 4 * 1024 * 1024;

type FeedEvent =
  | { readonly kind: "attack"; readonly view: AttackView }
  | { readonly kind: "ban"; readonly view: BanView }
  /** Without what it sends: its state and faults. */
  | { readonly kind: "exporter"; readonly row: ExporterWire }
  | { readonly kind: "incident"; readonly view: IncidentView };

type EventName = FeedEvent["kind"] | "reload" | "reset";

interface EventFeedOptions {
  /** By the configuration in force. */
  readonly tenancy: () => Tenancy;
  /** By the configuration in force; absent: there is no tenant. */
  readonly callers?: () => Callers;
  /** With current rates: an attack changes all the time, so the feed polls. */
  readonly activeAttacks: () => Iterable<AttackView>;
  readonly metrics: EventMetrics;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly nextTurn: () => Promise<void>;
  /** An event could not be written. */
  readonly onFault: (cause: unknown) => void;
  /** The name of this brain in a cluster, in its ids: those of another brain are times of another clock. Absent: none. */
  readonly brain?: string | null;
}

interface EventMetrics {
  opened(): void;
  ended(reason: StreamEnd): void;
  refused(): void;
  sent(event: EventName): void;
}

type StreamCall = Pick<Call, "principal" | "request" | "recheck">;

interface Subscriber {
  readonly call: StreamCall;
  readonly stream: EventStream;
}

/** Well below the listener's idle timeout. */
export const HEARTBEAT_MS = 15_000;
/** How often attacks in progress are polled. */
export const LOOK_MS = 1000;
/** How long events are kept after the last caller has left, in case it returns. */
export const REMEMBERED_MS = 60_000;
const RETRY_MS = 2000;

const utf8 = new TextEncoder();

export class EventFeed {
  readonly #options: EventFeedOptions;
  readonly #subscribers = new Set<Subscriber>();
  readonly #throttle: EventThrottle<FeedEvent>;
  readonly #slices: EventSlices<FeedEvent>;
  readonly #ring: EventRing;
  readonly #shares: Shares;
  /** Wall-clock microseconds at monotonic time 0: ids are times, so that they also grow over a restart. */
  readonly #originMicros: number;
  #lastId = 0;
  /** Whether there is a caller, or was one recently; otherwise no events are written. */
  #isListenedTo = false;
  #isStopped = false;
  #cancelHeartbeats: Cancel = () => {};
  #cancelForget: Cancel = () => {};

  constructor(options: EventFeedOptions) {
    const { clock, timers } = options;
    this.#options = options;
    this.#originMicros = (clock.wallMs() - clock.monotonicMs()) * 1000;
    this.#shares = new Shares(options.callers ?? (() => NO_TENANTS));
    this.#ring = new EventRing(EVENT_RING_BYTES, this.#nextId());
    this.#slices = new EventSlices(options, (event) => this.#send(event), options.onFault);
    this.#throttle = new EventThrottle(timers, (event) => this.#slices.push(event));
  }

  /** Called for starts, ends and other changes; the throttle suppresses repetitions. */
  publish(event: FeedEvent): void {
    if (!this.#isListenedTo) return;
    this.#throttle.offer({ ...keyOf(event), event });
  }

  subscribe(call: StreamCall): Response | Refusal {
    if (this.#isStopped) return { kind: "stopping" };
    if (call.request.method === "HEAD") return eventStreamAnswer(null);
    const { principal } = call;
    const refusal = this.#refusal(principal);
    if (refusal !== null) {
      this.#options.metrics.refused();
      return refusal;
    }
    const stream = new EventStream((reason) => this.#left(subscriber, reason));
    const subscriber = { call, stream };
    this.#subscribers.add(subscriber);
    this.#shares.take(principal);
    this.#options.metrics.opened();
    this.#listen();
    this.#greet(subscriber);
    return eventStreamAnswer(stream.body);
  }

  /** Ends the streams of callers whose rights changed; all others get an event that says to read the lists again. */
  reloaded(): void {
    const id = this.#nextId();
    // The tenants in old events may be out of date, and of those that wait too.
    this.#throttle.clear();
    this.#slices.clear();
    this.#ring.forget(id);
    this.#recheckAll();
    this.#sendAll(encode("reload", this.#textOf(id), "{}"));
    if (this.#subscribers.size > 0) this.#options.metrics.sent("reload");
  }

  stop(): void {
    this.#isStopped = true;
    for (const { stream } of this.#subscribers) stream.end("stopped");
    this.#forget();
  }

  #refusal(principal: Principal): Refusal | null {
    const { operator } = principal;
    const own = [...this.#subscribers].filter(({ call }) => call.principal.operator === operator);
    if (operator !== "" && own.length >= EVENT_STREAMS_PER_TOKEN) return { kind: "too_many_streams" };
    const overrun = this.#shares.refusal(principal, { capacity: EVENT_STREAMS_MAX });
    if (overrun === null) return null;
    return overrun === "full" ? { kind: "too_many_streams" } : { kind: "too_many_of_share", what: "streams" };
  }

  #listen(): void {
    this.#cancelForget();
    if (this.#subscribers.size === 1) this.#startHeartbeats();
    if (this.#isListenedTo) return;
    this.#isListenedTo = true;
    this.#ring.forget(this.#nextId());
  }

  #startHeartbeats(): void {
    const { timers, activeAttacks } = this.#options;
    const cancelHeartbeat = timers.every(HEARTBEAT_MS, () => this.#sendHeartbeat());
    const cancelLook = timers.every(LOOK_MS, () => {
      for (const view of activeAttacks()) this.publish({ kind: "attack", view });
    });
    this.#cancelHeartbeats = () => {
      cancelHeartbeat();
      cancelLook();
    };
  }

  #left(subscriber: Subscriber, reason: StreamEnd): void {
    this.#subscribers.delete(subscriber);
    this.#shares.giveBack(subscriber.call.principal);
    this.#options.metrics.ended(reason);
    if (this.#subscribers.size > 0) return;
    this.#cancelHeartbeats();
    this.#cancelForget = this.#options.timers.after(REMEMBERED_MS, () => this.#forget());
  }

  #forget(): void {
    this.#cancelForget();
    this.#isListenedTo = false;
    this.#throttle.clear();
    this.#slices.clear();
    this.#ring.forget(this.#nextId());
  }

  #greet({ call, stream }: Subscriber): void {
    const lastId = call.request.headers.get("last-event-id");
    const retry = `retry: ${RETRY_MS}\n`;
    if (lastId === null || lastId === "") {
      stream.send(utf8.encode(`${retry}id: ${this.#textOf(this.#nextId())}\n\n`));
      return;
    }
    stream.send(utf8.encode(`${retry}\n`));
    const missed = this.#missedSince(lastId);
    if (missed === null) {
      stream.send(encode("reset", this.#textOf(this.#nextId()), "{}"));
      this.#options.metrics.sent("reset");
      return;
    }
    for (const event of missed) sendTo({ call, stream }, event);
  }

  #missedSince(lastId: string) {
    const text = lastId.endsWith(this.#suffix) ? lastId.slice(0, lastId.length - this.#suffix.length) : "";
    if (!/^\d{1,16}$/.test(text) || Number(text) > this.#nextId()) return null;
    return this.#ring.after(Number(text));
  }

  /** Only the own ids end with it. */
  get #suffix(): string {
    const { brain = null } = this.#options;
    return brain === null ? "" : `@${brain}`;
  }

  #textOf(id: number): string {
    return `${id}${this.#suffix}`;
  }

  #send(event: FeedEvent): void {
    const { kind } = event;
    const { tenant, text, tenantText } = textsOf(event, this.#options.tenancy());
    const id = this.#nextId();
    const idText = this.#textOf(id);
    const bytes = encode(kind, idText, text);
    const tenantBytes = text === tenantText ? bytes : encode(kind, idText, tenantText);
    const sent = { id, tenant, bytes, tenantBytes };
    this.#ring.add(sent);
    for (const subscriber of this.#subscribers) sendTo(subscriber, sent);
    this.#options.metrics.sent(kind);
  }

  /** Keeps the connection open, and the caller's position: everything visible to it up to this id was sent. */
  #sendHeartbeat(): void {
    // A secret may have changed without a reload.
    this.#recheckAll();
    this.#sendAll(utf8.encode(`:\nid: ${this.#textOf(this.#nextId())}\n\n`));
  }

  #recheckAll(): void {
    for (const { call, stream } of this.#subscribers) {
      if (!isSame(call.principal, call.recheck())) stream.end("refused");
    }
  }

  #sendAll(bytes: Uint8Array<ArrayBuffer>): void {
    for (const { stream } of this.#subscribers) stream.send(bytes);
  }

  /** Derived from the time, so that it does not reveal how many events the reader may not see. */
  #nextId(): number {
    const micros = Math.floor(this.#originMicros + this.#options.clock.monotonicMs() * 1000);
    this.#lastId = Math.max(this.#lastId + 1, micros);
    return this.#lastId;
  }
}

function encode(event: EventName, id: string, data: string): Uint8Array<ArrayBuffer> {
  return utf8.encode(`event: ${event}\nid: ${id}\ndata: ${data}\n\n`);
}

function keyOf(event: FeedEvent): { readonly key: string; readonly phase: string } {
  switch (event.kind) {
    case "attack":
      return { key: `attack ${event.view.attack.id}`, phase: attackPhase(event.view.attack) };
    case "ban":
      return { key: `ban ${event.view.ban.id}`, phase: banPhase(event.view) };
    case "incident":
      return { key: `incident ${event.view.id}`, phase: incidentPhase(event.view) };
    case "exporter": {
      const { name, address, faults } = event.row;
      return { key: `exporter ${name} ${address}`, phase: faults.map(({ kind }) => kind).join(" ") };
    }
    default:
      return event satisfies never;
  }
}

/** As its owner sees it, and as callers without a tenant do; an exporter belongs to no tenant. */
function textsOf(event: FeedEvent, tenancy: Tenancy) {
  switch (event.kind) {
    case "attack": {
      const tenant = tenancy.ownerOf(event.view.attack);
      const text = JSON.stringify(attackToWire(event.view, tenant));
      const own = attackOfTenant(event.view, tenant);
      return { tenant, text, tenantText: own === event.view ? text : JSON.stringify(attackToWire(own, tenant)) };
    }
    case "ban": {
      const tenant = tenancy.tenantOf(event.view.ban.target);
      const text = JSON.stringify(banToWire(event.view));
      const tenantText = tenant === null ? text : JSON.stringify(banToWire(ofTenant(event.view, tenant)));
      return { tenant, text, tenantText };
    }
    case "incident": {
      const { view } = event;
      const { tenant } = view;
      const text = JSON.stringify(incidentRow(view, { tenant: null }));
      return { tenant, text, tenantText: tenant === null ? text : JSON.stringify(incidentRow(view, { tenant })) };
    }
    case "exporter": {
      const text = JSON.stringify(event.row);
      return { tenant: null, text, tenantText: text };
    }
    default:
      return event satisfies never;
  }
}

/** The state of the announcement is part of it: routes are announced within the throttle's pause. */
function banPhase({ ban, routeState }: BanView): string {
  return `${ban.state} ${routeStateText(routeState)}`;
}

/** Deeds of people are shown at once. */
function incidentPhase({ state, kind, work }: IncidentView): string {
  const { owner, acknowledged, verdict, notes } = work;
  return [state, kind, owner?.atMs, acknowledged?.atMs, verdict?.atMs, notes.length].join(" ");
}

function attackPhase({ endedAt, classification }: Attack): string {
  return `${endedAt} ${classification?.type}`;
}

function sendTo({ call, stream }: Subscriber, { tenant, bytes, tenantBytes }: RingEvent): void {
  if (!maySee(call.principal, tenant)) return;
  stream.send(call.principal.tenant === null ? bytes : tenantBytes);
}

/** The same rule as in the lists. */
function maySee({ tenant }: Principal, owner: string | null): boolean {
  return tenant === null || tenant === owner;
}

function isSame(before: Principal, now: Principal | Refusal): boolean {
  if (now.kind !== "principal") return false;
  return now.operator === before.operator && now.role === before.role && now.tenant === before.tenant;
}
