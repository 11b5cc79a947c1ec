import { expect, test } from "bun:test";
import { hostgroup as namedGroup } from "../../test/fixtures/hostgroups.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { addressFromBytes } from "../net/address.ts";
import { NetworkLookup, type NetworksTable } from "./network-lookup.ts";

function hostgroup(name: string, ...networks: string[]) {
  return namedGroup({}, { name, networks: networks.map(prefix) });
}

function rows(table: NetworksTable): [string, number, number, number][] {
  return Array.from(table.lengths, (length, row) => [
    addressFromBytes(table.addresses, row * 16),
    length,
    table.networks[row] ?? -1,
    table.groups[row] ?? -1,
  ]);
}

const GLOBAL = hostgroup("global");

test("a network is of the global group, a hostgroup's prefix of the network that it lies in", () => {
  const { table } = NetworkLookup.of({
    networks: ["198.51.100.0/24", "10.0.0.0/8", "2001:db8::/32"].map(prefix),
    hostgroups: [GLOBAL, hostgroup("web", "10.1.0.0/16", "2001:db8:1::/48"), hostgroup("dns", "10.1.0.53/32")],
  });
  expect(rows(table)).toEqual([
    ["198.51.100.0", 120, 0, 0],
    ["10.0.0.0", 104, 1, 0],
    ["2001:db8::", 32, 2, 0],
    ["10.1.0.0", 112, 1, 1],
    ["2001:db8:1::", 48, 2, 1],
    ["10.1.0.53", 128, 1, 2],
  ]);
  expect(table.networkCount).toBe(3);
  expect(table.groupCount).toBe(3);
});

test("an address is of the hostgroup with the longest prefix, else global, and of none outside of the networks", () => {
  const lookup = NetworkLookup.of({
    networks: ["10.0.0.0/8", "2001:db8::/32"].map(prefix),
    hostgroups: [GLOBAL, hostgroup("web", "10.1.0.0/16"), hostgroup("dns", "10.1.0.53/32")],
  });
  const groups = ["10.1.0.53", "10.1.0.54", "10.2.0.1", "2001:db8::1", "11.0.0.0"].map((text) => {
    const { address: target } = prefix(text.includes(":") ? `${text}/128` : `${text}/32`);
    expect(lookup.holds(target)).toBe(text !== "11.0.0.0");
    return lookup.group(target);
  });
  expect(groups).toEqual([2, 1, 0, 0, -1]);
});

test("a hostgroup that takes a whole network takes its row", () => {
  const { table } = NetworkLookup.of({
    networks: [prefix("10.0.0.0/8")],
    hostgroups: [GLOBAL, hostgroup("all", "10.0.0.0/8")],
  });
  expect(rows(table)).toEqual([["10.0.0.0", 104, 0, 1]]);
});

test("a hostgroup outside the networks is a bug, since the rules of the configuration exclude it", () => {
  const config = { networks: [prefix("10.0.0.0/8")], hostgroups: [GLOBAL, hostgroup("far", "192.0.2.0/24")] };
  expect(() => NetworkLookup.of(config)).toThrow("hostgroup far: 192.0.2.0/24 lies in no network");
});

test("a prefix is of one hostgroup where no address of it is of another", () => {
  const lookup = NetworkLookup.of({
    networks: ["198.51.100.0/24", "10.0.0.0/8"].map(prefix),
    hostgroups: [
      GLOBAL,
      hostgroup("web", "10.1.0.0/16", "10.1.128.0/24"),
      hostgroup("dns", "10.2.0.53/32", "198.51.100.0/25"),
    ],
  });
  const isOfOne = (text: string) => lookup.isOfOneGroup(prefix(text));
  expect(["10.1.0.0/16", "10.1.128.0/20", "10.2.1.0/24"].map(isOfOne)).toEqual([true, true, true]);
  expect(["10.0.0.0/15", "10.2.0.0/24", "10.0.0.0/8"].map(isOfOne)).toEqual([false, false, false]);
  // What begins a network or a hostgroup, and what one begins with.
  const begin = ["198.51.100.0/28", "198.51.100.0/25", "198.51.100.0/24", "198.51.100.0/32", "198.51.100.0/23"];
  expect(begin.map(isOfOne)).toEqual([true, true, false, true, false]);
  expect(begin.map((text) => lookup.groupOf(prefix(text)))).toEqual([2, 2, -1, 2, -1]);
  expect(lookup.network(prefix("10.1.2.3/32").address)).toBe(1);
  expect(lookup.network(prefix("192.0.2.1/32").address)).toBe(-1);
});

test("of a prefix that hostgroups share wholly, none is of the group around it", () => {
  const lookup = (...networks: string[]) =>
    NetworkLookup.of({
      networks: [prefix("10.0.0.0/24"), prefix("2001:db8::/32")],
      hostgroups: [GLOBAL, hostgroup("web", ...networks.slice(0, 1)), hostgroup("dns", ...networks.slice(1))],
    });
  const wide = prefix("10.0.0.0/24");
  expect(new Set(lookup("10.0.0.0/25", "10.0.0.128/25").groupsIn(wide))).toEqual(new Set([1, 2]));
  // One lies within the other, and leaves a half.
  expect(new Set(lookup("10.0.0.0/25", "10.0.0.64/26", "10.0.0.128/26").groupsIn(wide))).toEqual(new Set([0, 1, 2]));
  expect(new Set(lookup("10.0.0.0/25", "10.0.0.128/26").groupsIn(wide))).toEqual(new Set([0, 1, 2]));
  expect(new Set(lookup("10.0.0.0/24", "10.0.0.7/32").groupsIn(wide))).toEqual(new Set([1, 2]));
  expect(new Set(lookup("2001:db8::/49", "2001:db8:0:8000::/49").groupsIn(prefix("2001:db8::/48")))).toEqual(
    new Set([1, 2]),
  );
});
