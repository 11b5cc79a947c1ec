/** Rules between networks and hostgroups. */
import { PREFIXES_MAX } from "../../limits.ts";
import { addressToBytes } from "../../net/address.ts";
import { coversMappedIpv4, mappedLength, type Prefix, parsePrefix, prefixContains } from "../../net/prefix.ts";
import { PrefixTable } from "../../net/prefix-table.ts";
import { type ConfigPath, pathText } from "../../schema/problem.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import type { ConfigFile } from "../sections/schema.ts";

type File = Pruned<ConfigFile>;

/** A prefix and its location in the file. */
interface PlacedPrefix {
  readonly prefix: Prefix;
  readonly path: ConfigPath;
}

export function* networksDoNotOverlap({ networks }: File): Generator<Finding> {
  let outer: PlacedPrefix | undefined;
  for (const inner of outermostFirst(placePrefixes(networks, ["networks"]))) {
    if (outer === undefined || !prefixContains(outer.prefix, inner.prefix.address)) {
      outer = inner;
      continue;
    }
    const [held, holder, place] = [inner.prefix.text, outer.prefix.text, pathText(outer.path)];
    const overlap =
      held === holder ? `${held} is there already, as ${place}` : `${held} lies inside ${holder}, ${place}`;
    yield { path: inner.path, rule: `${overlap}: remove one of them` };
  }
}

/** In this order a prefix follows the prefix that contains it, with only prefixes of the same container in between. */
function outermostFirst(prefixes: readonly PlacedPrefix[]): PlacedPrefix[] {
  return prefixes
    .map((placed) => ({ placed, key: sortKey(placed.prefix) }))
    .sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)))
    .map(({ placed }) => placed);
}

function sortKey(prefix: Prefix): string {
  const length = mappedLength(prefix).toString().padStart(3, "0");
  return `${prefix.family}${Buffer.from(addressToBytes(prefix.address)).toString("hex")}${length}`;
}

/** The packet counter stores IPv4 in its mapped form, and would count all of IPv4 for such a network. */
export function* ipv6NetworksLeaveIpv4Alone({ networks }: File): Generator<Finding> {
  for (const { prefix, path } of placePrefixes(networks, ["networks"])) {
    if (!coversMappedIpv4(prefix)) continue;
    yield {
      path,
      rule: `${prefix.text} holds the IPv4-mapped addresses: write the networks that you announce`,
    };
  }
}

export function* prefixesAreBounded(file: File): Generator<Finding> {
  const count = (file.networks?.length ?? 0) + groupPrefixes(file).length;
  if (count > PREFIXES_MAX) {
    yield { path: ["hostgroups"], rule: `${count} prefixes with those of networks, but ${PREFIXES_MAX} is the most` };
  }
}

export function* groupNamesAreUnique({ hostgroups }: File): Generator<Finding> {
  const first = new Map<string, number>();
  for (const [i, group] of (hostgroups ?? []).entries()) {
    const name = group?.name;
    if (name === undefined) continue;
    const path = ["hostgroups", i, "name"];
    const other = first.get(name);
    if (name === "global")
      yield { path, rule: "global is the group of all that no hostgroup takes: choose another name" };
    else if (other === undefined) first.set(name, i);
    else yield { path, rule: `${name} is the name of hostgroups[${other}] already: choose another` };
  }
}

export function* groupNetworksLieInNetworks(file: File): Generator<Finding> {
  // If a network could not be read, prefixes inside it would be reported wrongly.
  if (file.networks === undefined || file.networks.includes(undefined)) return;
  const networks = placePrefixes(file.networks, []).map(({ prefix }) => prefix);
  const table = PrefixTable.of(networks);
  for (const { prefix, path } of groupPrefixes(file)) {
    const network = networks[table.find(prefix.address)];
    if (network !== undefined && network.length <= prefix.length) continue;
    yield { path, rule: `${prefix.text} lies in none of networks: add it there, or correct it` };
  }
}

export function* groupNetworksAreTakenOnce(file: File): Generator<Finding> {
  const first = new Map<string, ConfigPath>();
  for (const { prefix, path } of groupPrefixes(file)) {
    const other = first.get(prefix.text);
    if (other === undefined) first.set(prefix.text, path);
    else yield { path, rule: `${prefix.text} is there already, as ${pathText(other)}: remove one of them` };
  }
}

function groupPrefixes({ hostgroups }: File): PlacedPrefix[] {
  return (hostgroups ?? []).flatMap((group, i) => placePrefixes(group?.networks, ["hostgroups", i, "networks"]));
}

function placePrefixes(texts: readonly (string | undefined)[] | undefined, at: ConfigPath): PlacedPrefix[] {
  return (texts ?? []).flatMap((text, i) => {
    const prefix = text === undefined ? null : parsePrefix(text);
    return prefix === null ? [] : [{ prefix, path: [...at, i] }];
  });
}
