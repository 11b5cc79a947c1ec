import { afterEach, describe, expect, test } from "bun:test";
import { NO_TARGETS, observation, targets, useReceivers } from "../../test/fixtures/notify/notify.ts";
import { eventually } from "../../test/fixtures/service.ts";
import { attack, ban, classification } from "../../test/fixtures/views.ts";
import { type IpAddress, parseAddress } from "../net/address.ts";
import { Metrics } from "../observability/metrics.ts";
import { attackOfRecord } from "../storage/attack-record.ts";
import { banOfRecord, recordOfBan } from "../storage/ban-record.ts";
import type { KeptNotification } from "../storage/notification-records.ts";
import { systemClock } from "../system/clock.ts";
import { systemTimers } from "../system/timers.ts";
import type { TenantTarget } from "../targets/tenant-target.ts";
import type { NotifyEvent } from "./event.ts";
import { KeptNotifications } from "./kept-notification.ts";
import { Notifier, type NotifierOptions } from "./notifier.ts";
import type { EventSharing } from "./target-queues.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const receiver = useReceivers();

function webhook(url: string): TenantTarget {
  return { id: "acme/hook", tenant: "acme", name: "hook", operator: "acme-noc", setAt: 0, kind: "webhook", url };
}

/** All addresses are of acme. */
function opened(url: string, more: Partial<NotifierOptions> = {}): Notifier {
  const { log, limiter, metrics } = observation(systemClock);
  const loopback = { address: parseAddress("127.0.0.1") as IpAddress, family: 4 } as const;
  let ids = 0;
  const notifier = new Notifier({
    own: { inForce: () => [webhook(url)], reachOf: () => async () => [loopback] },
    tenancy: () => ({ ownerOf: () => "acme", tenantOf: () => "acme", groupOf: () => "web" }),
    ...{ config: NO_TARGETS, dryRun: () => false, instance: "box1", environment: { read: () => null } },
    ...{ clock: systemClock, timers: systemTimers, log, limiter, metrics: metrics.notify },
    newId: () => `id-${ids++}`,
    random: Math.random,
    ...more,
  });
  notifier.start();
  cleanups.push(() => notifier.stop());
  return notifier;
}

test("an alert that one brain opened is closed by another one, and that of one brain alone is its own", async () => {
  const server = receiver();
  const config = targets({ kind: "pagerduty", keyEnv: "KEY", url: server.url });
  const environment = { read: () => "s3cret" };
  const [first, other] = ["box1", "box2"].map((instance) => {
    let send: (event: NotifyEvent, target: string) => void = () => {};
    const sharing: EventSharing = {
      start: (given) => {
        send = given;
      },
      add: (event, names) => {
        for (const name of names) send(event, name);
      },
      brainsOf: ({ kind }) => (kind.startsWith("exporter") ? "brain1 brain2" : null),
      once: () => ({ maySend: () => true, sent: () => {}, gaveUp: () => {} }),
      flush: () => {},
    };
    const none = { inForce: () => [], reachOf: () => async () => [] };
    return opened(server.url, { instance, sharing, config, environment, own: none });
  });
  const exporter = { name: "edge1", address: "192.0.2.1", fault: "silent", found: "", remedy: "" } as const;
  first?.exporterChanged("exporter_fault", exporter);
  await eventually(() => server.received.length === 1, "no begin came");
  other?.exporterChanged("exporter_fault_over", exporter);
  await eventually(() => server.received.length === 2, "no end came");
  for (const each of [first, other]) each?.fileChanged("file_fault", { key: "geo", error: "absent", effect: "" });
  await eventually(() => server.received.length === 4, "not both came");
  const keys = server.received.map(({ body }) => (JSON.parse(body) as { readonly dedup_key: string }).dedup_key);
  expect(keys[1]).toBe(keys[0] as string);
  expect(new Set(keys).size).toBe(3);
});

describe("the target of a tenant", () => {
  test("gets nothing of others' names and words, neither in bans nor in tests #notify-targets-of-tenants", async () => {
    const server = receiver();
    const notifier = opened(server.url);
    const ordered = { manual: true, operator: "noc-admin", orderReason: "does not pay", state: "active" } as const;
    notifier.banChanged({ ban: ban(ordered), previous: null });
    notifier.test("acme/hook", { operator: "noc-admin", tenant: null });
    await eventually(() => server.received.length === 2, "not all was delivered");
    const bodies = server.received.map(({ body }) => body).join();
    expect(bodies).toContain('"event":"ban_active"');
    expect(bodies).toContain('"event":"test"');
    expect(bodies).not.toMatch(/noc-admin|does not pay/);
    expect(bodies).toContain('"tenant":"acme"');
  });

  test("has one test that waits, and it takes the share of the tenant #post-api-v1-notify-targets-test", async () => {
    const [server, rows] = [receiver(), new Map<string, KeptNotification>()];
    server.answers = [() => new Promise<never>(() => {})];
    const kept = new KeptNotifications({
      table: { queue: (id, row) => (row === null ? rows.delete(id) : rows.set(id, row)) },
      stored: [],
      records: { attackOf: attackOfRecord, banOf: banOfRecord, ofBan: recordOfBan },
    });
    const notifier = opened(server.url, { kept });
    const by = { operator: "acme-noc", tenant: "acme" };
    for (let i = 0; i < 100; i++) expect(notifier.test("acme/hook", by)).toBe(true);
    expect([...rows.values()].map(({ tenant }) => tenant)).toEqual(["acme"]);
    await eventually(() => server.received.length === 1, "the test did not come");
    notifier.test("acme/hook", by);
    expect(rows.size).toBe(1);
    expect(notifier.list()).toMatchObject([{ name: "acme/hook", tenant: "acme", waiting: 1 }]);
  });

  test("gets of an attack that a reload gave to another the end alone", async () => {
    const server = receiver();
    const owner = { name: "acme" };
    const tenancy = () => ({ ownerOf: () => owner.name, tenantOf: () => owner.name, groupOf: () => "web" });
    const notifier = opened(server.url, { tenancy });
    const present = attack({ classification: classification() });
    notifier.attackChanged("started", present, null);
    owner.name = "beta";
    notifier.attackChanged("ended", { ...present, endedAt: present.startedAt + 1 }, ban());
    await eventually(() => server.received.length === 2, "the end did not come");
    const last = JSON.parse(server.received[1]?.body ?? "") as object;
    expect(Object.keys(last).toSorted()).toEqual(
      ["at", "dry_run", "event", "id", "instance", "left", "severity", "tenant"].toSorted(),
    );
    expect(last).toMatchObject({ event: "owner_changed", tenant: "acme", left: { type: "attack", id: present.id } });
  });

  test("for alerts takes no ban and no diversion that works: many of them leave room for attacks", () => {
    const own = { ...webhook("http://127.0.0.1:1"), kind: "pagerduty", secret: "key" } as const;
    const config = targets({ kind: "pagerduty", keyEnv: "KEY", url: "http://127.0.0.1:1" });
    const notifier = opened("", { config, own: { inForce: () => [own], reachOf: () => async () => [] } });
    const waiting = () => notifier.list().map((target) => target.waiting);
    notifier.banChanged({ ban: ban(), previous: null });
    const diverted = { kind: "diversion_begun", name: "192.0.2.0/24", found: "for a ban" } as const;
    notifier.conditionsRead([diverted]);
    expect(waiting()).toEqual([0, 0]);
    notifier.conditionsRead([diverted, { ...diverted, kind: "diversion_lost" }]);
    expect(waiting()).toEqual([1, 0]);
  });

  test("that is replaced by one at another host or of another kind gets nothing that waited for the first", async () => {
    const [first, second] = [receiver(), receiver()];
    first.answers = [() => new Promise<never>(() => {})];
    const metrics = new Metrics("1");
    const notifier = opened(first.url, { metrics: metrics.notify });
    const by = { operator: "acme-noc", tenant: "acme" };
    notifier.banChanged({ ban: ban(), previous: null });
    notifier.ownChanged("acme/hook", { ...webhook(first.url), secret: "another" });
    expect(notifier.list()).toMatchObject([{ waiting: 1 }]);
    notifier.ownChanged("acme/hook", webhook(second.url));
    expect(notifier.list()).toMatchObject([{ waiting: 0 }]);
    expect(await metrics.text()).toContain('svc_notify_dropped_total{channel="of tenants"} 1');
    notifier.test("acme/hook", by);
    await eventually(() => second.received.length === 1, "the test did not come");
    expect(second.received[0]?.body).toContain('"event":"test"');
    notifier.ownChanged("acme/hook", { ...webhook(first.url), kind: "pagerduty", secret: "key" });
    expect(notifier.list()).toMatchObject([{ kind: "pagerduty", waiting: 0 }]);
  });
});
