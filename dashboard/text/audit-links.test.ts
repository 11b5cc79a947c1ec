import { describe, expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { AuditEventWire } from "../../src/http/wire/audit.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { attackOfEvent, attacksAfter, auditPlace, banOfEvent } from "./audit-links.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");

const event = (changes: Partial<AuditEventWire> = {}) =>
  ({
    event_time: "2026-03-01 11:30:00",
    action: "ban",
    result: "active",
    target: "192.0.2.1",
    ...changes,
  }) as AuditEventWire;

const ban = (from: string, to?: string, changes: Partial<BanWire> = {}) =>
  ({
    target: "192.0.2.1",
    state: to === undefined ? "active" : "withdrawn",
    started_at: `2026-03-01T${from}Z`,
    ...(to !== undefined && { withdrawn_at: `2026-03-01T${to}Z` }),
    ...changes,
  }) as BanWire;

test("rows of attacks in progress are requested up to now, of ended ones up to their end", () => {
  const target = "192.0.2.1";
  expect(auditPlace({ target, from: "2026-03-01T11:00:00Z" }, NOW)).toEqual({
    target,
    range: "own",
    from: "2026-03-01T10:59:00.000Z",
  });
  expect(auditPlace({ target, from: "2026-03-01T11:00:00Z", to: "2026-03-01T11:10:00Z" }, NOW)).toMatchObject({
    to: "2026-03-01T11:11:00.000Z",
  });
});

test("no range is longer than the history answers", () => {
  const { from = "" } = auditPlace({ target: "192.0.2.1", from: "2025-01-01T00:00:00Z" }, NOW);
  expect(NOW - Date.parse(from)).toBeLessThan(31 * 86_400_000);
  const { to = "", from: begin = "" } = attacksAfter(event({ event_time: "2025-12-01 00:00:00" }), NOW);
  expect(Date.parse(to) - Date.parse(begin)).toBeLessThan(31 * 86_400_000);
  expect(attacksAfter(event(), NOW)).not.toHaveProperty("to");
});

describe("the ban of a row", () => {
  const [before, its, other] = [
    ban("10:00:00", "11:29:59.900"),
    ban("11:29:59.950"),
    ban("11:29:00", undefined, { target: "192.0.2.2" }),
  ];
  test("is the one that was in force", () => {
    expect(banOfEvent(event(), [before, its, other])).toBe(its);
    expect(banOfEvent(event({ event_time: "2026-03-01 10:00:00" }), [before, its, other])).toBe(before);
    expect(banOfEvent(event({ event_time: "2026-03-01 09:00:00" }), [before, its])).toBeUndefined();
  });

  test("of an unban is the one that ended, if another began in the same second", () => {
    expect(banOfEvent(event({ action: "unban" }), [its, before])).toBe(before);
  });

  test("of a refusal is the refused one", () => {
    const refused = ban("11:30:00", undefined, { state: "rejected" });
    expect(banOfEvent(event({ result: "rejected" }), [its, refused])).toBe(refused);
    expect(banOfEvent(event(), [refused])).toBeUndefined();
  });

  test("is none for what is no ban", () => {
    expect(banOfEvent(event({ action: "config_reload" }), [its])).toBeUndefined();
  });
});

test("the attack of a row went on then, also for the victim of a block and for a prefix", () => {
  const attack = (changes: Partial<AttackWire>) =>
    ({ started_at: "2026-03-01T11:29:00Z", target: "192.0.2.1", ...changes }) as AttackWire;
  const its = attack({});
  const over = attack({ ended_at: "2026-03-01T11:29:30Z" });
  expect(attackOfEvent(event(), [over, its])).toBe(its);
  expect(attackOfEvent(event({ target: "198.51.100.9->192.0.2.1" }), [its])).toBe(its);
  const { target: _, ...wide } = attack({ prefix: "192.0.2.0/24" });
  expect(attackOfEvent(event({ target: "192.0.2.0" }), [wide])).toBe(wide);
  expect(attackOfEvent(event({ target: "192.0.2.9" }), [its, wide])).toBeUndefined();
});
