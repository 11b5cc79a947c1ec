import { expect, test } from "bun:test";
import type { TimelineWire } from "../../src/http/wire/attack-series.ts";
import type { AuditEventWire } from "../../src/http/wire/audit.ts";
import { banWire as ban } from "../../test/fixtures/ban-wire.ts";
import { deedsOf } from "./attack-deeds.ts";

type Entry = TimelineWire["entries"][number];
const entry = (kind: Entry["kind"], second: number, text?: string): Entry => ({
  at: `2026-03-01T12:00:${String(second).padStart(2, "0")}.200Z`,
  kind,
  ...(text === undefined ? {} : { text }),
});
const event = (changes: Partial<AuditEventWire>) =>
  ({
    event_time: "2026-03-01 12:00:01",
    action: "ban",
    result: "active",
    operator: "acme-noc",
    role: "operator",
    tenant: "acme",
    target: "192.0.2.1",
    reason: "",
    source: "api",
    ...changes,
  }) as AuditEventWire;
const entries = [
  entry("detected", 0, "pps above 5"),
  entry("ban_placed", 1),
  entry("ban_withdrawn", 9, "manual unban"),
];

test("a tenant sees what was done for it, without the names of others", () => {
  const deeds = deedsOf({ events: [], entries, ban: ban({ manual: false }), isTenant: true });
  expect(deeds.map(({ what, by }) => `${what}, ${by}`)).toEqual([
    "The ban was lifted, the operator of the network",
    "A ban was placed, detection",
  ]);
});

test("a ban that the operator of the network ordered is theirs, also without an entry", () => {
  const byHand = ban({ manual: true, started_at: "2026-03-01T12:00:01.200Z" });
  const [placed] = deedsOf({ events: [], entries: entries.slice(0, 2), ban: byHand, isTenant: true });
  expect(placed).toMatchObject({ what: "A ban was placed", by: "the operator of the network" });
  const [alone] = deedsOf({ events: [], entries: [], ban: byHand, isTenant: true });
  expect(alone).toMatchObject({ what: "A ban was placed", by: "the operator of the network" });
});

test("what a tenant's own caller did is there once, with its name", () => {
  const deeds = deedsOf({
    events: [event({})],
    entries: entries.slice(0, 2),
    ban: ban({ manual: true }),
    isTenant: true,
  });
  expect(deeds.filter(({ atMs }) => atMs < Date.parse("2026-03-01T12:00:05Z")).map(({ what }) => what)).toContain(
    "Ban: active",
  );
  expect(deeds.filter(({ what }) => what === "A ban was placed")).toHaveLength(0);
});

test("a caller who sees the whole trail has its rows alone", () => {
  expect(deedsOf({ events: [event({})], entries, ban: ban(), isTenant: false }).map(({ what }) => what)).toEqual([
    "Ban: active",
  ]);
});

test("nothing was done where nothing was decided", () => {
  expect(deedsOf({ events: [], entries: entries.slice(0, 1), ban: undefined, isTenant: true })).toEqual([]);
});
