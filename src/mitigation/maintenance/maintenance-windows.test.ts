import { describe, expect, test } from "bun:test";
import { MemoryState, memoryStore } from "../../../test/fixtures/storage/memory-state.ts";
import { MAINTENANCE_ORDERS_MAX } from "../../limits.ts";
import type { IpAddress } from "../../net/address.ts";
import { hostPrefix, type Prefix, parsePrefix } from "../../net/prefix.ts";
import { MaintenanceWindows, type WindowOrder } from "./maintenance-windows.ts";
import { opensNext, openUntil, type Window } from "./window.ts";
import { timeFindings } from "./window-file.ts";

const PREFIX = parsePrefix("192.0.2.0/25") as Prefix;
const INSIDE = { prefix: hostPrefix("192.0.2.1" as IpAddress), group: "global" };
const OUTSIDE = { prefix: hostPrefix("192.0.2.200" as IpAddress), group: "global" };
const HOUR = 3_600_000;
const at = (text: string) => Date.parse(text);

const window = (fields: Partial<Window> = {}): Window => ({
  name: "move",
  prefixes: [PREFIX],
  hostgroups: [],
  watchOnly: true,
  quiet: false,
  thresholdFactor: 1,
  reason: "",
  times: { kind: "once", fromMs: 1000, untilMs: 5000 },
  ...fields,
});

function order(name: string, fields: Partial<Window> = {}, expiresAt = 5000): WindowOrder {
  const times = { kind: "once", fromMs: 0, untilMs: expiresAt } as const;
  return { name, window: window({ name, times, ...fields }), createdAt: 0, expiresAt, operator: "noc" };
}

function made(configured: readonly Window[] = [], file = new MemoryState()) {
  const { store } = memoryStore(file);
  const clock = { wallMs: 0 };
  let changes = 0;
  const windows = new MaintenanceWindows(
    {
      configured,
      store: store.table("maintenance"),
      observer: { began() {}, refused() {}, ended() {} },
      wallMs: () => clock.wallMs,
      onChange: () => changes++,
    },
    store.stored.maintenance,
  );
  const to = (wallMs: number) => {
    clock.wallMs = wallMs;
    windows.tick(wallMs);
  };
  return { windows, file, to, changes: () => changes };
}

describe("a window of the configuration", () => {
  test("opens and closes at its times, once", () => {
    const { windows, to, changes } = made([window()]);
    const open = [0, 999, 1000, 4999, 5000].map((wallMs) => {
      to(wallMs);
      return windows.isWatchOnly(INSIDE);
    });
    expect(open).toEqual([false, false, true, true, false]);
    expect(changes()).toBe(2);
  });

  test("opens each week on its days, also past midnight and the end of the week", () => {
    const weekly = window({ times: { kind: "weekly", zone: "UTC", days: [6], fromMinute: 23 * 60, minutes: 120 } });
    // 2026-02-28 is a Saturday.
    expect(openUntil(weekly, at("2026-02-28T22:59:59Z"))).toBeNull();
    expect(openUntil(weekly, at("2026-02-28T23:00:00Z"))).toBe(at("2026-03-01T01:00:00Z"));
    expect(openUntil(weekly, at("2026-03-01T00:59:59Z"))).toBe(at("2026-03-01T01:00:00Z"));
    expect(openUntil(weekly, at("2026-03-01T01:00:00Z"))).toBeNull();
    expect(opensNext(weekly, at("2026-02-28T23:30:00Z"))?.atMs).toBe(at("2026-03-07T23:00:00Z"));
  });

  test("opens and closes by the clocks of its time zone, over the change to daylight saving", () => {
    const weekend = { kind: "weekly", zone: "Europe/Berlin", days: [6, 0], fromMinute: 0, minutes: 1440 } as const;
    const inBerlin = window({ times: weekend });
    expect(openUntil(inBerlin, at("2026-03-27T22:59:59Z"))).toBeNull();
    expect(openUntil(inBerlin, at("2026-03-27T23:00:00Z"))).toBe(at("2026-03-29T22:00:00Z"));
    expect(opensNext(inBerlin, at("2026-03-27T23:00:00Z"))?.atMs).toBe(at("2026-04-03T22:00:00Z"));
    expect(openUntil(inBerlin, at("2026-10-24T22:00:00Z"))).toBe(at("2026-10-25T23:00:00Z"));
  });

  test.each([
    ["02:00", 60, "01:00", "02:00"],
    ["02:30", 30, "01:30", "02:00"],
    ["01:30", 60, "00:30", "01:30"],
    ["01:00", 180, "00:00", "02:00"],
  ])("opens for its time where daylight saving begins: at %s for %d minutes", (begin, minutes, opens, closes) => {
    const fromMinute = 60 * Number(begin.slice(0, 2)) + Number(begin.slice(3));
    const sunday = window({ times: { kind: "weekly", zone: "Europe/Berlin", days: [0], fromMinute, minutes } });
    expect(opensNext(sunday, at("2026-03-28T12:00:00Z"))).toEqual({
      atMs: at(`2026-03-29T${opens}:00Z`),
      untilMs: at(`2026-03-29T${closes}:00Z`),
    });
  });

  test("closes at the end of the last of the days that follow each other without a gap", () => {
    const weekend = window({ times: { kind: "weekly", zone: "UTC", days: [6, 0], fromMinute: 0, minutes: 1440 } });
    const [saturday, sunday] = [at("2026-02-28T12:00:00Z"), at("2026-03-01T00:00:00Z")];
    for (const wallMs of [saturday, sunday]) {
      expect(openUntil(weekend, wallMs)).toBe(at("2026-03-02T00:00:00Z"));
      expect(opensNext(weekend, wallMs)?.atMs).toBe(at("2026-03-07T00:00:00Z"));
    }
    expect(openUntil(weekend, at("2026-03-02T00:00:00Z"))).toBeNull();
    expect(opensNext(weekend, at("2026-03-02T00:00:00Z"))?.atMs).toBe(at("2026-03-07T00:00:00Z"));
    const single = window({ times: { kind: "weekly", zone: "UTC", days: [6], fromMinute: 60, minutes: 1440 } });
    expect(openUntil(single, at("2026-03-01T00:59:59Z"))).toBe(at("2026-03-01T01:00:00Z"));
    expect(opensNext(single, at("2026-02-28T01:00:00Z"))?.atMs).toBe(at("2026-03-07T01:00:00Z"));
  });

  test("is not open all days for all of the day", () => {
    const rules = (minutes: number) => {
      const weekly = { days: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const, at: "01:00", minutes };
      return [...timeFindings({ weekly: { ...weekly, days: [...weekly.days] } })].map(({ path }) => path.join("."));
    };
    expect(rules(1440)).toEqual(["weekly.minutes"]);
    expect(rules(1439)).toEqual([]);
  });

  test("is for its prefixes and hostgroups, or without both for all", () => {
    const { windows, to } = made([window({ hostgroups: ["web"], thresholdFactor: 3, quiet: true })]);
    to(1000);
    const subjects = [INSIDE, OUTSIDE, { ...OUTSIDE, group: "web" }, { prefix: null, group: "web" }];
    expect(subjects.map((subject) => windows.isQuiet(subject))).toEqual([true, false, true, true]);
    expect(subjects.map((subject) => windows.thresholdFactor(subject))).toEqual([3, 1, 3, 3]);
    windows.reconfigure([window({ prefixes: [] })]);
    expect([windows.isWatchOnly(OUTSIDE), windows.isQuiet(INSIDE)]).toEqual([true, false]);
  });
});

describe("a window that is opened by an order", () => {
  test("is in force once it is on disk, outlasts a restart, and closes by its time at the latest", async () => {
    const file = new MemoryState();
    const first = made([], file);
    file.isHeld = true;
    const answer = first.windows.open(order("a"));
    expect(first.windows.isWatchOnly(INSIDE)).toBe(false);
    await file.release();
    file.isHeld = false;
    expect(await answer).toMatchObject({ kind: "done", isSaved: true });
    expect(first.windows.isWatchOnly(INSIDE)).toBe(true);
    const next = made([], file);
    expect(next.windows.views()).toMatchObject([{ order: { operator: "noc" }, openUntil: 5000 }]);
    next.to(5000);
    expect([next.windows.isWatchOnly(INSIDE), next.windows.views(), next.changes()]).toEqual([false, [], 1]);
  });

  test("closes by an order, and its time is not longer after the clock was set back", async () => {
    const { windows, to, changes } = made();
    const week = 7 * 24 * HOUR;
    await windows.open(order("a", {}, 100 * HOUR + week));
    to(HOUR);
    expect(windows.views()[0]?.order?.expiresAt).toBe(HOUR + week);
    expect(await windows.close("a")).toMatchObject({ isSaved: true, order: { name: "a" } });
    expect([await windows.close("a"), windows.views(), changes()]).toEqual([null, [], 3]);
  });

  test("stays open when the clock is set back to before it was ordered, also after a restart", async () => {
    const file = new MemoryState();
    const first = made([], file);
    first.to(2000);
    const times = { kind: "once", fromMs: 2000, untilMs: 5000 } as const;
    await first.windows.open({ ...order("a", { times }), createdAt: 2000 });
    first.to(1000);
    expect([first.windows.isWatchOnly(INSIDE), first.changes()]).toEqual([true, 1]);
    const [stored] = file.rows.maintenance.values();
    file.rows.maintenance.set("a", { ...(stored as WindowOrder), window: window({ name: "a", times }) });
    const next = made([], file);
    expect(next.windows.isWatchOnly(INSIDE)).toBe(true);
    expect(next.windows.views()).toMatchObject([{ openUntil: 5000, opensNext: null }]);
  });

  test("opens at the time that it was ordered for, whatever the clock is set to meanwhile, also after a restart #maintenance-opens-at", async () => {
    const file = new MemoryState();
    const times = { kind: "once", fromMs: 3000, untilMs: 5000 } as const;
    const first = made([], file);
    const done = await first.windows.open(order("a", { times }));
    expect(done).toMatchObject({ kind: "done", view: { openUntil: null, opensNext: { atMs: 3000 } } });
    first.windows.clockStepped(1500);
    first.to(2999);
    expect(first.windows.isWatchOnly(INSIDE)).toBe(false);
    const { windows, to } = made([], file);
    const open = [3000, 2000, 4999, 5000].map((wallMs) => {
      to(wallMs);
      return windows.isWatchOnly(INSIDE);
    });
    expect([open, windows.views()]).toEqual([[true, false, true, false], []]);
  });

  test("counts in a view of the windows that another configuration would have, which changes nothing", async () => {
    const { windows, to, changes } = made([window({ prefixes: [], hostgroups: ["web"] })]);
    to(1000);
    await windows.open(order("a"));
    const before = changes();
    const web = { ...OUTSIDE, group: "web" };
    const other = windows.under([window({ prefixes: [], hostgroups: ["mail"] })]);
    const subjects = [INSIDE, OUTSIDE, web, { ...OUTSIDE, group: "mail" }];
    expect(subjects.map((subject) => other.isWatchOnly(subject))).toEqual([true, false, false, true]);
    expect([windows.isWatchOnly(web), windows.openCount, changes()]).toEqual([true, 2, before]);
  });

  test("is refused under a name of the configuration, and beyond the bound unless it changes one", async () => {
    const { windows } = made([window()]);
    expect(await windows.open(order("move"))).toEqual({ kind: "refused", refusal: "name_configured" });
    for (let i = 0; i < MAINTENANCE_ORDERS_MAX; i++) await windows.open(order(`w${i}`));
    expect(await windows.open(order("more"))).toEqual({ kind: "refused", refusal: "too_many_windows" });
    expect(await windows.open(order("w0", { quiet: true }))).toMatchObject({ kind: "done" });
    expect(windows.isQuiet(INSIDE)).toBe(true);
  });
});
