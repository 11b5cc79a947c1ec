/**
 * Notifications of a cluster: the holder of the lease sends what all brains see, the others keep it until they hear that it
 * is sent. What a brain sees of itself it sends itself.
 */
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { Deliveries, type Delivery, type Outcome, type Said, type Word } from "../cluster/joins/deliveries.ts";
import { EventKeys, eventId, faultKey } from "../cluster/joins/event-keys.ts";
import { LEASE_MS } from "../cluster/joins/pair-lease.ts";
import type { Lease } from "../cluster/lease.ts";
import type { Peers } from "../cluster/peers.ts";
import { NOTIFY_QUEUE_MAX } from "../limits.ts";
import type { SentOnce } from "../notify/delivery-queue.ts";
import type { NotifyEvent } from "../notify/event.ts";
import type { EventSharing } from "../notify/target-queues.ts";
import type { Clock } from "../system/clock.ts";
import type { Cancel, Timers } from "../system/timers.ts";
import { type AttackIds, shownBan } from "./attack-ids.ts";
import type { PairLease } from "./cluster-lease.ts";

export interface ClusterNotificationsOptions {
  readonly peers: Peers;
  readonly lease: Lease;
  /** Gets to know when a peer has said what it sent while it was out of reach. */
  readonly reach: PairLease;
  readonly ids: Pick<AttackIds, "shown" | "shownId" | "whenAgreed" | "agreeNow">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly onUnread: (kind: string, from: string) => void;
  /** There was no room, or it waited too long. */
  readonly onDropped: (events: number) => void;
}

const KIND = "notifications";
const SYNCED = "notifications_known";
const DELIVERIES_OF_MESSAGE = 2000;
const TICK_MS = 1000;
/** As long as a queue tries. */
const AGE_MAX_MS = 900_000;
const MARKS_MAX = 16_384;

const Body = Type.Object({
  word: Type.Union([Type.Literal("done"), Type.Literal("given_up"), Type.Literal("offered"), Type.Literal("granted")]),
  deliveries: Type.Array(
    Type.Object({ key: Type.String({ maxLength: 512 }), target: Type.String({ maxLength: 253 }) }),
    { maxItems: DELIVERIES_OF_MESSAGE },
  ),
});
type Body = Static<typeof Body>;

export class ClusterNotifications implements EventSharing {
  readonly #options: ClusterNotificationsOptions;
  readonly #deliveries = new Deliveries<NotifyEvent>({
    entriesMax: 4 * NOTIFY_QUEUE_MAX,
    marksMax: MARKS_MAX,
    ageMaxMs: AGE_MAX_MS,
  });
  readonly #keys = new EventKeys();
  /** Of events that were added, by their ids; a key of null is of an event that this brain alone has. */
  readonly #keyOf = new WeakMap<NotifyEvent, string | null>();
  #cancelTick: Cancel = () => {};
  #send: (event: NotifyEvent, target: string) => void = () => {};

  constructor(options: ClusterNotificationsOptions) {
    const { peers, reach, onUnread } = options;
    this.#options = options;
    peers.on(KIND, (from, body) => {
      if (!Value.Check(Body, body)) return onUnread(KIND, from);
      this.#take(from, body);
    });
    peers.on(SYNCED, (from) => reach.synced(from));
    peers.onUp((name) => {
      this.#deliveries.forgetGrants(name);
      this.#say({ ...this.#deliveries.marked(this.#nowMs), to: name });
      peers.send(name, SYNCED, {});
    });
  }

  /** Events that wait for another brain. */
  get kept(): number {
    return this.#deliveries.size;
  }

  start(send: (event: NotifyEvent, target: string) => void): void {
    this.#send = send;
    this.#cancelTick = this.#options.timers.every(TICK_MS, () => this.#tick());
  }

  add(event: NotifyEvent, targets: readonly string[]): void {
    this.#options.ids.whenAgreed(() => this.#addAgreed(event, targets));
  }

  once(target: string): SentOnce {
    const delivery = (event: NotifyEvent): Delivery[] => {
      const key = this.#keyOf.get(event) ?? null;
      return key === null ? [] : [{ key, target }];
    };
    const all = (events: readonly NotifyEvent[]) => events.flatMap(delivery);
    return {
      maySend: (event) => delivery(event).every((each) => this.#deliveries.maySend(each, this.#nowMs, this.#holds)),
      sent: (events) => this.#say(this.#deliveries.sent(all(events), this.#nowMs)),
      gaveUp: (events) => this.#say(this.#deliveries.gaveUp(all(events))),
    };
  }

  flush(): void {
    this.#cancelTick();
    this.#options.ids.agreeNow();
  }

  get #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }

  get #holds(): boolean {
    return this.#options.lease.holds();
  }

  #addAgreed(own: NotifyEvent, targets: readonly string[]): void {
    const event = withIds(own, this.#options.ids);
    const key = keyOf(event, this.#keys);
    if (key === null) {
      this.#keyOf.set(own, null);
      for (const target of targets) this.#send(own, target);
      return;
    }
    const named = { ...event, id: eventId(key, event.atMs) };
    this.#keyOf.set(named, key);
    for (const target of targets) {
      const added = this.#deliveries.add({ key, target, event: named }, this.#nowMs, this.#holds);
      if (added === "send") this.#send(named, target);
      else if (added === "dropped") this.#options.onDropped(1);
    }
  }

  #tick(): void {
    const at = { nowMs: this.#nowMs, holds: this.#holds };
    const { tooOld, ...outcome } = this.#deliveries.tick(at, (brain) => this.#options.reach.isGone(brain, LEASE_MS));
    if (tooOld > 0) this.#options.onDropped(tooOld);
    this.#carryOut(outcome);
  }

  #take(from: string, { word, deliveries }: Body): void {
    const at = { nowMs: this.#nowMs, holds: this.#holds };
    this.#carryOut(this.#deliveries.take(from, word satisfies Word, deliveries, at));
  }

  #carryOut({ send, say }: Outcome<NotifyEvent>): void {
    for (const { event, target } of send) this.#send(event, target);
    for (const said of say) this.#say(said);
  }

  #say({ word, deliveries, to }: Said): void {
    const { peers } = this.#options;
    for (let from = 0; from < deliveries.length; from += DELIVERIES_OF_MESSAGE) {
      const body: Body = { word, deliveries: deliveries.slice(from, from + DELIVERIES_OF_MESSAGE) };
      if (to === null) peers.broadcast(KIND, body);
      else peers.send(to, KIND, body);
    }
  }
}

function withIds(event: NotifyEvent, ids: ClusterNotificationsOptions["ids"]): NotifyEvent {
  if ("attack" in event) return { ...event, attack: ids.shown(event.attack), ban: shownBan(event.ban, ids) };
  return "ban" in event ? { ...event, ban: shownBan(event.ban, ids) } : event;
}

/** null: it is about this brain alone. */
function keyOf(event: NotifyEvent, keys: EventKeys): string | null {
  switch (event.kind) {
    case "attack_started":
    case "attack_changed":
    case "attack_lasts":
    case "attack_not_held":
    case "attack_ended":
      return keys.numbered(event.kind, event.attack.id);
    case "ban_active":
    case "ban_withdrawn":
    case "ban_rejected":
    case "rules_not_found": {
      // Each brain has its own automatic ban, and all have that of an order.
      const { attackId, id, prefix } = event.ban;
      return keys.numbered(event.kind, `${prefix.text} ${attackId ?? id}`);
    }
    case "exporter_fault":
    case "exporter_fault_over":
      return faultKey(event.kind, `${event.exporter.address} ${event.exporter.fault}`);
    case "scrub_node_fault":
    case "scrub_node_fault_over":
      return faultKey(event.kind, event.scrubNode.name);
    case "scrub_node_lost":
    case "scrub_node_found":
    case "edge_node_lost":
    case "edge_node_found":
    case "edge_node_fault":
    case "edge_node_fault_over":
      return faultKey(event.kind, event.condition.name);
    case "bgp_session_lost":
    case "bgp_session_restored":
    case "state_damaged":
    case "cap_reached":
    case "file_fault":
    case "file_fault_over":
    case "cluster_fault":
    case "cluster_fault_over":
    case "capture_lost":
    case "capture_restored":
    case "capture_losing":
    case "capture_losing_over":
    case "speaker_down":
    case "speaker_up":
    case "disk_nearly_full":
    case "disk_nearly_full_over":
    // Of the brain that took the order, and of one target of a brain.
    case "order_made":
    case "order_changed":
    case "order_ended":
    case "owner_changed":
    case "events_joined":
    case "test":
      return null;
    default:
      return event satisfies never;
  }
}
