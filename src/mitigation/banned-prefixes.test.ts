import { expect, test } from "bun:test";
import { knownOf, learnedRates } from "../../test/fixtures/baselines.ts";
import { hostRows } from "../../test/fixtures/host-rows.ts";
import { ban } from "../../test/fixtures/views.ts";
import { canonicalPrefix } from "../net/prefix.ts";
import type { Ban } from "./ban.ts";
import { bannedPrefixes } from "./banned-prefixes.ts";
import { NO_MEASURE } from "./measure.ts";

const HOSTS = ["192.0.2.1", "192.0.2.2", "198.51.100.7", "198.51.100.8", "2001:db8::1", "2001:db8::2"];

/** The hosts from which nothing is learned. */
function held(...bans: readonly Ban[]): string[] {
  const rates = learnedRates();
  const rule = { warmupSeconds: 0, halfLifeSeconds: 60, factor: 3, floor: Float64Array.of(1, 1, 1), isSeasonal: false };
  rates.setGroups([{ isWhole: false, rule }]);
  rates.beginPass({ nowSeconds: 1, seconds: 1, hour: 0, intoSeconds: 1, idleSeconds: 0, windowMs: 1000 });
  const { addresses, lengths } = bannedPrefixes(bans);
  rates.setSpared(new Uint8Array(0), new Uint8Array(0), addresses, lengths);
  const rows = hostRows(...HOSTS.map((target) => ({ target, rates: { pps: 10 } })));
  rates.learnRows(rows, HOSTS.length, null);
  return HOSTS.filter((_, row) => knownOf(rates, rows.addresses.subarray(16 * row, 16 * row + 16)) === null);
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
