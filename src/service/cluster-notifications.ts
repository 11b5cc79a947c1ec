/**
 * Notifications of a cluster: the holder of the lease sends what all brains see, the others keep it until it is sent. What a
 * brain sees of itself it sends itself.
 */
import { EventKeys, eventId, faultKey, isHashedId, type RenamedIds } from "../cluster/joins/event-keys.ts";
import { NOTIFY_QUEUE_MAX } from "../limits.ts";
import { type ConditionKind, conditionOf } from "../notify/condition.ts";
import type { SentOnce } from "../notify/delivery-queue.ts";
import type { AttackEvent, NotifyEvent } from "../notify/event.ts";
import type { EventSharing } from "../notify/target-queues.ts";
import { type AttackIds, shownBan } from "./attack-ids.ts";
import { ClusterOnce, type ClusterOnceOptions } from "./cluster-once.ts";

interface ClusterNotificationsOptions extends Omit<ClusterOnceOptions, "kind" | "entriesMax"> {
  readonly ids: Pick<AttackIds, "shown" | "shownId" | "whenAgreed" | "agreeNow">;
  /** Start of this brain, wall clock, ms. */
  readonly startedAt: number;
}

const RENAMED_MAX = 4096;
/** For some targets, with those that a storm has joined into one event. */
const ENTRIES_MAX = 64 * NOTIFY_QUEUE_MAX;

export class ClusterNotifications implements EventSharing {
  readonly #options: ClusterNotificationsOptions;
  readonly #once: ClusterOnce<NotifyEvent>;
  readonly #keys = new EventKeys();
  /** Keys of events that were added; a key of null is of an event that this brain alone has. */
  readonly #keyOf = new WeakMap<NotifyEvent, string | null>();
  /** Ids of attacks that are shown with another one since. */
  readonly #renamed = new Map<string, string>();
  /** By the id that an attack is shown with: those before it with which it was notified. */
  readonly #notifiedAs = new Map<string, ReadonlySet<string>>();
  #send: (event: NotifyEvent, target: string) => void = () => {};
  #keepsAlerts: (target: string) => boolean = () => false;

  constructor(options: ClusterNotificationsOptions) {
    this.#options = options;
    this.#once = new ClusterOnce({
      ...{ ...options, kind: "notifications", entriesMax: ENTRIES_MAX },
      onSentBefore: (keys) => this.#keys.wereBefore(keys),
    });
  }

  /** Attacks that were notified are shown with other ids from now on. */
  renamed(ids: RenamedIds): void {
    for (const [from, to] of ids) {
      put(this.#renamed, from, to);
      const before = new Set([...(this.#notifiedAs.get(from) ?? []), ...(this.#keys.hasAttack(from) ? [from] : [])]);
      this.#notifiedAs.delete(from);
      if (before.size > 0) put(this.#notifiedAs, to, before.union(this.#notifiedAs.get(to) ?? new Set()));
    }
    this.#keys.renamed(ids);
    this.#once.renamed(ids);
  }

  /** Events that wait for another brain, or in a queue of this one. */
  get waiting(): number {
    return this.#once.size;
  }

  start(send: (event: NotifyEvent, target: string) => void, keepsAlerts: (target: string) => boolean): void {
    this.#send = send;
    this.#keepsAlerts = keepsAlerts;
    this.#once.start(({ event, target }) => send(event, target));
  }

  add(event: NotifyEvent, targets: readonly string[]): void {
    this.#options.ids.whenAgreed(() => this.#addAgreed(event, targets));
  }

  brainsOf(event: NotifyEvent): string | null {
    const { peers } = this.#options;
    const names = [peers.own, ...peers.states().map(({ name }) => name)];
    return isHashedId(event.id) ? names.toSorted().join(" ") : null;
  }

  once(target: string): SentOnce {
    const deliveries = (events: readonly NotifyEvent[]) =>
      events.flatMap((event) => {
        const key = this.#keyOf.get(event) ?? null;
        return key === null ? [] : [{ key: this.#presentKey(key), target }];
      });
    return {
      maySend: (event) => {
        if (!this.#keyOf.has(event) && isHashedId(event.id)) return this.#takeBack(event, target);
        return deliveries([event]).every((each) => this.#once.maySend(each));
      },
      sent: (events) => this.#once.sent(deliveries(events)),
      gaveUp: (events) => this.#once.gaveUp(deliveries(events)),
    };
  }

  flush(): void {
    this.#options.ids.agreeNow();
    this.#once.stop();
  }

  /** With the ids that are shown now: each one that replaces another is the smaller of the two. */
  #presentKey(key: string): string {
    const present = (id: string): string => {
      const next = this.#renamed.get(id);
      return next === undefined || next >= id ? id : present(next);
    };
    return key.split(" ").map(present).join(" ");
  }

  /** It was on disk: another brain may have sent it, or does if it is its part. */
  #takeBack(event: NotifyEvent, target: string): boolean {
    this.#keyOf.set(event, event.id);
    return this.#once.takeBack({ key: event.id, target, event });
  }

  /** An attack that is notified after it ended at another brain has one more end. @param targets that have not got it before */
  #lasts(id: string, targets: readonly string[]): void {
    const key = this.#keys.next("attack_ended", id);
    if (targets.some((target) => this.#once.isSent({ key, target }))) this.#keys.numbered("attack_ended", id);
  }

  /** Closes the alert of an attack that this brain notified with another id, as in a split: no other brain knows of that. */
  #closeAlert(ended: AttackEvent, targets: readonly string[]): void {
    const event = { ...ended, id: eventId(`${ended.kind} ${ended.attack.id} 1`, ended.atMs) };
    this.#keyOf.set(event, null);
    for (const target of targets) if (this.#keepsAlerts(target)) this.#send(event, target);
  }

  #addAgreed(own: NotifyEvent, targets: readonly string[]): void {
    const event = withIds(own, this.#options.ids);
    const isRestored = beganAt(own) < this.#options.startedAt;
    if (own.kind === "attack_ended" && event.kind === "attack_ended") {
      const { id } = own.attack;
      const before = new Set(this.#notifiedAs.get(event.attack.id)).union(new Set(isRestored ? [id] : []));
      this.#notifiedAs.delete(event.attack.id);
      before.delete(event.attack.id);
      for (const each of before) this.#closeAlert({ ...event, attack: { ...event.attack, id: each } }, targets);
    }
    const key = keyOf(event, this.#keys, isRestored);
    if (key === null) {
      this.#keyOf.set(own, null);
      for (const target of targets) this.#send(own, target);
      return;
    }
    const named = { ...event, id: eventId(key, event.atMs) };
    this.#keyOf.set(named, key);
    const added = targets.filter((target) => this.#once.add({ key, target, event: named }));
    if ("attack" in event && event.kind !== "attack_ended") this.#lasts(event.attack.id, added);
  }
}

/** The oldest is forgotten. */
function put<Value>(table: Map<string, Value>, id: string, value: Value): void {
  table.set(id, value);
  const [oldest] = table.keys();
  if (table.size > RENAMED_MAX && oldest !== undefined) table.delete(oldest);
}

function withIds(event: NotifyEvent, ids: ClusterNotificationsOptions["ids"]): NotifyEvent {
  if ("attack" in event) return { ...event, attack: ids.shown(event.attack), ban: shownBan(event.ban, ids) };
  return "ban" in event ? { ...event, ban: shownBan(event.ban, ids) } : event;
}

/** All brains see the nodes; the other conditions are of one brain. */
const OF_NODES: ReadonlySet<ConditionKind> = new Set(["scrub_node_lost", "edge_node_lost", "edge_node_fault"]);

/** Wall clock, ms: when this brain saw what the event is about. */
function beganAt(event: NotifyEvent): number {
  if ("attack" in event) return event.attack.startedAt;
  return "ban" in event ? (event.ban?.startedAt ?? event.atMs) : event.atMs;
}

/** null: it is about this brain alone. */
function keyOf(event: NotifyEvent, keys: EventKeys, isRestored: boolean): string | null {
  if ("condition" in event) {
    return OF_NODES.has(conditionOf(event.kind)) ? faultKey(event.kind, event.condition.name) : null;
  }
  switch (event.kind) {
    case "attack_started":
    case "attack_changed":
    case "attack_lasts":
    case "attack_not_held":
    case "attack_ended":
      return keys.numbered(event.kind, event.attack.id, isRestored);
    case "ban_active":
    case "ban_withdrawn":
    case "ban_rejected":
    case "rules_not_found": {
      // Each brain has its own automatic ban, and all have that of an order.
      // One that announces nothing is another event than one of the other brain that does.
      const { attackId, id, prefix, dryRun } = event.ban;
      return keys.numbered(
        dryRun ? `${event.kind} dry_run` : event.kind,
        `${prefix.text} ${attackId ?? id}`,
        isRestored,
      );
    }
    case "exporter_fault":
    case "exporter_fault_over":
      return faultKey(event.kind, `${event.exporter.address} ${event.exporter.fault}`);
    case "scrub_node_fault":
    case "scrub_node_fault_over":
      return faultKey(event.kind, event.scrubNode.name);
    case "bgp_session_lost":
    case "bgp_session_restored":
    case "state_damaged":
    case "cap_reached":
    case "file_fault":
    case "file_fault_over":
    case "cluster_fault":
    case "cluster_fault_over":
    // For the brain that took the order, and for one target of a brain.
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
