import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { hostRows } from "../../test/fixtures/host-rows.ts";
import { ban } from "../../test/fixtures/views.ts";
import { canonicalPrefix } from "../net/prefix.ts";
import type { Ban } from "./ban.ts";
import { BannedHosts } from "./banned-hosts.ts";
import { NO_MEASURE } from "./measure.ts";

const HOSTS = ["192.0.2.1", "192.0.2.2", "198.51.100.7", "198.51.100.8", "2001:db8::1", "2001:db8::2"];

function held(...bans: readonly Ban[]): string[] {
  const banned = new BannedHosts(bans);
  const rows = hostRows(...HOSTS.map((target) => ({ target, rates: {} })));
  return HOSTS.filter((_, row) => banned.holds(rows, row));
}

function prefixBan(text: string): Ban {
  const prefix = canonicalPrefix(text);
  return ban({ target: prefix.address, prefix });
}

test("hosts are banned by themselves or with a prefix, in both families", () => {
  expect(held()).toEqual([]);
  expect(held(ban({ target: "192.0.2.2" }), ban({ target: "2001:db8::1" }))).toEqual(["192.0.2.2", "2001:db8::1"]);
  expect(held(prefixBan("198.51.100.0/29"), prefixBan("2001:db8::/126"))).toEqual(["198.51.100.7", ...HOSTS.slice(4)]);
  expect(held(prefixBan("192.0.2.0/24"))).toEqual(HOSTS.slice(0, 2));
});

test("bans that announce nothing keep nothing from a host", () => {
  expect(held(ban({ dryRun: true }))).toEqual([]);
  expect(held(ban({ measure: NO_MEASURE }))).toEqual([]);
  expect(held(ban({ state: "withdrawn", withdrawnAt: 1 }))).toEqual([]);
});

test("looking at a host leaves no garbage: a pass looks at a million a second", () => {
  const banned = new BannedHosts([prefixBan("203.0.113.0/24")]);
  const rows = hostRows({ target: HOSTS[0] as string, rates: {} });
  const functions = () => heapStats().objectTypeCounts["Function"] ?? 0;
  const before = functions();
  for (let i = 0; i < 1000; i++) banned.holds(rows, 0);
  expect(functions() - before).toBeLessThan(100);
});
