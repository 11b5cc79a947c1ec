import { expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { banWire as ban } from "../../test/fixtures/ban-wire.ts";
import { attacksOn, bansOn, ownBanOf } from "./of-host.ts";

const own = ban();
const whole = ban({ target: "192.0.2.0", prefix: "192.0.2.0/24", started_at: "2026-03-01T12:05:00Z" });
const other = ban({ target: "192.0.2.9", prefix: "192.0.2.9/32" });
const six = ban({ target: "2001:db8::", prefix: "2001:db8::/48" });
const all = [own, whole, other, six];

test("the bans of a host are its own and those of prefixes around it, the newest first", () => {
  expect(bansOn("192.0.2.1", all)).toEqual([whole, own]);
  expect(bansOn("192.0.2.7", all)).toEqual([whole]);
  expect(bansOn("192.0.3.7", all)).toEqual([]);
  expect(bansOn("2001:db8:0:1::7", all)).toEqual([six]);
});

test("its own ban is that of its address alone, also for the first address of a prefix", () => {
  expect(ownBanOf("192.0.2.1", all)).toBe(own);
  expect(ownBanOf("192.0.2.0", all)).toBeUndefined();
  expect(ownBanOf("192.0.2.1", [{ ...own, state: "withdrawn" }])).toBeUndefined();
});

test("attacks on a host are its own and those on prefixes around it, not those on its hostgroup", () => {
  const host = { id: "a", target: "192.0.2.1", group: "web" } as AttackWire;
  const spread = { id: "b", prefix: "192.0.2.0/24", group: "web" } as AttackWire;
  const group = { id: "c", group: "web" } as AttackWire;
  expect(attacksOn("192.0.2.1", [host, spread, group])).toEqual([host, spread]);
  expect(attacksOn("192.0.2.2", [host, spread, group])).toEqual([spread]);
});
