import { describe, expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { searchHits } from "./search.ts";

const attack = (id: string, target: string, active: boolean) =>
  ({ id, target, active, scope: "host", group: "web", started_at: "2026-03-01T12:00:00.000Z" }) as AttackWire;
const ban = (target: string, state: BanWire["state"], started_at = "t1") =>
  ({ target, prefix: `${target}/32`, state, method: "blackhole", started_at }) as BanWire;
const searched = {
  active: [attack("a1", "192.0.2.1", true)],
  recent: [attack("a0", "192.0.2.1", false), attack("a9", "192.0.2.99", false)],
  bans: [ban("192.0.2.1", "withdrawn", "t0"), ban("192.0.2.1", "active"), ban("198.51.100.1", "active")],
  views: [
    { name: "", title: "Overview" },
    { name: "audit", title: "Audit" },
  ],
  named: [],
};

describe("the search of the whole dashboard", () => {
  test("finds everything about an address", () => {
    const hits = searchHits(" 192.0.2.1 ", { ...searched, recent: [attack("a0", "192.0.2.1", false)] });
    expect(hits.map(({ title, detail }) => `${title}: ${detail}`)).toEqual([
      "Host 192.0.2.1: its rates, history and thresholds",
      "Attack on 192.0.2.1: attack, in progress",
      "Attack on 192.0.2.1: attack, of 2026-03-01 12:00 UTC",
      "Ban of 192.0.2.1: Blackhole, in force",
      "Ban of 192.0.2.1: Blackhole, ended",
      "Earlier attacks on 192.0.2.1: of the last 30 days",
      "Audit trail of 192.0.2.1: of the last 30 days",
    ]);
    expect(hits.map(({ steps }) => steps.join(" "))).toEqual([
      "hosts 192.0.2.1",
      "attacks a1",
      "attacks a0",
      "mitigation 192.0.2.1/32 t1",
      "mitigation 192.0.2.1/32 t0",
      "attacks",
      "audit",
    ]);
    expect(hits.at(-2)?.query).toEqual({ target: "192.0.2.1", range: "30d", which: "history" });
  });

  test("finds by a part of an address what there is, and a view by its name", () => {
    expect(searchHits("198.51", searched).map(({ title }) => title)).toEqual(["Ban of 198.51.100.1"]);
    expect(searchHits("2.99", searched).map(({ title }) => title)).toEqual(["Attack on 192.0.2.99"]);
    expect(searchHits("AUD", searched)).toEqual([{ title: "Audit", detail: "view", steps: ["audit"] }]);
    expect(searchHits("2001:db8::7", searched).map(({ title }) => title)).toEqual([
      "Host 2001:db8::7",
      "Earlier attacks on 2001:db8::7",
      "Audit trail of 2001:db8::7",
    ]);
  });

  test.each([4, 5, 6])("of %d attacks at most five are found", (count) => {
    const active = Array.from({ length: count }, (_, i) => attack(`a${i}`, `203.0.113.${i}`, true));
    expect(searchHits("203.0", { ...searched, active }).length).toBe(Math.min(5, count));
  });

  test("finds nothing for nothing", () => {
    expect([...searchHits("", searched), ...searchHits("  ", searched), ...searchHits("zebra", searched)]).toEqual([]);
  });
});
