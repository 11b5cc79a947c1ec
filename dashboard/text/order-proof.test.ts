import { expect, test } from "bun:test";
import type { AuditEventWire } from "../../src/http/wire/audit.ts";
import { banWire as ban } from "../../test/fixtures/ban-wire.ts";
import { inForce, isAudited, isBannedByHand, isBlocked, isUnblocked } from "./order-proof.ts";

test("a ban by hand is proved by a manual ban in force, not by the ban of an attack", () => {
  expect(isBannedByHand("192.0.2.1", [ban({ manual: true })])).toBe(true);
  expect(isBannedByHand("192.0.2.1", [ban()])).toBe(false);
  expect(isBannedByHand("192.0.2.1", [ban({ manual: true, state: "withdrawn" })])).toBe(false);
  expect(isBannedByHand("192.0.2.2", [ban({ manual: true })])).toBe(false);
});

test("a ban is itself while it is in force: not another one of its prefix, nor itself with another prefix", () => {
  const extended = ban({ manual: true });
  expect(inForce(ban(), [extended])).toBe(extended);
  expect(inForce(ban(), [ban({ state: "withdrawn" })])).toBeUndefined();
  expect(inForce(ban(), [ban({ started_at: "2026-03-01T13:00:00Z" })])).toBeUndefined();
  expect(inForce(ban(), [ban({ prefix: "192.0.2.0/24" })])).toBeUndefined();
});

test("a block is proved by one that ends as ordered", () => {
  const pair = { source: "2001:DB8::9", victim: "192.0.2.1" };
  const block = { ...pair, source: "2001:db8::9", created_at: "", dry_run: false, reason: "" };
  const until = (expires_at: string) => [{ ...block, expires_at }];
  const endMs = Date.parse("2026-03-01T13:00:00Z");
  expect(isBlocked(pair, endMs, until("2026-03-01T13:00:00Z"))).toBe(true);
  expect(isBlocked(pair, endMs, until("2026-03-01T12:30:00Z"))).toBe(false);
  expect(isBlocked(pair, endMs, [])).toBe(false);
  expect([isUnblocked(pair, []), isUnblocked(pair, until("2026-03-01T13:00:00Z"))]).toEqual([true, false]);
});

test("a reload is proved by its row of the audit trail", () => {
  const event = { action: "config_reload", result: "ok", event_time: "2026-03-01 12:00:00" } as AuditEventWire;
  const at = Date.parse("2026-03-01T12:00:00Z");
  expect(isAudited("config_reload", at, [event])).toBe(true);
  expect(isAudited("config_reload", at + 5000, [event])).toBe(false);
  expect(isAudited("config_reload", at, [{ ...event, result: "error" }])).toBe(false);
});
