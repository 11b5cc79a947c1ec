/**
 * Notifications that wait, as they are kept on disk until they are delivered or given up, so that a process that is killed
 * loses none. Bounded: over the bound they wait in memory alone.
 */
import type { Tenant } from "../access/fair-queue.ts";
import type { Attack } from "../detection/attack/attack.ts";
import type { Ban } from "../mitigation/ban.ts";
import type { EventRecord, KeptNotification } from "../storage/notification-records.ts";
import type { RecordTable } from "../system/record-table.ts";
import type { NotifyEvent } from "./event.ts";

/**
 * Maximum for all targets, and for the events of one tenant; over it they wait in memory alone. Events that count others
 * have as many places of their own: each is the only trace of those that it counts.
 */
export const NOTIFICATIONS_KEPT_MAX = 8192;
export const NOTIFICATIONS_KEPT_PER_TENANT = NOTIFICATIONS_KEPT_MAX / 4;
/** Maximum for all tenants together: the rest is for events of none, such as faults of the service. */
export const NOTIFICATIONS_KEPT_OF_TENANTS = (NOTIFICATIONS_KEPT_MAX * 3) / 4;

/** How attacks and bans are written and read. */
interface Records {
  readonly attackOf: (record: string) => Attack;
  readonly banOf: (record: string) => Ban;
  readonly ofBan: (ban: Ban) => string;
}

/** @param eventId of which there is one for each target. */
export function notificationId(eventId: string, target: string): string {
  return `${eventId} ${target}`;
}

function recordOfEvent(event: NotifyEvent, { ofBan }: Records): EventRecord {
  const attack = "attack" in event ? { attack: JSON.stringify(event.attack) } : {};
  const ban = "ban" in event && event.ban !== null ? { ban: ofBan(event.ban) } : {};
  const { attack: _attack, ban: _ban, ...rest } = event as NotifyEvent & { attack?: Attack; ban?: Ban | null };
  return { event: "attack" in event ? { ...rest, ban: null } : rest, ...attack, ...ban };
}

/** null: this build cannot read it. */
function eventOfRecord({ event, attack, ban }: EventRecord, { attackOf, banOf }: Records): NotifyEvent | null {
  try {
    const attacked = attack === undefined ? {} : { attack: attackOf(attack) };
    const banned = ban === undefined ? {} : { ban: banOf(ban) };
    return { ...event, ...attacked, ...banned } as NotifyEvent;
  } catch {
    return null;
  }
}

interface KeptNotificationsOptions {
  readonly table: Pick<RecordTable<KeptNotification>, "queue">;
  /** Notifications of an earlier process. */
  readonly stored: readonly KeptNotification[];
  readonly records: Records;
}

/** The kept part of a queue of one target. */
export interface QueueKeep {
  readonly wasKept: readonly { readonly event: NotifyEvent; readonly tenant: Tenant; readonly sinceMs: number }[];
  readonly added: (event: NotifyEvent, tenant: Tenant, sinceMs: number) => void;
  /** Delivered, or given up. */
  readonly done: (events: readonly NotifyEvent[]) => void;
}

export class KeptNotifications {
  readonly #options: KeptNotificationsOptions;
  readonly #single = new Places();
  readonly #joined = new Places();
  /** Notifications of an earlier process, by target, until the queue of the target takes them. */
  readonly #earlier: Map<string, KeptNotification[]>;

  constructor(options: KeptNotificationsOptions) {
    this.#options = options;
    for (const { id, tenant, event } of options.stored) this.#placesOf(event.event).take(id, tenant);
    this.#earlier = Map.groupBy(options.stored, ({ target }) => target);
  }

  get size(): number {
    return this.#single.size + this.#joined.size;
  }

  queueOf(target: string): QueueKeep {
    const { table, records } = this.#options;
    const earlier = this.#earlier.get(target) ?? [];
    this.#earlier.delete(target);
    const wasKept = earlier.flatMap((kept) => {
      const event = eventOfRecord(kept.event, records);
      if (event === null) this.#forget(kept.id);
      return event === null ? [] : [{ event, tenant: kept.tenant, sinceMs: kept.sinceMs }];
    });
    return {
      wasKept,
      added: (event, tenant, sinceMs) => {
        const id = notificationId(event.id, target);
        const places = this.#placesOf(event);
        if (!places.hasRoom(id, tenant)) return;
        places.take(id, tenant);
        table.queue(id, { id, target, tenant, sinceMs, event: recordOfEvent(event, records) });
      },
      done: (events) => {
        for (const { id } of events) this.#forget(notificationId(id, target));
      },
    };
  }

  /** Those of targets that are not configured any more. */
  forgetOthers(): void {
    for (const kept of [...this.#earlier.values()].flat()) this.#forget(kept.id);
    this.#earlier.clear();
  }

  #forget(id: string): void {
    if (this.#single.leave(id) || this.#joined.leave(id)) this.#options.table.queue(id, null);
  }

  #placesOf(event: object): Places {
    return "joined" in event ? this.#joined : this.#single;
  }
}

/** Places of notifications on disk, and the tenants that have them. */
class Places {
  /** By id, the tenant. */
  readonly #taken = new Map<string, Tenant>();
  readonly #byTenant = new Map<Tenant, number>();

  get size(): number {
    return this.#taken.size;
  }

  hasRoom(id: string, tenant: Tenant): boolean {
    if (this.#taken.has(id)) return true;
    if (this.size >= NOTIFICATIONS_KEPT_MAX) return false;
    if (tenant === null) return true;
    const ofTenants = this.size - (this.#byTenant.get(null) ?? 0);
    const own = this.#byTenant.get(tenant) ?? 0;
    return own < NOTIFICATIONS_KEPT_PER_TENANT && ofTenants < NOTIFICATIONS_KEPT_OF_TENANTS;
  }

  take(id: string, tenant: Tenant): void {
    this.leave(id);
    this.#taken.set(id, tenant);
    this.#count(tenant, 1);
  }

  /** @returns whether it had a place. */
  leave(id: string): boolean {
    const tenant = this.#taken.get(id);
    if (tenant === undefined) return false;
    this.#taken.delete(id);
    this.#count(tenant, -1);
    return true;
  }

  #count(tenant: Tenant, by: number): void {
    const count = (this.#byTenant.get(tenant) ?? 0) + by;
    if (count === 0) this.#byTenant.delete(tenant);
    else this.#byTenant.set(tenant, count);
  }
}
