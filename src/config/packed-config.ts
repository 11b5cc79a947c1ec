/**
 * A configuration in transit from the thread that read it to the event loop: up to a hundred thousand prefixes as one
 * text, and tables as transferred arrays, so that the event loop is not blocked while it takes over.
 */
import type { Hostgroup } from "../detection/hostgroup.ts";
import type { Zone } from "../edge/zones/zone.ts";
import { canonicalPrefix, type Prefix } from "../net/prefix.ts";
import { type PackedPrefixes, PrefixTable } from "../net/prefix-table.ts";
import { NetworkLookup, type PackedLookup } from "../traffic/network-lookup.ts";
import type { Config } from "./config.ts";
import { completeConfig, deepFreeze, type PlainConfig } from "./load/build.ts";

export interface PackedConfig {
  /** Without the zones of `edge`. */
  readonly rest: Omit<PlainConfig, "networks" | "protectedWhitelist" | "hostgroups">;
  /** Each as JSON. */
  readonly zones: readonly string[];
  /** Without their networks. */
  readonly hostgroups: readonly Hostgroup[];
  /** Each ends with a line break: those of networks, of the whitelist, and of each hostgroup. */
  readonly prefixes: string;
  /** The length of each of these lists. */
  readonly counts: readonly number[];
  readonly lookup: PackedLookup;
  readonly whitelist: PackedPrefixes;
}

/** Prefixes built in one slice: about a millisecond. */
const SLICE = 1000;
/** Zones built in one slice. */
const ZONES_SLICE = 100;

/** The tables of `config` become unusable when the buffers are transferred. */
export function packConfig(config: Config): { readonly packed: PackedConfig; readonly buffers: ArrayBuffer[] } {
  const { networks, protectedWhitelist, hostgroups, lookup, whitelist, own: _own, edge, ...rest } = config;
  const lists = [networks, protectedWhitelist, ...hostgroups.map((group) => group.networks)];
  const packed: PackedConfig = {
    rest: { ...rest, edge: edge && { ...edge, zones: [] } },
    zones: (edge?.zones ?? []).map((zone) => JSON.stringify(zone)),
    hostgroups: hostgroups.map((group) => ({ ...group, networks: [] })),
    prefixes: lists.map((list) => list.map(({ text }) => `${text}\n`).join("")).join(""),
    counts: lists.map(({ length }) => length),
    lookup: lookup.packed,
    whitelist: whitelist.packed,
  };
  const rows = lookup.packed;
  const arrays = [...arraysOf(rows.prefixes), ...arraysOf(whitelist.packed), rows.networks, rows.groups];
  return { packed, buffers: arrays.map(({ buffer }) => buffer) };
}

function arraysOf({ addresses, lengths, lengthsInUse, slots }: PackedPrefixes) {
  return [addresses, lengths, lengthsInUse, slots];
}

/** @param turn resolves after other work has run. */
export async function unpackConfig(packed: PackedConfig, turn: () => Promise<void>): Promise<Config> {
  const [networks = [], protectedWhitelist = [], ...groups] = await prefixLists(packed, turn);
  const hostgroups = packed.hostgroups.map((group, i) => ({ ...group, networks: groups[i] ?? [] }));
  const { edge } = packed.rest;
  return completeConfig(
    {
      ...packed.rest,
      edge: edge && { ...edge, zones: await zonesOf(packed, turn) },
      networks,
      protectedWhitelist,
      hostgroups,
    },
    { lookup: new NetworkLookup(packed.lookup), whitelist: new PrefixTable(packed.whitelist) },
  );
}

async function zonesOf({ zones: texts }: PackedConfig, turn: () => Promise<void>): Promise<Zone[]> {
  const zones: Zone[] = [];
  for (const text of texts) {
    zones.push(deepFreeze(JSON.parse(text) as Zone));
    if (zones.length % ZONES_SLICE === 0) await turn();
  }
  return zones;
}

async function prefixLists({ prefixes, counts }: PackedConfig, turn: () => Promise<void>): Promise<Prefix[][]> {
  const lists: Prefix[][] = [];
  let built = 0;
  for (let at = 0; lists.length < counts.length; ) {
    const list: Prefix[] = [];
    for (let left = counts[lists.length] as number; left > 0; left--) {
      const end = prefixes.indexOf("\n", at);
      list.push(Object.freeze(canonicalPrefix(prefixes.slice(at, end))));
      at = end + 1;
      if (++built % SLICE === 0) await turn();
    }
    lists.push(list);
  }
  return lists;
}
