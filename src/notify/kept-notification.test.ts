import { expect, test } from "bun:test";
import { attackEvent, banEvent, conditionEvent, events } from "../../test/fixtures/notify/notify.ts";
import { hangs, queueWorld } from "../../test/fixtures/notify/queue-world.ts";
import { ban } from "../../test/fixtures/views.ts";
import { NOTIFY_QUEUE_MAX } from "../limits.ts";
import { attackOfRecord } from "../storage/attack-record.ts";
import { banOfRecord, recordOfBan } from "../storage/ban-record.ts";
import type { KeptNotification } from "../storage/notification-records.ts";
import {
  KeptNotifications,
  NOTIFICATIONS_KEPT_MAX,
  NOTIFICATIONS_KEPT_OF_TENANTS,
  NOTIFICATIONS_KEPT_PER_TENANT,
  notificationId,
} from "./kept-notification.ts";

const records = { attackOf: attackOfRecord, banOf: banOfRecord, ofBan: recordOfBan };

/** A table as a disk would have it: as text. */
class Disk {
  readonly rows = new Map<string, string>();

  readonly table = {
    queue: (key: string, record: KeptNotification | null) => {
      if (record === null) this.rows.delete(key);
      else this.rows.set(key, JSON.stringify(record));
    },
  };

  open(): KeptNotifications {
    const stored = [...this.rows.values()].map((row) => JSON.parse(row) as KeptNotification);
    return new KeptNotifications({ table: this.table, stored, records });
  }
}

test("what waits comes back after a kill as it was, by target, and what was delivered does not", () => {
  const disk = new Disk();
  const all = [attackEvent({ id: "1", ban: ban() }), banEvent({ id: "2" }), conditionEvent({ id: "3" })];
  const queue = disk.open().queueOf("noc");
  for (const event of all) queue.added(event, "acme", 1000);
  const delivered = attackEvent({ id: "4" });
  queue.added(delivered, null, 1000);
  queue.done([delivered]);
  const after = disk.open();
  expect(after.queueOf("noc").wasKept).toEqual(all.map((event) => ({ event, tenant: "acme", sinceMs: 1000 })));
  expect(after.queueOf("noc").wasKept).toEqual([]);
});

test("what waits for a target that is not configured any more, or cannot be read, is removed", () => {
  const disk = new Disk();
  const kept = disk.open();
  kept.queueOf("gone").added(attackEvent({ id: "1" }), null, 0);
  kept.queueOf("noc").added(attackEvent({ id: "2" }), null, 0);
  const id = notificationId("2", "noc");
  disk.rows.set(id, (disk.rows.get(id) ?? "").replace('"attack":"{', '"attack":"['));
  const after = disk.open();
  expect(after.queueOf("noc").wasKept).toEqual([]);
  after.forgetOthers();
  expect([disk.rows.size, after.size]).toEqual([0, 0]);
});

test("over the bound nothing more is kept, until there is room", () => {
  const disk = new Disk();
  const queue = disk.open().queueOf("noc");
  const [first, ...others] = events(NOTIFICATIONS_KEPT_MAX + 1);
  for (const event of others) queue.added(event, null, 0);
  if (first === undefined) throw new Error("no event");
  queue.added(first, null, 0);
  expect(disk.rows.size).toBe(NOTIFICATIONS_KEPT_MAX);
  queue.done(others.slice(0, 1));
  queue.added(first, null, 0);
  expect(disk.rows.has(notificationId(first.id, "noc"))).toBe(true);
});

test("at the bound what counts the events that have no place is kept all the same", async () => {
  const disk = new Disk();
  const kept = disk.open();
  for (const event of events(NOTIFICATIONS_KEPT_MAX - NOTIFY_QUEUE_MAX)) kept.queueOf("other").added(event, null, 0);
  const { queue, channel, advance } = queueWorld("programs", { keep: kept.queueOf("webhook") });
  channel.outcome = hangs;
  for (const event of events(NOTIFY_QUEUE_MAX + 2)) queue.add(event);
  await advance(0);
  const kinds = [...disk.rows.values()].map((row) => (JSON.parse(row) as KeptNotification).event.event);
  const counted = kinds.filter((event) => "joined" in event);
  expect(counted).toMatchObject([{ joined: { counts: { attack_started: 2 } } }]);
});

test("one tenant has a quarter of the bound, and leaves the rest to others", () => {
  const disk = new Disk();
  const queue = disk.open().queueOf("noc");
  for (const event of events(NOTIFICATIONS_KEPT_PER_TENANT + 1)) queue.added(event, "acme", 0);
  expect(disk.rows.size).toBe(NOTIFICATIONS_KEPT_PER_TENANT);
  queue.added(attackEvent({ id: "other" }), "other", 0);
  expect(disk.rows.size).toBe(NOTIFICATIONS_KEPT_PER_TENANT + 1);
});

test("all tenants together leave a quarter to what is of none", () => {
  const disk = new Disk();
  const queue = disk.open().queueOf("noc");
  for (const [i, event] of events(NOTIFICATIONS_KEPT_MAX).entries()) queue.added(event, `tenant${i % 16}`, 0);
  expect(disk.rows.size).toBe(NOTIFICATIONS_KEPT_OF_TENANTS);
  const fault = conditionEvent({ id: "fault" });
  queue.added(fault, null, 0);
  expect(disk.rows.has(notificationId("fault", "noc"))).toBe(true);
});

test("events that count others take no place of the others, also after a restart, nor all places of their kind", () => {
  const disk = new Disk();
  const joined = { counts: { attack_started: 2 }, severity: "info", sinceMs: 0 } as const;
  const common = { kind: "events_joined", atMs: 0, dryRun: false, tenant: null, group: null, joined } as const;
  const before = disk.open().queueOf("noc");
  const counted = Array.from({ length: NOTIFICATIONS_KEPT_MAX }, (_, i) => ({ ...common, id: `c${i}` }));
  for (const event of counted) before.added(event, "acme", 0);
  expect(disk.rows.size).toBe(NOTIFICATIONS_KEPT_PER_TENANT);
  for (const event of counted) before.added(event, null, 0);
  expect(disk.rows.size).toBe(NOTIFICATIONS_KEPT_MAX);
  const after = disk.open().queueOf("noc");
  for (const event of events(NOTIFICATIONS_KEPT_MAX)) after.added(event, null, 0);
  expect(disk.rows.size).toBe(2 * NOTIFICATIONS_KEPT_MAX);
  after.done(counted);
  expect(disk.rows.size).toBe(NOTIFICATIONS_KEPT_MAX);
});
